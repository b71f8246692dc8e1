/*
 * What a variant is to the compiler: its options and, from them, the key of its cubin.
 */
#ifndef AUTOTUNE_VARIANT_H
#define AUTOTUNE_VARIANT_H

#include "template.h"
#include "value.h"

#include <stddef.h>

struct options {
    char **items;
    size_t count;
};

/*
 * The NVRTC options of a variant: the template's include folders and options, and a definition for
 * every compiled parameter and problem word: -DBLOCK_SIZE=256, -DFINISH=FINISH_ATOMIC; a real
 * number stays one in C: -DSCALE=2.0. Launch
 * parameters and numbers of the problem are not among them, so that variants which differ only
 * there share a cubin.
 */
void variant_options(const struct template *template, const struct bindings *parameters,
                     const struct bindings *problem, struct options *options);
void options_release(struct options *options);

/* Every parameter at its default. */
void variant_defaults(const struct template *template, struct bindings *parameters);

#endif
