#include "template/standard_header.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "template/compiler_option.h"

#include <string.h>

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
