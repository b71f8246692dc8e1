#include "gpu/device_element.h"

#include <stdio.h>
#include <string.h>

/* Fetches an element into `bytes`; false if that fails. */
static bool fetch(struct device_context *device, const struct device_buffer *buffer, uint64_t index,
                  unsigned char bytes[8])
{
    size_t size = element_bytes(buffer->type);
    memset(bytes, 0, 8);
    return device->driver.cuMemcpyDtoH(bytes, buffer->data + index * size, size) == CUDA_SUCCESS;
}

void device_element_text(struct device_context *device, const struct device_buffer *buffer,
                         uint64_t index, enum element_type result, char text[ELEMENT_TEXT_BYTES])
{
    unsigned char bytes[8];
    (void)snprintf(text, ELEMENT_TEXT_BYTES, "?");
    if (fetch(device, buffer, index, bytes))
        (void)element_text(buffer->type, bytes, element_digits(result), text);
}

bool device_element_is_poison(struct device_context *device, const struct device_buffer *buffer,
                              unsigned char poison, uint64_t index)
{
    unsigned char bytes[8];
    size_t size = element_bytes(buffer->type);
    bool same = size >= ELEMENT_POISON_BYTES && fetch(device, buffer, index, bytes);
    for (size_t i = 0; i < size && same; i++)
        same = bytes[i] == poison;
    return same;
}
