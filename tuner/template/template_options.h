/* The compiler's options in [kernel]: `options`, `max_registers`, `features` (loader.h). */
#ifndef AUTOTUNE_TEMPLATE_OPTIONS_H
#define AUTOTUNE_TEMPLATE_OPTIONS_H

#include "template/loader.h"
#include "template/name_list.h"

/* What an expression that the compiler's input depends on may name: parameters and problem values,
 * which are known before the GPU is. Free its items. */
struct names loader_compile_names(const struct loader *loader);

/* Call after loader_collect_names(). Refuses options that write files, add headers, or define what
 * the #include of a macro reads. */
int loader_read_options(struct loader *loader);

/* [precompiled_headers]: after the names and the source. */
int loader_read_precompiled_headers(struct loader *loader);

#endif
