/* A loaded kernel: kernel.c makes it, scalars.c finds what a launch may change, launch.c launches. */
#ifndef TUNED_LIBRARY_LOADED_H
#define TUNED_LIBRARY_LOADED_H

#include "kernels.h"

#include <stddef.h>
#include <stdint.h>

enum {
    BUFFERS = 32,
    ARGUMENTS = 64,
    SCALAR_BYTES = 8, /* the most that a scalar has */
    ALIGNED_BYTES = 16,
    CHANGED_BYTES = PARAMETER_BYTES + ARGUMENTS * ALIGNED_BYTES
};

/* What an argument takes among others. */
static inline size_t argument_room(size_t bytes)
{
    return (bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;
}

/* A scalar argument, or a field of a struct, that changes with numbers of the problem. */
struct scalar_place {
    size_t step, argument;
    size_t offset;                 /* in the argument */
    const struct argument *scalar; /* the template's */
    uint64_t uses;                 /* bit i: scalars.values[i] */
};

/* The problem's numbers on which nothing but arguments depends, and where they are used. */
struct scalars {
    struct tuned_value *values;
    size_t count; /* at most 64 */
    struct scalar_place *places;
    size_t place_count;
};

/* The public part comes first, so that both have the same address. */
struct loaded_kernel {
    struct tuned_kernel public;
    struct tuned_kernels *kernels;
    const struct template *template;
    struct bindings parameters;
    struct bindings fixed;          /* problem values and device attributes */
    struct compilation compilation; /* of the module */
    struct launch_plan launch_plan;
    struct tuned_launch *launches;
    struct tuned_kernel_buffer *buffers;
    struct scalars scalars;
    CUdeviceptr scratch[BUFFERS]; /* of buffers[i]; 0 if it is a variable or the caller's */
};

/* Finds the scalars, once the launches are made. */
void scalars_find(struct loaded_kernel *kernel);
void scalars_release(struct scalars *scalars);

/* Values for a launch, in the caller's memory. */
struct given {
    struct binding items[64];
    struct bindings bindings;
    uint64_t mask; /* of scalars.values */
};

/* Checks the names and kinds of what the caller gives. Returns 0 or TUNED_INVALID. */
int scalars_give(const struct loaded_kernel *kernel, const struct tuned_value *values, size_t count,
                 struct given *given, struct tuned_error *error);

/* Stores the scalar of a place at `bytes`, computed with the given values. Returns 0, or
 * TUNED_INVALID if it does not fit its type. Neither this nor scalars_give() allocates. */
int scalars_store(const struct loaded_kernel *kernel, const struct scalar_place *place,
                  const struct given *given, unsigned char *bytes, struct tuned_error *error);

#endif
