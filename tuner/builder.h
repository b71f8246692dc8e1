/*
 * A variant compiled outside of a sweep, one at a time in this process: from the cubin cache, or by
 * NVRTC, which is opened when it is first needed.
 */
#ifndef AUTOTUNE_BUILDER_H
#define AUTOTUNE_BUILDER_H

#include "error.h"
#include "nvrtc.h"
#include "source.h"
#include "template.h"
#include "value.h"
#include "variant.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is ready for use. */
struct builder {
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
int builder_cubin(struct builder *builder, const struct build *build,
                  struct compilation *compilation, enum build_origin *origin, struct error *error);

/* The same for any source with NVRTC options of its own. */
int builder_source_cubin(struct builder *builder, const struct source *source,
                         const struct options *options, const char *arch,
                         struct compilation *compilation, enum build_origin *origin,
                         struct error *error);

/* Its PTX, a new string. */
int builder_ptx(struct builder *builder, const struct build *build, char **ptx,
                struct error *error);

/* Its source with the definitions before it; a new string. The headers of the template's folder
 * are still included by name. */
char *builder_source(const struct build *build);

void builder_release(struct builder *builder);

/*
 * Sorts `values` into a template's parameters and problem values and adds the defaults of the rest,
 * each in the template's order. ERROR_CONFIG for a name that is neither, or a value that it may not
 * have; with `lenient`, unknown names are left out.
 */
int builder_bind(const struct template *template, const struct bindings *values, bool lenient,
                 struct bindings *parameters, struct bindings *problem, struct error *error);

/* The file of template `name`: in `folder`, or where that is NULL in the usual folders. A new
 * string, or NULL with an error. */
char *builder_find_template(const char *folder, const char *name, struct error *error);

#endif
