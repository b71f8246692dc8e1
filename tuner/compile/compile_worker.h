/*
 * A compile worker: NVRTC in a process of its own, because NVRTC compiles one source at a time in
 * each process. It answers one message per request; FORMATS.md lists
 * them.
 */
#ifndef AUTOTUNE_COMPILE_WORKER_H
#define AUTOTUNE_COMPILE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

/*
 * How much address space a worker may use, in MiB, so that compiling one variant (with an enormous
 * unroll) cannot take all of the machine's memory: $AUTOTUNE_COMPILE_MEMORY_MB, or 4 GiB. 0: there is no
 * limit, under a sanitizer, which reserves more than that for itself.
 */
int compile_worker_memory_mb(void);

/* Returns 0, or ERROR_USAGE if the variable is not such a limit, which is not used then. */
int compile_worker_check_memory(struct error *error);

/* Serves requests until the channel closes. Returns 0, or an error that it has also sent. */
int compile_worker_run(struct channel *channel, struct error *error);

#endif
