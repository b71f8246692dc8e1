#include "compile/compilation.h"

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
