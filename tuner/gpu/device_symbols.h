/*
 * Buffers that are variables of the source (`symbol` in templates). Each loaded copy of the code has
 * its own variable. The problem's buffer holds what the variable should hold, and what verification
 * compares: it is copied to the variable before a run and back after it.
 */
#ifndef AUTOTUNE_DEVICE_SYMBOLS_H
#define AUTOTUNE_DEVICE_SYMBOLS_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/device_code.h"

#include <stdbool.h>

/* A problem's buffers. */
struct symbol_buffers {
    struct device_context *device;
    const struct template *template;
    const struct device_buffer *buffers; /* one per template->buffers[i] */
};

/* Finds the variables of a copy of the code and fills them. Returns 0, ERROR_CONFIG if one is
 * missing or has another size than its buffer, or ERROR_DEVICE. */
int device_symbols_resolve(struct device_code *code, struct symbol_buffers buffers,
                           struct error *error);

/* The same for the helpers' module. It may lack variables, and was compiled with parameters'
 * defaults, on which a length may depend. Buffers that it lacks are left out. */
int device_symbols_fill(struct symbol_buffers buffers, CUmodule module, struct error *error);

/* Queues the copies to read variables, whose buffers have new contents. */
int device_symbols_renew(const struct device_code *code, struct symbol_buffers buffers,
                         struct error *error);

/* Queues the copies to read_write and write variables; from all variables. */
int device_symbols_push(const struct device_code *code, struct symbol_buffers buffers,
                        struct error *error);
int device_symbols_pull(const struct device_code *code, struct symbol_buffers buffers,
                        struct error *error);

/* Whether a run changes a variable, so that the next run finds what it has left there. */
bool device_symbols_change(const struct template *template);

#endif
