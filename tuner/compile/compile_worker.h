/*
 * A compile worker: NVRTC in a process of its own, because NVRTC compiles one source at a time in
 * each process. It answers one message per request; FORMATS.md lists them.
 */
#ifndef AUTOTUNE_COMPILE_WORKER_H
#define AUTOTUNE_COMPILE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

/* The suffix, after `output`, of a file that a worker may leave behind when it is killed. */
#define COMPILE_WORKER_SCRAP ".pch"

/* Greets, then serves until the channel ends. Returns 0, or an error that has been sent as well. */
int compile_worker_run(struct channel *channel, struct error *error);

#endif
