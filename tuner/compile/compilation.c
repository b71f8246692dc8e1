#include "compile/compilation.h"

#include "base/alloc.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const struct compiled_kernel *compilation_kernel(const struct compilation *compilation,
                                                 const char *entry)
{
    for (size_t i = 0; i < compilation->kernel_count; i++)
        if (strcmp(compilation->kernels[i].entry, entry) == 0)
            return &compilation->kernels[i];
    return NULL;
}

const char *compilation_symbol(const struct compilation *compilation, const char *entry)
{
    const struct compiled_kernel *kernel =
        compilation != NULL ? compilation_kernel(compilation, entry) : NULL;
    return kernel != NULL && kernel->symbol != NULL ? kernel->symbol : entry;
}

void compilation_release(struct compilation *compilation)
{
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        free(compilation->kernels[i].entry);
        free(compilation->kernels[i].symbol);
    }
    free(compilation->kernels);
    free(compilation->cubin);
    free(compilation->log);
    *compilation = (struct compilation){0};
}

/* --- messages --- */

/* The header of a name that the compiler does not know; NULL: none of these. */
static const char *header_of(const char *name)
{
    static const struct {
        const char *pattern, *header;
    } names[] = {{"INFINITY", "math.h"},      {"NAN", "math.h"},
                 {"HUGE_VAL*", "math.h"},     {"M_PI*", "math.h"},
                 {"FLT_*", "float.h"},        {"DBL_*", "float.h"},
                 {"U*INT*_MAX", "stdint.h"},  {"INT*_M[AI][XN]", "stdint.h"},
                 {"int*_t", "stdint.h"},      {"uint*_t", "stdint.h"},
                 {"*_M[AI][XN]", "limits.h"}, {"assert", "assert.h"},
                 {"CUtensorMap*", "cuda.h"},  {"*bfloat16*", "cuda_bf16.h"},
                 {"*__nv_fp*", "cuda_fp8.h"}, {"*half*", "cuda_fp16.h"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i].pattern, name, 0) == 0)
            return names[i].header;
    return NULL;
}

char *compilation_cause(const char *log)
{
    static const char undefined[] = "identifier \"";
    const char *found = strstr(log, "error: ");
    if (found == NULL)
        found = strstr(log, "error");
    if (found == NULL)
        return NULL;
    while (found > log && found[-1] != '\n')
        found--;
    char *cause = alloc_string_n(found, strcspn(found, "\n"));
    char *quoted = strstr(cause, undefined);
    if (quoted == NULL || strstr(quoted, "\" is undefined") == NULL)
        return cause;
    char *name =
        alloc_string_n(quoted + strlen(undefined), strcspn(quoted + strlen(undefined), "\""));
    const char *header = header_of(name);
    if (strcmp(name, "bfloat16") == 0)
        alloc_append(&cause, "; it is __nv_bfloat16 of <cuda_bf16.h>");
    else if (header != NULL)
        alloc_append(&cause, "; it is in <%s>", header);
    free(name);
    return cause;
}
