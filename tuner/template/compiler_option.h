/*
 * Options that a template may not pass to NVRTC: those that make it write files, and those that add
 * headers or include folders, because autotune must know which files are compiled. Use the
 * template's `include` or an #include in the source instead.
 */
#ifndef AUTOTUNE_COMPILER_OPTION_H
#define AUTOTUNE_COMPILER_OPTION_H

#include <stdbool.h>

/* `option` is one word of the template's `options`. */
bool compiler_option_writes_files(const char *option);
bool compiler_option_includes_files(const char *option);

/* Whether `option`, which is cut where a value from an expression follows, ends behind the "=" of an
 * option of the compiler or of ptxas: the value can then not make it another option. */
bool compiler_option_takes_value(const char *option);

/*
 * An option of ours: compile for sm_90a instead of sm_90, and so on, for the features of one
 * architecture alone. Beside the options for NVRTC so that it counts wherever they do: in the key
 * of the cubin cache, in bundles, in messages to workers.
 */
#define COMPILER_OPTION_ARCHITECTURE_FEATURES "--autotune-features=architecture"

/* The words of the template's `features`, ended by NULL. */
const char *const *compiler_feature_names(void);

/* Whether it defines or undefines a macro. */
bool compiler_option_defines(const char *option);

#endif
