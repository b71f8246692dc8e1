#include "template/compiler_option.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Names without their dashes, as found with NVRTC 13.0. */
static const char *const writers[] = {
    "create-pch",
    "pch",
    "pch-dir",
    "time",
    "fdevice-time-trace",
    "Xcudafe", /* undocumented: passes on --list, --xref, --error_output, … */
    "Xnvvm",   /* undocumented as well */
    /* of ptxas, which --ptxas-options and -Xptxas pass on; a file of options can hold any other */
    "compiler-stats-file",
    "o",
    "output-file",
    "options-file",
    "optf",
    NULL,
};

/* `text` behind `prefix`, or `text` itself if it does not begin so. */
static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : text;
}

/* The option's name without dashes; behind --ptxas-options= or -Xptxas=, that of ptxas's option. */
static const char *name_of(const char *option)
{
    const char *name = skip(option + strspn(option, "-"), "ptxas-options=");
    name = skip(name, "Xptxas=");
    return name + strspn(name, "-");
}

static bool is_among(const char *const *names, const char *option)
{
    const char *name = name_of(option);
    size_t length = strcspn(name, "=");
    for (; *names != NULL && option[0] == '-'; names++)
        if (strlen(*names) == length && strncmp(name, *names, length) == 0)
            return true;
    return false;
}

bool compiler_option_takes_value(const char *option)
{
    const char *name = name_of(option);
    size_t length = strcspn(name, "=");
    return option[0] == '-' && length > 0 && strcmp(name + length, "=") == 0 &&
           strcmp(name, "ptxas-options=") != 0 && strcmp(name, "Xptxas=") != 0;
}

const char *compiler_option_value(const char *option, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(option, prefix, length) == 0 ? option + length : NULL;
}

const char *const *compiler_feature_names(void)
{
    static const char *const names[] = {"portable", "architecture", NULL};
    return names;
}

bool compiler_option_writes_files(const char *option)
{
    return is_among(writers, option);
}

bool compiler_option_includes_files(const char *option)
{
    static const char *const names[] = {
        "include-path",
        "include",
        "pre-include",
        "autotune-unit",
        "autotune-header",
        "use-pch",
        "ext-desc-file" /* undocumented, of ptxas */,
        NULL,
    };
    return strncmp(option, "-I", 2) == 0 || is_among(names, option);
}

/* --- standard headers --- */

/* Made by CMake from the files in standard/. */
extern const char standard_assert[], standard_empty[], standard_float[], standard_limits[],
    standard_limits_cpp[], standard_math[], standard_stddef[], standard_stdint[], standard_stdio[],
    standard_stdlib[], standard_string[], standard_type_traits[], standard_utility[];

/* Names that are direct members of std hide CCCL's, so that nothing is ambiguous. */
#define CCCL(name)                                                                                 \
    {                                                                                              \
        name, "#include <cuda/std/" name ">\nnamespace std\n{\nusing namespace cuda::std;\n}\n"    \
    }

static const struct standard_header headers[] = {
    {"algorithm", standard_utility},
    {"array", standard_utility},
    {"assert.h", standard_assert},
    {"cassert", standard_assert},
    {"cfloat", standard_float},
    {"cinttypes", standard_stdint},
    {"climits", standard_limits},
    {"cmath", standard_math},
    {"cstddef", standard_stddef},
    {"cstdint", standard_stdint},
    {"cstdio", standard_stdio},
    {"cstdlib", standard_stdlib},
    {"cstring", standard_string},
    {"float.h", standard_float},
    {"initializer_list", standard_empty},
    {"inttypes.h", standard_stdint},
    {"limits", standard_limits_cpp},
    {"limits.h", standard_limits},
    {"math.h", standard_math},
    {"stdbool.h", standard_empty},
    {"stddef.h", standard_stddef},
    {"stdint.h", standard_stdint},
    {"stdio.h", standard_stdio},
    {"stdlib.h", standard_stdlib},
    {"string.h", standard_string},
    {"type_traits", standard_type_traits},
    {"utility", standard_utility},
    CCCL("atomic"),
    CCCL("bit"),
    CCCL("chrono"),
    CCCL("complex"),
    CCCL("concepts"),
    CCCL("functional"),
    CCCL("iterator"),
    CCCL("memory"),
    CCCL("numeric"),
    CCCL("optional"),
    CCCL("ratio"),
    CCCL("span"),
    CCCL("tuple"),
    CCCL("variant"),
};

const struct standard_header *standard_header_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (strlen(headers[i].name) == length && strncmp(headers[i].name, name, length) == 0)
            return &headers[i];
    return NULL;
}

char *standard_header_option(const char *name)
{
    char digits[HASH_BYTES];
    const struct standard_header *header = standard_header_find(name, strlen(name));
    if (header == NULL)
        return NULL;
    struct hash *hash = hash_new();
    hash_add_text(hash, header->text);
    hash_finish(hash, digits);
    return alloc_format(COMPILER_OPTION_HEADER "%s %s", header->name, digits);
}

/* --- the toolkit's headers --- */

static bool matches(const char *name, const char *const *patterns)
{
    while (*patterns != NULL && fnmatch(*patterns, name, 0) != 0)
        patterns++;
    return *patterns != NULL;
}

bool toolkit_header_is_named(const char *name, bool is_folder)
{
    static const char *const folders[] = {
        "Openacc", "Openmp", "cooperative_groups", "crt", "cub", "cuda", "nv", "nvtx3",
        "thrust",  NULL};
    static const char *const files[] = {"builtin_types.*",
                                        "channel_*",
                                        "common_functions.*",
                                        "cooperative_groups*",
                                        "cu*",
                                        "device_*",
                                        "driver_*",
                                        "fatbinary_*",
                                        "generated_*",
                                        "host_*",
                                        "library_types.*",
                                        "math_*",
                                        "mma.*",
                                        "nv*",
                                        "sm_[0-9]*",
                                        "storage_class.*",
                                        "surface_*",
                                        "texture_*",
                                        "vector_*",
                                        NULL};
    if (is_folder)
        return matches(name, folders);
    const size_t stem = strcspn(name, ".");
    const size_t length = strcmp(name + stem, ".stdh") == 0 ? stem : strlen(name);
    return strcmp(name, "version") == 0 || strcmp(name, "version.stdh") == 0 ||
           standard_header_find(name, length) != NULL ||
           (strchr(name, '.') != NULL && matches(name, files));
}

bool toolkit_header_is(const char *name)
{
    char *first = alloc_string_n(name, strcspn(name, "/"));
    bool is = toolkit_header_is_named(first, strchr(name, '/') != NULL);
    free(first);
    return is;
}
