/* What a rank says of itself in its first packet: {"host":…,"cores":…,"build":…}, or an "error". */
#ifndef AUTOTUNE_GREETING_H
#define AUTOTUNE_GREETING_H

#include "base/error.h"
#include "mpi/peers.h"

#include <jansson.h>

/* As text, a new string. `program` is the autotune that this rank would start. */
char *greeting_new(const struct peers *peers, const char *program);

/* Whether the rank with the greeting `other` can take part in a run of rank 0, whose is `own`: 0, or
 * ERROR_DEVICE naming its host. */
int greeting_check(const json_t *other, const json_t *own, struct error *error);

#endif
