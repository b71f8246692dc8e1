/* Texture objects over a buffer, as arguments of a launch. */
#ifndef AUTOTUNE_DEVICE_TEXTURE_H
#define AUTOTUNE_DEVICE_TEXTURE_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "template/launch_plan.h"

/* Makes the texture of `argument` over `buffer` and puts the object into argument->bytes. Returns 0,
 * ERROR_CONFIG if the buffer is too short, its type cannot be in a texture or its rows are not of
 * whole 32 bytes, or ERROR_DEVICE. */
int device_texture_new(struct device_context *device, const struct device_buffer *buffer,
                       struct step_argument *argument, struct error *error);

/* Destroys the texture of `argument`, if it has one. */
void device_texture_free(struct device_context *device, const struct step_argument *argument);

#endif
