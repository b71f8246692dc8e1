/*
 * A trial: one request that gives a variant its data, loads, verifies, samples and unloads it. Its
 * steps also serve the requests of the finals, whose variants stay loaded.
 *
 * Calling sequence of the steps: bind the variant's parameters, trial_prepare(), trial_load(), then
 * any number of trial_verify() and trial_measure(), each after a trial_prepare() if another variant
 * was prepared since. Every step returns 0 with the variant's failure, if it has one, in
 * `answer->outcome` and the reason in `error`; or an error that is not the variant's.
 */
#ifndef AUTOTUNE_TRIAL_H
#define AUTOTUNE_TRIAL_H

#include "base/error.h"
#include "gpu/answer.h"
#include "gpu/device_session.h"
#include "gpu/device_variant.h"
#include "gpu/verify.h"

#include <jansson.h>
#include <stddef.h>

/* How a variant's results are checked. */
enum verification {
    VERIFY_RUN,
    VERIFY_TIMED_RUN, /* measure_take_run() has its time */
    VERIFY_AGAIN      /* the results of the last run */
};

/*
 * Gives the variant its buffers, at `place`, and expected results, which other variants may have
 * taken. Before data is made, sends "preparing", because the variant's deadline does not run
 * meanwhile, and then "prepared". Frees variant->batch if a buffer has moved.
 */
int trial_prepare(struct device_session *session, struct device_variant *variant, size_t place,
                  struct answer *answer, struct error *error);

/* Loads the cubin `path`, unless that was done ahead. If the variant can run, answer->reply becomes
 * "loaded". Unload the variant in any case, unless the context is lost. */
int trial_load(struct device_session *session, struct device_variant *variant, const char *path,
               struct answer *answer, struct error *error);

/* Calls `meanwhile` (NULL: there is none) while the GPU is busy. If the variant wrote out of bounds,
 * sets session->damaged. */
int trial_verify(struct device_session *session, struct device_variant *variant,
                 enum verification how, const struct meanwhile *meanwhile, struct answer *answer,
                 struct error *error);

/* Takes the samples that the request asks for (sampling.h). On success `*reply` becomes a new object
 * with them. Returns ERROR_WORKER for an invalid number of samples. */
int trial_measure(struct device_session *session, const json_t *request,
                  struct device_variant *variant, json_t **reply, struct answer *answer,
                  struct error *error);

/* Serves a "trial" request. answer->reply becomes "tried". */
int trial_run(struct device_session *session, const json_t *request, struct answer *answer,
              struct error *error);

#endif
