/*
 * Code that is loaded on the GPU: copies of a variant's code, with the variables in it that are buffers, and
 * the code of a problem's helpers.
 *
 * The address at which the driver loads a cubin decides which instruction-cache lines its loops share. On an
 * H200, copies of the same cubin differ in speed by 0.35 % (standard deviation) for as long as they stay
 * loaded, so two variants half a percent apart can swap ranks from one process to the next. Each round of
 * the finals therefore runs in another copy of each variant, so that the best code wins and not the luckiest
 * address.
 *
 * A buffer that is a variable of the source (`symbol` in templates) has one variable in each copy. The
 * problem's buffer holds what the variable should hold, and what verification compares: it is copied to the
 * variable before a run and back after it.
 */
#ifndef AUTOTUNE_DEVICE_CODE_H
#define AUTOTUNE_DEVICE_CODE_H

#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/device_arguments.h"
#include "gpu/device_buffer.h"
#include "gpu/driver.h"
#include "template/launch_plan.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_COPIES = 64 }; /* as race_rules.copies in tune/race.h */

struct device_code {
    CUmodule module;
    CUfunction *functions; /* one per step */
    CUdeviceptr *symbols;  /* one per buffer of the template: its variable's address, or 0 */
};

/* A problem's buffers. */
struct symbol_buffers {
    struct device_context *device;
    const struct template *template;
    const struct device_buffer *buffers; /* one per template->buffers[i] */
};

/* Loads the cubin. Returns 0 or ERROR_DEVICE; call device_code_unload() in either case. */
int device_code_load(struct device_code *code, struct device_context *device, const void *cubin,
                     struct error *error);

/*
 * Looks up each step's function and allows it the shared memory and the cluster that the step asks for;
 * finds the variables and fills them. Returns 0, ERROR_CONFIG if a variable is missing or has another size
 * than its buffer, or ERROR_DEVICE.
 */
int device_code_resolve(struct device_code *code, struct symbol_buffers buffers,
                        const struct compilation *compilation,
                        const struct launch_plan *launch_plan, struct error *error);

/* Unloads and zeroes `code`, which may be zero already. */
void device_code_unload(struct device_code *code, struct device_context *device);

/* Queues copies between variables and their buffers. */
enum symbol_copies {
    SYMBOLS_RENEW, /* to those that are only read, whose buffers have new contents */
    SYMBOLS_PUSH,  /* to all others, before a run */
    SYMBOLS_PULL   /* from all, after it */
};
int device_code_copy_symbols(const struct device_code *code, struct symbol_buffers buffers,
                             enum symbol_copies which, struct error *error);

/* Sets the variables of [constants] in a loaded module, with the present addresses of buffers; with `lenient`, those that
 * it has. Returns 0, ERROR_CONFIG if a variable is missing or has another size, or ERROR_DEVICE. */
int device_code_set_constants(const struct argument_buffers *buffers, CUmodule handle,
                              const struct step *constants, bool lenient, struct error *error);

/* The code of a problem's helpers (template/template.h): the source compiled with the parameters' defaults. */
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
    struct helper helper;
    const char *what;  /* "reference", for messages */
    uint64_t elements; /* of the buffer that it fills or judges; 0: it may have nothing to do */
    struct argument_buffers buffers; /* without the device and the template, which are the code's */
    /* called after each launch; NULL: nothing is */
    int (*after)(void *user, const struct launch *launch, struct error *error);
    void *user;
};

/*
 * Runs a helper's launches, checked as a variant's are, and waits until each has finished. `scope`
 * binds parameters, problem values and device attributes. Returns 0, ERROR_CONFIG if an expression
 * fails, the grid or the block is empty though there are elements, or the arguments are not the
 * kernel's, or ERROR_DEVICE, with the template's line, if the launch or the kernel fails.
 */
int helper_code_run(const struct helper_code *code, struct helper_run *run,
                    const struct scope *scope, struct error *error);

#endif
