#include "gpu/device_arguments.h"

#include "base/alloc.h"
#include "gpu/module.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- textures --- */

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

static int check_texture(const struct device_buffer *buffer, const struct step_argument *argument,
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

static int make_texture(struct device_context *device, const struct device_buffer *buffer,
                        struct step_argument *argument, struct error *error)
{
    const struct texture_options *options = &argument->texture;
    CUarray_format format = CU_AD_FORMAT_FLOAT;
    CUtexObject object = 0;
    int status = check_texture(buffer, argument, &format, error);
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

static void free_texture(struct device_context *device, const struct step_argument *argument)
{
    CUtexObject object;
    memcpy(&object, argument->bytes, sizeof object);
    if (object != 0)
        (void)device->driver.cuTexObjectDestroy(object);
}

/* --- buffers --- */

/* The buffer at `index`, one of launch_plan.h's. NULL if the launch may not use it. */
static const struct device_buffer *find(const struct argument_buffers *buffers, size_t index)
{
    static const struct device_buffer null = {0};
    const size_t count = buffers->template->buffer_count;
    if (index == STEP_NULL)
        return &null;
    if (index == STEP_WRONG)
        return buffers->wrong;
    if (index >= count)
        return buffers->expected != NULL ? &buffers->expected[index - count].buffer : NULL;
    if (buffers->template->buffers[index].access != ACCESS_SCRATCH)
        return &buffers->problem[index];
    return buffers->scratch != NULL ? &buffers->scratch[index] : NULL;
}

static int refuse(const struct step *step, struct error *error)
{
    return error_set(error, ERROR_CONFIG, "launch of '%s': only a reference can use 'reference'",
                     step->entry);
}

/* --- arrays of pointers --- */

static uint64_t parts_of(const struct step_pointer *pointer, const struct device_buffer *buffer)
{
    return pointer->part == 0 ? 1 : buffer->length / pointer->part;
}

/* The addresses of all parts, in order; free them. NULL if a buffer may not be used. */
static CUdeviceptr *list_addresses(const struct argument_buffers *buffers,
                                   const struct step_argument *argument, size_t *count)
{
    CUdeviceptr *addresses = NULL;
    *count = 0;
    for (size_t i = 0; i < argument->pointer_count; i++) {
        const struct step_pointer *pointer = &argument->pointers[i];
        const struct device_buffer *buffer = find(buffers, pointer->buffer);
        if (buffer == NULL) {
            free(addresses);
            return NULL;
        }
        for (uint64_t part = 0; part < parts_of(pointer, buffer); part++)
            *ARRAY_APPEND(addresses, *count) =
                buffer->data + part * pointer->part * element_bytes(buffer->type);
    }
    return addresses != NULL ? addresses : alloc_zeroed(1, sizeof *addresses);
}

static int make_pointers(const struct argument_buffers *buffers, const struct step *step,
                         struct step_argument *argument, struct error *error)
{
    struct device_context *device = buffers->device;
    CUdeviceptr array = 0;
    size_t count;
    CUdeviceptr *addresses = list_addresses(buffers, argument, &count);
    if (addresses == NULL)
        return refuse(step, error);
    size_t bytes = (count > 0 ? count : 1) * sizeof *addresses;
    int status = CUDA(device, cuMemAlloc, &array, bytes);
    memcpy(argument->bytes, &array, sizeof array);
    if (status == 0)
        status = device_upload(device, array, addresses, bytes, error);
    free(addresses);
    return status;
}

static void free_pointers(struct device_context *device, const struct step_argument *argument)
{
    CUdeviceptr array;
    memcpy(&array, argument->bytes, sizeof array);
    if (array != 0)
        (void)device->driver.cuMemFree(array);
}

/* --- all --- */

static int make_object(const struct argument_buffers *buffers, const struct step *step,
                       struct step_argument *argument, struct error *error)
{
    if (argument->kind == ARGUMENT_POINTERS)
        return make_pointers(buffers, step, argument, error);
    const struct device_buffer *buffer = find(buffers, argument->buffer);
    if (buffer == NULL)
        return refuse(step, error);
    return argument->kind == ARGUMENT_TEXTURE
               ? make_texture(buffers->device, buffer, argument, error)
               : module_encode_tensor_map(buffers->device, argument->tensor_map, buffer->data,
                                          buffer->bytes, argument->bytes, error);
}

static bool is_object(enum argument_kind kind)
{
    return kind == ARGUMENT_POINTERS || kind == ARGUMENT_TEXTURE || kind == ARGUMENT_TENSOR_MAP;
}

int device_arguments_make(const struct argument_buffers *buffers, struct step *step,
                          void ***arguments, struct error *error)
{
    int status = 0;
    *arguments = alloc_zeroed(step->argument_count, sizeof **arguments);
    for (size_t i = 0; i < step->argument_count && status == 0; i++) {
        struct step_argument *argument = &step->arguments[i];
        (*arguments)[i] = argument->bytes;
        if (is_object(argument->kind)) {
            status = make_object(buffers, step, argument, error);
        } else if (argument->kind == ARGUMENT_BUFFER) {
            const struct device_buffer *buffer = find(buffers, argument->buffer);
            status = buffer == NULL ? refuse(step, error) : 0;
            (*arguments)[i] = buffer != NULL ? (void *)(uintptr_t)&buffer->data : NULL;
        }
    }
    return status != 0 ? status : device_arguments_point(buffers, step, error);
}

int device_arguments_point(const struct argument_buffers *buffers, const struct step *step,
                           struct error *error)
{
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct step_argument *argument = &step->arguments[i];
        const struct step_pointer whole = {.buffer = argument->buffer};
        bool plain = argument->kind == ARGUMENT_BUFFER;
        size_t count = plain ? 1 : is_object(argument->kind) ? 0 : argument->pointer_count;
        for (size_t j = 0; j < count; j++) {
            const struct step_pointer *pointer = plain ? &whole : &argument->pointers[j];
            const struct device_buffer *buffer = find(buffers, pointer->buffer);
            if (buffer == NULL)
                return refuse(step, error);
            memcpy(argument->bytes + pointer->offset, &buffer->data, sizeof buffer->data);
        }
    }
    return 0;
}

bool device_arguments_fix(const struct template *template, size_t buffer)
{
    const char *name = template->buffers[buffer].name;
    for (size_t i = 0; i < template->launch_count; i++)
        for (size_t j = 0; j < template->launches[i].argument_count; j++) {
            const struct argument *argument = &template->launches[i].arguments[j];
            if (is_object(argument->kind) && argument_uses_buffer(argument, name))
                return true;
        }
    return false;
}

void device_arguments_free(struct device_context *device, struct launch_plan *launch_plan)
{
    for (size_t i = 0; i < launch_plan->step_count; i++) {
        struct step *step = &launch_plan->steps[i];
        for (size_t j = 0; j < step->argument_count; j++) {
            struct step_argument *argument = &step->arguments[j];
            if (argument->kind == ARGUMENT_POINTERS)
                free_pointers(device, argument);
            else if (argument->kind == ARGUMENT_TEXTURE)
                free_texture(device, argument);
            if (is_object(argument->kind))
                memset(argument->bytes, 0, argument->size);
        }
    }
}
