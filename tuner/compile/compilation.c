#include "compile/compilation.h"

#include <stdlib.h>

void compilation_release(struct compilation *compilation)
{
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        free(compilation->kernels[i].entry);
        free(compilation->kernels[i].instructions);
    }
    free(compilation->kernels);
    free(compilation->cubin);
    free(compilation->log);
    *compilation = (struct compilation){0};
}
