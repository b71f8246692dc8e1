/*
 * What a variant is to the compiler: its options and, from them, the key of its cubin.
 */
#ifndef AUTOTUNE_VARIANT_H
#define AUTOTUNE_VARIANT_H

#include "template/template.h"
#include "template/value.h"

#include <stddef.h>

struct options {
    char **items;
    size_t count;
    size_t definition_count; /* of the items, the last ones: those of parameters and problem */
    char **headers;          /* to precompile; no part of what the result is */
    size_t header_count;
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

/* Adds the headers of the toolkit that the template has precompiled for this variant. Returns 0, or
 * ERROR_CONFIG where an expression of [precompiled_headers] fails. */
int variant_headers(const struct template *template, const struct bindings *parameters,
                    const struct bindings *problem, struct options *options, struct error *error);

void options_copy(struct options *copy, const struct options *options);
void options_release(struct options *options);

/* Every parameter at its default. */
void variant_defaults(const struct template *template, struct bindings *parameters);

#endif
