/* One variant to compile outside a sweep: what it is, its options, and what is said if it is refused. */
#ifndef AUTOTUNE_BUILD_H
#define AUTOTUNE_BUILD_H

#include "base/error.h"
#include "compile/compilation.h"
#include "template/source.h"
#include "template/template.h"
#include "template/value.h"
#include "template/variant.h"

#include <stdbool.h>

/* What to build. Unbound parameters and problem values take the template's defaults. */
struct build {
    const struct template *template;
    const struct bindings *parameters;
    const struct bindings *problem;
    const char *arch; /* "sm_90" */
    bool helpers; /* those (helpers.h), and not the launches; the parameters have their defaults */
    bool ptx;     /* PTX, a text in place of the cubin */
};

/* As variant_options(), and whether it is PTX. */
int build_options(const struct build *build, struct options *options, struct error *error);

/* ERROR_CONFIG with the compiler's first error in one line. */
int build_refused(const struct source *source, const struct compilation *compilation,
                  struct error *error);

/* The variant's source with its definitions in front; free the string. It still includes the
 * headers of the template's folder by name. */
char *build_source(const struct build *build);

/*
 * Splits `values` into a template's parameters and problem values and adds the defaults of the
 * rest, in the template's order. Returns 0, or ERROR_CONFIG for an unknown name or an invalid
 * value; with `lenient`, ignores unknown names.
 */
int build_bind(const struct template *template, const struct bindings *values, bool lenient,
               struct bindings *parameters, struct bindings *problem, struct error *error);

/* The path of template `name` in `folder` or, if that is NULL, in the usual folders. Free it; NULL
 * with an error if it is not found. */
char *build_find_template(const char *folder, const char *name, struct error *error);

/* The source of the tuner's own kernels (gpu/device_kernels.cu), embedded by the build. A compile worker
 * compiles it like any template. It lasts as long as the process. */
extern const char device_kernels_source[];
const struct source *device_kernels(void);

#endif
