/*
 * What a device worker's requests share: the GPU's context, the problem that is open on it, and the
 * variants that are loaded. One problem at a time.
 *
 * Calling sequence: zero it, set `channel`, start `device`; device_session_open() for each problem,
 * and device_session_repair() whenever `damaged` is set; device_session_release(). Once the context is
 * lost, nothing but device_session_release() may follow.
 */
#ifndef AUTOTUNE_DEVICE_SESSION_H
#define AUTOTUNE_DEVICE_SESSION_H

#include "base/channel.h"
#include "base/error.h"
#include "gpu/ahead.h"
#include "gpu/device_context.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/gpu_monitor.h"
#include "gpu/sampling.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_session {
    struct channel *channel; /* the caller's */
    struct device_context device;
    struct sampling sampling;
    struct gpu_monitor monitor;
    struct device_problem problem;
    bool has_support;
    bool open;
    bool damaged;         /* a kernel wrote out of bounds: the problem must be opened again */
    json_t *open_request; /* of the open problem */
    uint64_t random;      /* decides which run of a batch is checked */
    struct device_variant *variants;
    size_t variant_count;
    struct ahead ahead;
};

/*
 * Closes the open problem and opens that of an "open" request (FORMATS.md). Returns 0, ERROR_WORKER
 * if the request lacks a key, ERROR_RECORD if a cubin cannot be read, or an error of
 * device_problem_open().
 */
int device_session_open(struct device_session *session, const json_t *request, struct error *error);

/* Opens the problem again: a write out of bounds may have hit any buffer, even expected results.
 * Unloads all variants. Returns what device_session_open() does. */
int device_session_repair(struct device_session *session, struct error *error);

/* Unloads all variants and closes the problem, if one is open. */
void device_session_close(struct device_session *session);

/* The context stays: the driver frees GPU memory when the process exits. */
void device_session_release(struct device_session *session);

/* The variants that stay loaded. A pointer to one is valid until the next add or remove. */
struct device_variant *device_session_find(struct device_session *session,
                                           int64_t id); /* or NULL */
struct device_variant *device_session_add(struct device_session *session, int64_t id);
void device_session_remove(struct device_session *session, struct device_variant *variant);

#endif
