/*
 * The code of a problem's helpers (template/helpers.h), which is the source compiled with the
 * parameters' defaults. It is loaded separately from the variants' code.
 */
#ifndef AUTOTUNE_HELPER_CODE_H
#define AUTOTUNE_HELPER_CODE_H

#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/device_context.h"
#include "gpu/device_data.h"
#include "template/expression.h"
#include "template/template.h"

#include <stddef.h>

struct helper_code {
    struct device_context *device;
    const struct template *template;
    struct compilation compilation; /* its cubin, and the names in it */
    CUmodule module;
};

/* Loads the code, and takes over the compilation (NULL: no helper needs code). */
int helper_code_load(struct helper_code *code, struct device_context *device,
                     const struct template *template, struct compilation *compilation,
                     struct error *error);
void helper_code_unload(struct helper_code *code);

struct helper_run {
    const struct launch *launch;
    const char *what;  /* "reference", for messages */
    uint64_t elements; /* of the buffer that it fills or judges; 0: it may have nothing to do */
    struct device_data *data;
    struct device_buffer *reference; /* a reference's output, what a verifier compares with; NULL */
    struct device_buffer *wrong;     /* a verifier's counter; NULL */
};

/*
 * Launches a helper, checked as a variant's launches are, and waits until it has finished. `scope`
 * binds parameters, problem values and device attributes. Returns 0, ERROR_CONFIG if an expression
 * fails, the grid or the block is empty though there are elements, or the arguments are not the
 * kernel's, or ERROR_DEVICE, with the template's line, if the launch or the kernel fails.
 */
int helper_code_run(const struct helper_code *code, struct helper_run *run,
                    const struct scope *scope, struct error *error);

#endif
