/*
 * A trial: one request that gives a variant its data, loads, verifies, samples and unloads it. Its
 * steps also serve the requests of the finals, whose variants stay loaded.
 *
 * In a trial, whatever the variant could find was just found intact, or is checked first, and is checked
 * again at the end: what has changed by then, this variant has changed. Between two checks in the finals
 * several variants run, so that damage is nobody's for certain, and the answer is doubtful. The
 * coordinator then has the finals checked carefully, which is to say as in trials.
 *
 * Calling sequence of the steps: bind the variant's parameters, trial_prepare(), trial_load(), then
 * any number of trial_verify() and trial_measure(), each after a trial_prepare() if another variant
 * was prepared since. Every step returns 0 with the variant's failure, if it has one, in
 * `answer->outcome` and the reason in `error`; or an error that is not the variant's.
 */
#ifndef AUTOTUNE_TRIAL_H
#define AUTOTUNE_TRIAL_H

#include "base/error.h"
#include "gpu/device_session.h"
#include "gpu/device_variant.h"
#include "gpu/verify.h"

#include <jansson.h>
#include <stddef.h>

/*
 * Gives the variant its buffers, at `place`, and expected results, which other variants may have
 * taken; `checks` whether they are intact. Before data is made, sends "preparing", because the variant's
 * deadline does not run meanwhile, and then "prepared". Frees variant->batch if a buffer has moved.
 */
int trial_prepare(struct device_session *session, struct device_variant *variant, size_t place,
                  bool checks, struct answer *answer, struct error *error);

/* Loads the cubin behind the request, the entry `key` of the cubin cache. If the variant can run, answer->reply becomes
 * "loaded". Unload the variant in any case, unless the context is lost. */
int trial_load(struct device_session *session, struct device_variant *variant, const char *key,
               struct answer *answer, struct error *error);

/* What became of runs of the variant, which ended with `status`. If the driver refused one of several
 * launches, nothing of that run is checked, so that session->damaged is set. Returns what
 * answer_driver_error() does. */
int trial_ran(struct device_session *session, const struct device_variant *variant, int status,
              struct answer *answer);

/* Runs the variant once, hostile to it (verify.h), and checks the result. If something was written that may not be,
 * sets session->damaged. */
int trial_verify(struct device_session *session, struct device_variant *variant, bool everything,
                 struct answer *answer, struct error *error);

/* Mends all data but those of the last trial_prepare(), and the guards of all loaded variants' scratch
 * buffers; says whether there was any damage, or the state of another variant than `own` has changed since the last
 * call. NULL: several have run since, and may have changed their own. Returns 0 or ERROR_DEVICE. */
int trial_mend(struct device_session *session, const struct device_variant *own, bool *damaged,
               struct error *error);

/* What of other variants is checked: their data, or the guards of their scratch buffers, too, or also their state. */
enum others { OTHERS_DATA, OTHERS_GUARDS, OTHERS_STATE };

/* Whether runs of a variant, `own`, or what was not checked before, have damaged that. Returns 0 or ERROR_DEVICE. */
int trial_check_others(struct device_session *session, enum others others,
                       const struct device_variant *own, struct answer *answer,
                       struct error *error);

/*
 * Takes the samples that the request asks for (measure.h). Checks two consecutive ones behind
 * `check_after` of them (0: none), and with `checks` everything after the last: of a batch, two consecutive
 * runs drawn at random. On success `*reply` becomes a new object with the samples. Returns ERROR_WORKER for an
 * invalid number of samples.
 */
int trial_measure(struct device_session *session, const json_t *request,
                  struct device_variant *variant, bool checks, json_t **reply,
                  struct answer *answer, struct error *error);

/* Serves a "trial" request. answer->reply becomes "tried". */
int trial_run(struct device_session *session, const json_t *request, struct answer *answer,
              struct error *error);

#endif
