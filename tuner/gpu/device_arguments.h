/* The arguments of launches as the driver takes them, with the objects that are made for them:
 * textures, tensor maps and arrays of pointers. */
#ifndef AUTOTUNE_DEVICE_ARGUMENTS_H
#define AUTOTUNE_DEVICE_ARGUMENTS_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/driver.h"
#include "template/launch_plan.h"
#include "template/template.h"

/* What arguments can name. */
struct argument_buffers {
    struct device_context *device;
    const struct template *template;
    struct device_buffer *problem; /* one per template->buffers[i], as is … */
    struct device_buffer *scratch; /* the variant's, or a reference's own; NULL: none */
    struct expected *expected;     /* one per template->expectations[i]; NULL: of a variant */
    struct device_buffer *wrong;   /* a verifier's counter; NULL */
};

/*
 * Makes the objects of the step's arguments, and sets `*arguments` to what cuLaunchKernel takes,
 * which the caller frees. Plain buffers can move until the launch, because their addresses are read
 * from the device_buffer; those in structs until device_arguments_point(); buffers in objects cannot. Returns 0, ERROR_DEVICE, or ERROR_CONFIG for a
 * buffer that the launch may not have, or that does not suit its texture, tensor map or pointers.
 */
int device_arguments_make(const struct argument_buffers *buffers, struct step *step,
                          void ***arguments, struct error *error);

/* Puts the present addresses of buffers into the step's structs: before each launch, because they may move. Returns 0
 * if device_arguments_make() did. */
int device_arguments_point(const struct argument_buffers *buffers, const struct step *step,
                           struct error *error);

/* Whether a buffer is in such an object, and so cannot move. */
bool device_arguments_fix(const struct template *template, size_t buffer);

/* Frees all objects of the plan, which device_arguments_make() can make again. */
void device_arguments_free(struct device_context *device, struct launch_plan *launch_plan);

#endif
