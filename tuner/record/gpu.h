/*
 * What is known about a GPU: read from the driver by the device worker, or, in static mode, taken
 * from a table of the architectures' limits. Nothing here calls CUDA.
 *
 * The attributes that expressions can name are a table of their own
 * (template/device_attributes.h); gpu.c has their values for each architecture.
 */
#ifndef AUTOTUNE_GPU_H
#define AUTOTUNE_GPU_H

#include "base/error.h"
#include "template/device_attributes.h"
#include "template/value.h"

#include <jansson.h>
#include <stdint.h>

struct gpu {
    char name[128];         /* "NVIDIA H200"; in static mode the card whose limits stand in */
    char uuid[48];          /* "GPU-…"; "" in static mode */
    char arch[16];          /* "sm_90" */
    char driver[32];        /* CUDA version of the driver, "13.0"; "" in static mode */
    int compute_capability; /* 90 for 9.0, 120 for 12.0 */
    int64_t memory_bytes;
    int64_t attributes[GPU_ATTRIBUTE_COUNT];
};

/*
 * Fills `gpu` for `arch` ("sm_90", "sm_90a", "compute_90") from a table. `gpu->arch` becomes
 * "sm_…", with the suffix kept, so that the compiler is asked for a cubin.
 *
 * The limits per compute capability are those of the CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"; occupancy rests on them alone. SM count, L2, clocks, bus
 * and memory differ from card to card, so the best-known card of each architecture stands in and
 * lends its name. Of those figures these are approximate:
 * - memory is the nominal size in decimal gigabytes; a driver reports a few per cent more or less;
 * - memory clocks of Jetson AGX Orin, Jetson AGX Thor and GB10 follow from the published bandwidth
 *   (2 transfers a clock over the bus), not from a driver;
 * - the B300 has the SM count, L2 and clocks of the B200.
 *
 * Returns 0, or ERROR_USAGE naming the architectures that are known.
 */
int gpu_from_arch(const char *arch, struct gpu *gpu, struct error *error);

/* Adds compute_capability, memory_bytes and every attribute, for expressions. */
void gpu_bindings(const struct gpu *gpu, struct bindings *bindings);

/* JSON object, a new reference; and back: 0 or ERROR_WORKER naming the missing member. */
json_t *gpu_to_json(const struct gpu *gpu);
int gpu_from_json(const json_t *object, struct gpu *gpu, struct error *error);

#endif
