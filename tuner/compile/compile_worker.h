/*
 * A compile worker: NVRTC in a process of its own, since NVRTC serialises the threads of a process.
 * Run by hand it answers on the terminal:
 *
 *     $ autotune worker compile
 *     {"event":"ready","nvrtc":"13.0","architectures":[75,80,…]}
 *     {"do":"compile","name":"kernel_templates/reduce_sum.cu","arch":"sm_90","options":[],"output":"/tmp/x"}
 *     {"event":"compiled","milliseconds":9.1}
 *
 * The source is read from `name` unless `text` holds it. With `headers`, names of the toolkit's headers
 * that are to be precompiled (precompiler.h), come `definitions`, how many of the options are the
 * variant's definitions, the last ones, and `more`: whether more such jobs will follow. The result, also a refusal with the
 * compiler's log, is written to `output` as an entry of the cubin cache (cubin.h).
 * {"event":"error",…} answers what cannot be done.
 */
#ifndef AUTOTUNE_COMPILE_WORKER_H
#define AUTOTUNE_COMPILE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

/* What follows `output` in the name of a file that a worker which is killed may leave. */
#define COMPILE_WORKER_SCRAP ".pch"

/* Serves until the channel ends. Returns 0, or an error that has been sent as well. */
int compile_worker_run(struct channel *channel, struct error *error);

#endif
