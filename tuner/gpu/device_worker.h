/*
 * The device worker: one GPU's context in a process of its own, so that whatever a kernel does to
 * it ends with that process. It answers each request with one message; run by hand (`autotune
 * worker device`) it answers on the terminal. Requests:
 *
 *     {"do":"open","template":PATH,"hash":…,"problem":{…},"support":CUBIN,"reference":CUBIN,"cold":true}
 *         -> {"event":"opened","empty_ns":[…]}                 buffers filled, references run
 *     {"do":"load","id":7,"cubin":CUBIN,"parameters":{…}}
 *         -> {"event":"loaded",registers…grid_blocks,"bytes":…,"operations":…}
 *     {"do":"verify","id":7,"runs":2}  -> {"event":"verified","right":true,"run_ns":…} or right
 * false and a reason
 *     {"do":"measure","id":7,"samples":10,"copy":3,"batched":true}
 *         -> {"event":"measured","samples_ns":[…],"runs":32,"single_ns":…,"empty_batch_ns":…}
 *            of that copy of its code (device_code.h); each sample is the mean of so many runs: 1, or
 *            in batches, where that is asked for and possible (batch.h)
 *     {"do":"unload","id":7} -> {"event":"unloaded"}
 *     {"do":"trial","cubin":CUBIN,"parameters":{…},"samples":5,"enough_ns":…,"short_ns":…}
 *         -> {"event":"tried",figures as loaded,samples as measured,"load_ns":…,"run_ns":…}  all of
 *            the above in one, checked again after the samples; one sample above enough_ns is
 *            enough; where the single samples' median is below short_ns, batches take their place
 *     {"do":"wait"} -> {"event":"waited"}  when everything queued is done: the context works
 *     {"do":"close"} -> {"event":"closed"}
 *
 * CUBIN is the path of an entry of the cubin cache. A variant that fails answers
 * {"event":"failed","outcome":"fault","reason":…,"lost":true}; after `lost` the context is gone and
 * the process ends. After "repairs":true, for a trial that wrote where it must not, {"event":"repaired"}
 * follows when the problem has been opened anew.
 * "opened" also says "needs_bytes", what the problem takes of the GPU's memory, and "free_bytes",
 * what is left. A request with "recount":true makes gpu_monitor_recount() come before it.
 * Samples come with what gpu_monitor_tell() adds: "throttled" where they were taken under it.
 * {"event":"error",…} says that the request itself, or the template, is at fault.
 */
#ifndef AUTOTUNE_DEVICE_WORKER_H
#define AUTOTUNE_DEVICE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

/*
 * Serves GPU `ordinal` until the channel ends. First message: {"event":"ready","gpu":{…}}; with
 * `ordinal` -1 it sends
 * {"event":"devices","gpus":[…]} and returns. Returns 0, or an error that has been sent as well.
 */
int device_worker_run(struct channel *channel, int ordinal, struct error *error);

#endif
