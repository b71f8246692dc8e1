#include "gpu/data_places.h"

/* Makes one more place, unless memory is short. */
static int add_place(struct data_places *places, struct device_context *device,
                     const struct device_buffer *buffer, uint64_t *left_bytes, struct error *error)
{
    uint64_t bytes = device_buffer_total(buffer);
    if (bytes > *left_bytes)
        return 0;
    CUresult result = device->driver.cuMemAlloc(&places->bases[places->count], bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *left_bytes = 0;
        return 0;
    }
    if (result != CUDA_SUCCESS)
        return device_check(device, result, "cuMemAlloc", error);
    places->count++;
    *left_bytes -= bytes;
    return 0;
}

int data_places_move(struct data_places *places, struct device_context *device,
                     struct device_buffer *buffer, size_t number, uint64_t *left_bytes,
                     struct error *error)
{
    int status = 0;
    if (buffer->base == 0 || buffer->bytes > PLACES_LARGEST)
        return 0;
    if (places->count == 0)
        places->bases[places->count++] = buffer->base;
    if (number % DATA_PLACES >= places->count)
        status = add_place(places, device, buffer, left_bytes, error);
    CUdeviceptr base = places->bases[number % DATA_PLACES % places->count];
    if (status != 0 || base == buffer->base)
        return status;
    return device_buffer_move(device, buffer, base, error);
}

bool data_places_shrink(struct data_places *places, struct device_context *device,
                        const struct device_buffer *buffer, uint64_t *left_bytes)
{
    size_t kept = 1;
    for (size_t i = 1; i < places->count; i++) {
        if (places->bases[i] == buffer->base) {
            places->bases[kept++] = buffer->base;
            continue;
        }
        (void)device->driver.cuMemFree(places->bases[i]);
        *left_bytes += device_buffer_total(buffer);
    }
    if (kept >= places->count)
        return false;
    places->count = kept;
    return true;
}

void data_places_release(struct data_places *places, struct device_context *device,
                         struct device_buffer *buffer, uint64_t *left_bytes)
{
    if (places->count == 0)
        return;
    buffer->base = places->bases[0];
    (void)data_places_shrink(places, device, buffer, left_bytes);
    places->count = 0;
}
