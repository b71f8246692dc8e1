/*
 * A worker's private copies of the files that a request names. Workers read no other files of the user's,
 * so what the coordinator has not read and hashed cannot reach a result.
 *
 * A file /a/b/x.h of the coordinator's machine is STAGING_ROOT/a/b/x.h here: the worker's working folder
 * is a new folder in $TMPDIR, so that copies have the same names in every process, and what is compiled
 * from them is the same to the byte. If there is nothing to copy, it is an empty folder of /proc.
 *
 *     staging_init(&staging);
 *     status = staging_place(&staging, channel, request, error);     for each request
 *     staging_release(&staging);
 */
#ifndef AUTOTUNE_STAGING_H
#define AUTOTUNE_STAGING_H

#include "base/channel.h"
#include "base/error.h"
#include "template/source.h"

#include <jansson.h>
#include <stdbool.h>

#define STAGING_ROOT "/proc/self/cwd"

struct staging {
    char *folder;   /* it exists once there is something in it */
    json_t *placed; /* the files and the ways in it; NULL: nothing was asked for yet */
};

void staging_init(struct staging *staging);

/* Removes the folder; whoever kills the worker does that itself. */
void staging_release(struct staging *staging);

/* The members "files" and "ways" of a request about the source. */
void staging_describe(const struct source *source, json_t *request);

/*
 * Puts the files of the request but the first, and what else its #includes need, into the folder, in place
 * of what was there. Each begins with a #line, so that messages and __FILE__ have the user's path. Returns
 * 0; ERROR_WORKER if the channel has not kept one of the files; or ERROR_RECORD if the folder cannot be
 * written.
 */
int staging_place(struct staging *staging, const struct channel *channel, const json_t *request,
                  struct error *error);

/* Whether all that the latest request has placed is still there: $TMPDIR may be cleaned meanwhile. What was
 * compiled without one of these files is not what was asked for. */
bool staging_stands(const struct staging *staging);

/* The text of the request's first file; NULL with ERROR_WORKER. It is the channel's. */
const char *staging_first(const struct channel *channel, const json_t *request, const char **path,
                          struct error *error);

#endif
