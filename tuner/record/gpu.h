/*
 * A GPU's description: read from the driver by the device worker or, in static mode, taken from a
 * table of architectures. Nothing here calls CUDA.
 *
 * template/device_attributes.h lists the attributes that expressions can name; gpu.c has their
 * values for each architecture.
 */
#ifndef AUTOTUNE_GPU_H
#define AUTOTUNE_GPU_H

#include "base/error.h"
#include "template/device_attributes.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gpu {
    char name[128];         /* "NVIDIA H200"; in static mode the card that represents `arch` */
    char uuid[48];          /* "GPU-…"; "" in static mode */
    char arch[16];          /* "sm_90" */
    char driver[32];        /* "13.0 (580.95.05)", CUDA's version and its own; "" in static mode */
    int compute_capability; /* 90 for 9.0, 120 for 12.0; 0: not known, as is everything below */
    int64_t memory_bytes;
    int64_t attributes[GPU_ATTRIBUTE_COUNT];
};

/*
 * Fills `gpu` for `arch` ("sm_90", "sm_90a", "compute_90") from a table. `gpu->arch` becomes "sm_…"
 * with any suffix kept, so that NVRTC produces a cubin.
 *
 * The limits per compute capability are from the CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"; occupancy depends on nothing else. SM count, L2, clocks,
 * bus and memory differ between cards of one architecture, so the values and the name are those of
 * its best-known card. Some are approximate:
 * - memory is the nominal size in decimal gigabytes; a driver reports a few per cent more or less;
 * - the memory clocks of Jetson AGX Orin, Jetson AGX Thor and GB10 are computed from the published
 *   bandwidth (2 transfers per clock over the bus), not read from a driver;
 * - the B300 has the SM count, L2 and clocks of the B200.
 *
 * Returns 0, or ERROR_USAGE with a list of the known architectures.
 */
int gpu_from_arch(const char *arch, struct gpu *gpu, struct error *error);

/* Binds compute_capability, memory_bytes and every attribute for expressions. */
void gpu_bindings(const struct gpu *gpu, struct bindings *bindings);

/* The memory's theoretical bandwidth. */
double gpu_memory_gb_per_s(const struct gpu *gpu);

/* Whether two GPUs are of one model, so that times on one say what they are on the other: the same
 * name, architecture, memory and attributes, and clocks within 1 %. */
bool gpu_alike(const struct gpu *a, const struct gpu *b);

/* Convert to a JSON object (a new reference) and back. gpu_from_json() returns 0, or ERROR_WORKER
 * with the name of the missing member. */
json_t *gpu_to_json(const struct gpu *gpu);
int gpu_from_json(const json_t *object, struct gpu *gpu, struct error *error);

#endif
