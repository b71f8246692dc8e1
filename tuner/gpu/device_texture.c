#include "gpu/device_texture.h"

#include <inttypes.h>
#include <string.h>

enum { ROW_BYTES = 32 }; /* CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT of every GPU so far */

/* False for a type that no texture has. */
static bool format_of(enum element_type type, CUarray_format *format)
{
    static const struct {
        enum element_type type;
        CUarray_format format;
    } formats[] = {{ELEMENT_INT8, CU_AD_FORMAT_SIGNED_INT8},
                   {ELEMENT_INT16, CU_AD_FORMAT_SIGNED_INT16},
                   {ELEMENT_INT32, CU_AD_FORMAT_SIGNED_INT32},
                   {ELEMENT_UINT8, CU_AD_FORMAT_UNSIGNED_INT8},
                   {ELEMENT_UINT16, CU_AD_FORMAT_UNSIGNED_INT16},
                   {ELEMENT_UINT32, CU_AD_FORMAT_UNSIGNED_INT32},
                   {ELEMENT_HALF, CU_AD_FORMAT_HALF},
                   {ELEMENT_FLOAT, CU_AD_FORMAT_FLOAT}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == type) {
            *format = formats[i].format;
            return true;
        }
    return false;
}

static int check(const struct device_buffer *buffer, const struct step_argument *argument,
                 CUarray_format *format, struct error *error)
{
    uint64_t row_bytes = argument->width * element_bytes(buffer->type);
    if (!format_of(buffer->type, format))
        return error_set(error, ERROR_CONFIG,
                         "a texture cannot have elements of type %s; use a type of up to 32 bits",
                         element_name(buffer->type));
    if (argument->width > 0 && argument->height > buffer->length / argument->width)
        return error_set(error, ERROR_CONFIG,
                         "the texture has %" PRIu64 " * %" PRIu64
                         " elements, but its buffer has %" PRIu64,
                         argument->width, argument->height, buffer->length);
    if (argument->height > 1 && row_bytes % ROW_BYTES != 0)
        return error_set(error, ERROR_CONFIG,
                         "a row of the texture takes %" PRIu64
                         " bytes; it must be a multiple of %d",
                         row_bytes, ROW_BYTES);
    return 0;
}

static CUDA_RESOURCE_DESC describe_memory(const struct device_buffer *buffer,
                                          const struct step_argument *argument,
                                          CUarray_format format)
{
    CUDA_RESOURCE_DESC memory = {0};
    if (argument->width == 0) {
        memory.resType = CU_RESOURCE_TYPE_LINEAR;
        memory.res.linear.devPtr = buffer->data;
        memory.res.linear.format = format;
        memory.res.linear.numChannels = 1;
        memory.res.linear.sizeInBytes = buffer->bytes;
        return memory;
    }
    memory.resType = CU_RESOURCE_TYPE_PITCH2D;
    memory.res.pitch2D.devPtr = buffer->data;
    memory.res.pitch2D.format = format;
    memory.res.pitch2D.numChannels = 1;
    memory.res.pitch2D.width = argument->width;
    memory.res.pitch2D.height = argument->height;
    memory.res.pitch2D.pitchInBytes =
        (argument->width * element_bytes(buffer->type) + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    return memory;
}

int device_texture_new(struct device_context *device, const struct device_buffer *buffer,
                       struct step_argument *argument, struct error *error)
{
    const struct texture_options *options = &argument->texture;
    CUarray_format format = CU_AD_FORMAT_FLOAT;
    CUtexObject object = 0;
    int status = check(buffer, argument, &format, error);
    if (status != 0)
        return status;
    CUDA_RESOURCE_DESC memory = describe_memory(buffer, argument, format);
    CUDA_TEXTURE_DESC texture = {0};
    for (size_t i = 0; i < 3; i++)
        texture.addressMode[i] = (CUaddress_mode)options->address;
    texture.filterMode = options->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    texture.flags = (options->normalized ? (unsigned)CU_TRSF_NORMALIZED_COORDINATES : 0) |
                    (options->as_float ? 0 : (unsigned)CU_TRSF_READ_AS_INTEGER);
    status = CUDA(device, cuTexObjectCreate, &object, &memory, &texture, NULL);
    memcpy(argument->bytes, &object, sizeof object);
    return status;
}

void device_texture_free(struct device_context *device, const struct step_argument *argument)
{
    CUtexObject object;
    memcpy(&object, argument->bytes, sizeof object);
    if (object != 0)
        (void)device->driver.cuTexObjectDestroy(object);
}
