/*
 * Options of the compiler, and the standard headers that kernels can include.
 *
 * A template may not pass options that make NVRTC write files, or that add headers, include folders,
 * sources or other files: autotune must know which files are compiled. Use the template's `include` or an #include in the source instead.
 */
#ifndef AUTOTUNE_COMPILER_OPTION_H
#define AUTOTUNE_COMPILER_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* `option` is one word of the template's `options`. */
bool compiler_option_writes_files(const char *option);
bool compiler_option_includes_files(const char *option);

/* Whether `option`, which is cut where a value from an expression follows, ends behind the "=" of an
 * option of the compiler or of ptxas: the value can then not make it another option. */
bool compiler_option_takes_value(const char *option);

/*
 * Our own options, which compile/nvrtc.c implements. They stand among the options for NVRTC so that
 * they count wherever those do: in the key of the cubin cache, in bundles, in messages to workers.
 */
#define COMPILER_OPTION_PREFIX "--autotune-"
/* Compile for sm_90a instead of sm_90, and so on, for features that only one architecture has. */
#define COMPILER_OPTION_ARCHITECTURE_FEATURES COMPILER_OPTION_PREFIX "features=architecture"
/* Compile to PTX, a text in place of the cubin. */
#define COMPILER_OPTION_PTX COMPILER_OPTION_PREFIX "ptx"
/* Before a C++ name: the kernel is instantiated, and the compilation says what its symbol is. */
#define COMPILER_OPTION_ENTRY COMPILER_OPTION_PREFIX "entry="
/* Before the path of a further translation unit, which is compiled and linked as well. */
#define COMPILER_OPTION_UNIT COMPILER_OPTION_PREFIX "unit="
/* Before NAME and the hash of its text: a header of those below. */
#define COMPILER_OPTION_HEADER COMPILER_OPTION_PREFIX "header="
/* Before the name of a kernel that is not launched, and is therefore not compiled if possible. */
#define COMPILER_OPTION_UNLAUNCHED COMPILER_OPTION_PREFIX "unlaunched="

/* What follows `prefix`, one of the above, in `option`; NULL if `option` is a different one. */
const char *compiler_option_value(const char *option, const char *prefix);

/* The words of the template's `features`, ended by NULL. */
const char *const *compiler_feature_names(void);

/*
 * The standard headers that kernels include out of habit, for a compiler that has none. Those of C,
 * and the short ones of C++, are the files in standard/. The rest is CCCL's <cuda/std/NAME>, which
 * costs a second for each compilation.
 *
 * A header in an include folder of the template comes first: only what source_load() has not found
 * is looked up here. To add one, add a line to `headers` in compiler_option.c, and a file in
 * standard/ to the list in CMakeLists.txt.
 */
struct standard_header {
    const char *name; /* "cstdint" */
    const char *text;
};

/* The header called by the first `length` characters of `name`; NULL if there is none. */
const struct standard_header *standard_header_find(const char *name, size_t length);

/* The compiler option that provides the header, with a hash of its text, which
 * thus becomes part of the cubin's key; a new string. NULL if there is no such header. */
char *standard_header_option(const char *name);

/*
 * Whether the toolkit's headers ask for a file or folder of this name, or might in another version.
 * The list is wider than what was seen (strace of NVRTC 13.0), but not everything: an unrelated header
 * beside the source must not make its results stale.
 */
bool toolkit_header_is_named(const char *name, bool is_folder);

/* The same for a path as #include has it. */
bool toolkit_header_is(const char *name);

#endif
