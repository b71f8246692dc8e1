#include "gpu/device_data.h"

#include "base/alloc.h"

#include <stdlib.h>

void device_data_init(struct device_data *data, const struct template *template)
{
    data->template = template;
    data->buffers = alloc_zeroed(template->buffer_count, sizeof *data->buffers);
    data->pristine = alloc_zeroed(template->buffer_count, sizeof *data->pristine);
    data->fingerprints = alloc_zeroed(template->buffer_count, sizeof *data->fingerprints);
    data->expected = alloc_zeroed(template->expectation_count, sizeof *data->expected);
    data->expected_sums = alloc_zeroed(template->expectation_count, sizeof *data->expected_sums);
    data->expected_fingerprints =
        alloc_zeroed(template->expectation_count, sizeof *data->expected_fingerprints);
}

void device_data_release(struct device_data *data)
{
    free(data->buffers);
    free(data->pristine);
    free(data->fingerprints);
    free(data->expected_fingerprints);
    free(data->expected);
    free(data->expected_sums);
    *data = (struct device_data){0};
}

void device_data_clear(struct device_data *data)
{
    const struct template *template = data->template;
    for (size_t i = 0; i < template->buffer_count; i++)
        data->buffers[i] = data->pristine[i] = (struct device_buffer){0};
    for (size_t i = 0; i < template->expectation_count; i++)
        data->expected[i] = (struct device_buffer){0};
}

int device_data_restore(const struct device_data *data, struct device_context *device,
                        struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < data->template->buffer_count && status == 0; i++)
        if (data->pristine[i].base != 0)
            status = device_buffer_copy(device, &data->buffers[i], &data->pristine[i], error);
    return status;
}

int device_data_poison(const struct device_data *data, struct device_context *device,
                       struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < data->template->buffer_count && status == 0; i++)
        if (data->template->buffers[i].access == ACCESS_WRITE && data->buffers[i].base != 0)
            status = device_buffer_poison(device, &data->buffers[i],
                                          element_poison(data->buffers[i].type), error);
    return status;
}
