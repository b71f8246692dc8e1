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
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/driver.h"
#include "gpu/gpu_monitor.h"
#include "gpu/measure.h"
#include "record/study.h"

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

/* --- answers --- */

/*
 * The answer to a request: a reply, a variant's failure or an error. Zero it with OUTCOME_MEASURED
 * before the request is served.
 */

struct answer {
    json_t *reply;        /* of a success */
    enum outcome outcome; /* of a failed variant; OUTCOME_MEASURED: none failed */
    bool lost;            /* the context is gone */
    bool innocent;        /* it was lost while the variant's data was made */
    bool unfit;           /* the template cannot make the variant's data */
    bool doubtful;        /* another variant may have done it */
    bool unreadable;      /* its cubin is missing or damaged: it is to be compiled again */
    json_t *differences;  /* of a wrong result, if they were asked for */
    char note[256];       /* of a right one: how many elements differ that may; "": none */
};

/*
 * Turns a driver error into the variant's outcome: a timeout or a fault if the context is lost,
 * otherwise `otherwise`. Returns any other error unchanged.
 */
int answer_driver_error(struct answer *answer, const struct device_session *session, int status,
                        enum outcome otherwise);

/* The same for an error while the variant's data was made: a template's error, too, means that the
 * variant cannot be verified. */
int answer_data_error(struct answer *answer, const struct device_session *session, int status);

/*
 * The message to send: the reply, or "failed", or if `status` is not 0, "error". `error` has the
 * reason of a failure. Takes over the answer's objects; the message is the caller's.
 */
json_t *answer_message(const struct answer *answer, const struct device_session *session,
                       int status, const struct error *error);

#endif
