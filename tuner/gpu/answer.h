/*
 * The answer to a request: a reply, a variant's failure or an error. Zero it with OUTCOME_MEASURED
 * before the request is served.
 */
#ifndef AUTOTUNE_ANSWER_H
#define AUTOTUNE_ANSWER_H

#include "base/error.h"
#include "gpu/device_session.h"
#include "record/outcome.h"

#include <jansson.h>
#include <stdbool.h>

struct answer {
    json_t *reply;        /* of a success */
    enum outcome outcome; /* of a failed variant; OUTCOME_MEASURED: none failed */
    bool lost;            /* the context is gone */
    bool innocent;        /* it was lost while the variant's data was made */
    bool unfit;           /* the template cannot make the variant's data */
    bool doubtful;        /* another variant may have done it */
    bool unreadable;      /* its cubin is missing or damaged: it is to be compiled again */
    json_t *differences;  /* of a wrong result, if they were asked for */
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
