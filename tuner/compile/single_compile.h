/*
 * Compiles single variants outside a sweep: takes the cubin from the cache, or runs NVRTC, which it
 * opens when it first needs it.
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

/* Initialise to zero; release with single_compile_release(). */
struct single_compile {
    struct nvrtc *nvrtc;
    char *cache;       /* folder, owned; NULL: the default */
    bool any_compiler; /* accept cached cubins of any NVRTC version; a hit needs no NVRTC */
    bool in_child;     /* compile in a child process (child_compile.h); not for applications */
};

/* What to build. Unbound parameters and problem values take the template's defaults. */
struct build {
    const struct template *template;
    const struct bindings *parameters;
    const struct bindings *problem;
    const char *arch; /* "sm_90" */
    bool helpers; /* those (helpers.h), and not the launches; the parameters have their defaults */
};

enum build_origin { BUILD_CACHED, BUILD_COMPILED };

/*
 * Returns 0 with a cubin in `compilation`, ERROR_CONFIG with the compiler's first error if the
 * variant does not compile, ERROR_DEVICE if there is no NVRTC, or ERROR_INTERRUPTED. Failing to write
 * the cache is not an error. Release `compilation` in any case.
 */
int single_compile_cubin(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, enum build_origin *origin,
                         struct error *error);

/* The same, for a worker: `*path` becomes that of the cache's entry, a new string, or NULL on
 * failure. ERROR_RECORD if the entry cannot be written. */
int single_compile_entry(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, char **path, struct error *error);
int single_compile_source_entry(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, char **path, struct error *error);

/* The same for any source and NVRTC options. */
int single_compile_source_cubin(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, enum build_origin *origin,
                                struct error *error);

/* The variant's PTX, compiled in a child process; free the string. */
int single_compile_ptx(struct single_compile *compiler, const struct build *build, char **ptx,
                       struct error *error);

/* The variant's source with its definitions in front; free the string. It still includes the
 * headers of the template's folder by name. */
char *single_compile_source(const struct build *build);

void single_compile_release(struct single_compile *compiler);

/*
 * Splits `values` into a template's parameters and problem values and adds the defaults of the
 * rest, in the template's order. Returns 0, or ERROR_CONFIG for an unknown name or an invalid
 * value; with `lenient`, ignores unknown names.
 */
int single_compile_bind(const struct template *template, const struct bindings *values,
                        bool lenient, struct bindings *parameters, struct bindings *problem,
                        struct error *error);

/* The path of template `name` in `folder` or, if that is NULL, in the usual folders. Free it; NULL
 * with an error if it is not found. */
char *single_compile_find_template(const char *folder, const char *name, struct error *error);

#endif
