/* The NVRTC options of a variant, which also determine the key of its cubin. */
#ifndef AUTOTUNE_VARIANT_H
#define AUTOTUNE_VARIANT_H

#include "template/template.h"
#include "template/value.h"

#include <stddef.h>

struct options {
    char **items;
    size_t count;
    size_t definition_count; /* how many of the last items define parameters and problem values */
    char **headers;          /* to precompile; they do not change the cubin */
    size_t header_count;
};

/*
 * The NVRTC options of a variant: the template's include folders and options; our own
 * (compiler_option.h) that name units, standard headers, C++ entries and kernels that need not be
 * compiled; and a definition of every
 * compiled parameter and problem word: -DBLOCK_SIZE=256, -DFINISH=FINISH_ATOMIC. A real number
 * stays real in C: -DSCALE=2.0. What 'define' in [kernel] names has that name instead, with a word
 * as it is: -Dblock_size_x=256, -Dreal=float. Other launch parameters and numbers of the problem
 * are not defined, so variants that differ only in those share a cubin. Returns 0, or ERROR_CONFIG
 * if an expression among the options fails. Release `options` in any case.
 */
int variant_options(const struct template *template, const struct bindings *parameters,
                    const struct bindings *problem, struct options *options, struct error *error);

/* The same for the helpers (template.h), which are compiled with the parameters' defaults. */
int helper_options(const struct template *template, const struct bindings *defaults,
                   const struct bindings *problem, struct options *options, struct error *error);

/* Adds the toolkit headers that the template wants precompiled for this variant, except those whose
 * expression fails: without them, only compiling takes longer. */
void variant_headers(const struct template *template, const struct bindings *parameters,
                     const struct bindings *problem, struct options *options);

/* Adds an option for every standard header that the source includes and its folders do not have. */
void options_add_headers(struct options *options, const struct source *source);

void options_copy(struct options *copy, const struct options *options);
void options_release(struct options *options);

/* The macro of a parameter or problem value, its name in capitals; a new string. */
char *variant_macro(const char *name);

/* Binds every parameter to its default. */
void variant_defaults(const struct template *template, struct bindings *parameters);

#endif
