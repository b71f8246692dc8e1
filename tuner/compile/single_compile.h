/*
 * A variant compiled outside of a sweep, one at a time in this process: from the cubin cache, or by
 * NVRTC, which is opened when it is first needed.
 */
#ifndef AUTOTUNE_SINGLE_COMPILE_H
#define AUTOTUNE_SINGLE_COMPILE_H

#include "base/error.h"
#include "compile/nvrtc.h"
#include "template/source.h"
#include "template/template.h"
#include "template/value.h"
#include "template/variant.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is ready for use. */
struct single_compile {
    struct nvrtc *nvrtc;
    char *cache;       /* folder; NULL: the default one */
    bool any_compiler; /* takes what any version of NVRTC has compiled, and then needs none */
};

/* What to build. Parameters and problem values that are not bound are the template's defaults. */
struct build {
    const struct template *template;
    const struct bindings *parameters;
    const struct bindings *problem;
    const char *arch; /* "sm_90" */
};

enum build_origin { BUILD_CACHED, BUILD_COMPILED };

/*
 * Returns 0 with a cubin in `compilation`, to be released in any case; ERROR_CONFIG with the
 * compiler's first error where it refuses the variant; ERROR_DEVICE where there is no NVRTC. That
 * the cache cannot be written is no error.
 */
int single_compile_cubin(struct single_compile *builder, const struct build *build,
                         struct compilation *compilation, enum build_origin *origin,
                         struct error *error);

/* The same for any source with NVRTC options of its own. */
int single_compile_source_cubin(struct single_compile *builder, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, enum build_origin *origin,
                                struct error *error);

/* Its PTX, a new string. */
int single_compile_ptx(struct single_compile *builder, const struct build *build, char **ptx,
                       struct error *error);

/* Its source with the definitions before it; a new string. The headers of the template's folder
 * are still included by name. */
char *single_compile_source(const struct build *build);

void single_compile_release(struct single_compile *builder);

/*
 * Sorts `values` into a template's parameters and problem values and adds the defaults of the rest,
 * each in the template's order. ERROR_CONFIG for a name that is neither, or a value that it may not
 * have; with `lenient`, unknown names are left out.
 */
int single_compile_bind(const struct template *template, const struct bindings *values,
                        bool lenient, struct bindings *parameters, struct bindings *problem,
                        struct error *error);

/* The file of template `name`: in `folder`, or where that is NULL in the usual folders. A new
 * string, or NULL with an error. */
char *single_compile_find_template(const char *folder, const char *name, struct error *error);

#endif
