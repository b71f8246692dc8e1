/*
 * Kernels compiled for the host, found by the name of their entry. Apart from standin.h because it
 * is C++ that implements it. A further kernel: a line in the table of kernels.cpp.
 */
#ifndef STANDIN_KERNELS_H
#define STANDIN_KERNELS_H

#include <cuda.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

struct kernel;

/* What the handle of a texture points to. */
struct texture {
    CUDA_RESOURCE_DESC memory;
    CUDA_TEXTURE_DESC view;
};

/* What cuTensorMapEncodeTiled puts into a CUtensorMap. */
struct tensor_map {
    uint64_t address;
    uint64_t strides[4];    /* bytes, from dimension 1 on */
    uint32_t dimensions[5]; /* minus 1 */
    uint16_t box[5];
    uint8_t steps[5];
    uint8_t type, rank, interleave, swizzle, l2, fill;
};

/* The host version of an entry; NULL where there is none. */
const struct kernel *kernel_find(const char *entry);

/* A variable of the templates' sources; NULL if none has this name and size. */
void *kernel_variable(const char *name, size_t bytes);

/* The largest whole number below 2^32 among the arguments: as many elements are counted as work. */
uint64_t kernel_elements(const struct kernel *kernel, void **parameters);

/* The last pointer among the arguments; 0 if there is none. */
uint64_t kernel_address(const struct kernel *kernel, void **parameters);

/* Copies the arguments, as a graph does: a new array of pointers with what they point to behind it,
 * to be freed. NULL where memory is out. */
void **kernel_copy_parameters(const struct kernel *kernel, void **parameters);

/* The memory that was allocated next after that which holds an address (memory.c); 0 if there is none. */
CUdeviceptr memory_next(CUdeviceptr address);

/* What becomes of a launch. */
enum kernel_end { KERNEL_DONE, KERNEL_FAULTED, KERNEL_NEVER };

/*
 * Runs it, one thread as the whole grid. An access to pages of no allocation, or a trap, gives
 * KERNEL_FAULTED with the driver's error.
 */
enum kernel_end kernel_run(const struct kernel *kernel, void **parameters, CUresult *fault);

/* Nanoseconds the kernel asks for itself (the delay kernel); negative where the model decides. */
double kernel_own_ns(const struct kernel *kernel, void **parameters);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
