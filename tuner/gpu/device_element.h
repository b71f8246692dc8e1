/* Single elements of buffers on the GPU, for messages. */
#ifndef AUTOTUNE_DEVICE_ELEMENT_H
#define AUTOTUNE_DEVICE_ELEMENT_H

#include "gpu/device_buffer.h"
#include "gpu/device_context.h"
#include "template/element.h"

#include <stdbool.h>
#include <stdint.h>

/* The element as text, with the digits of the type `result`; "?" if it cannot be fetched. */
void device_element_text(struct device_context *device, const struct device_buffer *buffer,
                         uint64_t index, enum element_type result, char text[ELEMENT_TEXT_BYTES]);

/* Whether the element is still the poison; never true for a type smaller than
 * ELEMENT_POISON_BYTES. */
bool device_element_is_poison(struct device_context *device, const struct device_buffer *buffer,
                              unsigned char poison, uint64_t index);

#endif
