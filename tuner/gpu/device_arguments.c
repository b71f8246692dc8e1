#include "gpu/device_arguments.h"

#include "base/alloc.h"
#include "gpu/device_tensor_map.h"
#include "gpu/device_texture.h"

#include <stdlib.h>
#include <string.h>

/* --- buffers --- */

/* The buffer at `index`, one of step_arguments.h's. NULL if the launch may not use it. */
static struct device_buffer *find(const struct argument_buffers *buffers, size_t index)
{
    if (index == STEP_REFERENCE)
        return buffers->reference;
    if (index == STEP_WRONG)
        return buffers->wrong;
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
               ? device_texture_new(buffers->device, buffer, argument, error)
               : device_tensor_map_encode(buffers->device, argument->tensor_map, buffer->data,
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
            struct device_buffer *buffer = find(buffers, argument->buffer);
            status = buffer == NULL ? refuse(step, error) : 0;
            (*arguments)[i] = buffer != NULL ? &buffer->data : NULL;
        }
    }
    return status;
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
                device_texture_free(device, argument);
            if (is_object(argument->kind))
                memset(argument->bytes, 0, sizeof argument->bytes);
        }
    }
}
