/* The arguments of one launch of a plan (launch_plan.h). */
#ifndef AUTOTUNE_STEP_ARGUMENTS_H
#define AUTOTUNE_STEP_ARGUMENTS_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"
#include "template/tensor_map.h"

#include <stddef.h>
#include <stdint.h>

/* In place of a buffer's index: a reference's output, and a verifier's counter. */
#define STEP_REFERENCE SIZE_MAX
#define STEP_WRONG (SIZE_MAX - 1)

/* Addresses in an array of pointers. */
struct step_pointer {
    size_t buffer; /* as in step_argument */
    uint64_t part; /* elements of each part that is pointed to; 0: one pointer to the buffer */
};

struct step_argument {
    enum argument_kind kind;
    size_t buffer; /* index, STEP_REFERENCE or STEP_WRONG */
    /* A scalar or struct as the kernel has it. For pointers, textures and tensor maps, whoever
     * launches puts the array's address or the object there. */
    unsigned char bytes[ARGUMENT_BYTES];
    size_t size;            /* in bytes; 8 for a buffer */
    uint64_t width, height; /* of a texture, in elements; 0 for linear memory */
    struct texture_options texture;
    struct tensor_map *tensor_map; /* owned, as is … */
    struct step_pointer *pointers;
    size_t pointer_count;
};

/*
 * Evaluates the arguments of `launch` into a new array of launch->argument_count. Returns 0, or
 * ERROR_CONFIG: an expression fails, a scalar does not fit its type, a tensor map breaks a limit.
 * Release the array either way.
 */
int step_arguments_read(struct step_argument **arguments, const struct launch *launch,
                        const struct template *template, const struct scope *scope,
                        struct error *error);
void step_arguments_release(struct step_argument *arguments, size_t count);

/*
 * Evaluates a scalar argument of a launch, or a field of one, and stores it at `bytes` as the kernel
 * has it. Does not allocate. Returns 0, or ERROR_CONFIG if the expression fails or its value does
 * not fit the type.
 */
int step_argument_scalar(const struct template *template, const struct launch *launch,
                         const struct argument *argument, const struct scope *scope,
                         unsigned char *bytes, struct error *error);

#endif
