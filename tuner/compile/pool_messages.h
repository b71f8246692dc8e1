/* The messages between a compile pool and its workers; FORMATS.md lists them. */
#ifndef AUTOTUNE_POOL_MESSAGES_H
#define AUTOTUNE_POOL_MESSAGES_H

#include "compile/pool_jobs.h"

#include <jansson.h>
#include <stdbool.h>

/* The request for the job; the caller owns it. `more`: the worker can expect another job
 * with headers, so that it pays to precompile them. */
json_t *pool_messages_request(const struct pool_job *job, bool more);

/* Whether the message is the event with that name. */
bool pool_messages_is(const json_t *message, const char *event);

#endif
