#include "loaded.h"

#include "gpu/module.h"

#include <stdbool.h>
#include <string.h>

static int take_buffers(const struct loaded_kernel *kernel, const struct tuned_buffer *buffers,
                        size_t count, CUdeviceptr *pointers, struct tuned_error *error)
{
    memcpy(pointers, kernel->scratch, sizeof kernel->scratch);
    for (size_t i = 0; i < count; i++) {
        const struct tuned_kernel_buffer *known =
            buffers[i].name != NULL ? tuned_kernel_buffer(&kernel->public, buffers[i].name) : NULL;
        if (known == NULL || known->access == TUNED_SCRATCH || known->address != 0)
            return kernels_refuse(error, TUNED_INVALID,
                                  "'%s' is not a buffer that the caller provides",
                                  buffers[i].name != NULL ? buffers[i].name : "");
        pointers[known - kernel->buffers] = buffers[i].address;
    }
    for (size_t i = 0; i < kernel->public.buffer_count; i++)
        if (pointers[i] == 0 && kernel->buffers[i].address == 0)
            return kernels_refuse(error, TUNED_INVALID, "buffer '%s' is missing",
                                  kernel->buffers[i].name);
    return 0;
}

/* What a launch's arguments point to. */
struct storage {
    void *arguments[ARGUMENTS];
    /* tensor maps, and what has scalars or addresses of the caller's; check_step() ensures that all fit */
    unsigned char changed[CHANGED_BYTES];
    size_t used;
    bool is_changed[ARGUMENTS];
};

/* Makes argument `index` a copy of the plan's bytes, unless it is one, and returns that. */
static unsigned char *change(struct storage *storage, const struct step *step, size_t index)
{
    const struct step_argument *argument = &step->arguments[index];
    if (!storage->is_changed[index]) {
        unsigned char *copy = storage->changed + storage->used;
        memcpy(copy, argument->bytes, argument->size);
        storage->used += argument_room(argument->size);
        storage->arguments[index] = copy;
        storage->is_changed[index] = true;
    }
    return storage->arguments[index];
}

/* Encodes the tensor map of `argument` over the caller's buffer into `map`. */
static int encode(const struct loaded_kernel *kernel, const struct step *step,
                  const struct step_argument *argument, CUdeviceptr address,
                  unsigned char map[TENSOR_MAP_BYTES], struct tuned_error *error)
{
    const struct tuned_kernel_buffer *buffer = &kernel->buffers[argument->buffer];
    struct error inner;
    if (module_encode_tensor_map(&kernel->kernels->device, argument->tensor_map, address,
                                 buffer->bytes, map, &inner) == 0)
        return 0;
    return kernels_refuse(error, TUNED_CUDA,
                          "the tensor map of '%s' for the launch of '%s': %s; is its address a "
                          "multiple of 16?",
                          buffer->name, step->entry, inner.message);
}

/* Puts the caller's addresses into a struct that has some. */
static void point(struct storage *storage, const struct step *step, size_t index,
                  const CUdeviceptr *pointers)
{
    const struct step_argument *argument = &step->arguments[index];
    for (size_t i = 0; i < argument->pointer_count; i++) {
        const struct step_pointer *pointer = &argument->pointers[i];
        if (pointer->buffer != STEP_NULL)
            memcpy(change(storage, step, index) + pointer->offset, &pointers[pointer->buffer],
                   sizeof *pointers);
    }
}

/* Points to the plan's bytes, and to copies of tensor maps and of what depends on a buffer or scalar that is
 * given. */
static int fill_storage(const struct loaded_kernel *kernel, size_t index, CUdeviceptr *pointers,
                        const struct given *given, struct storage *storage,
                        struct tuned_error *error)
{
    const struct step *step = &kernel->launch_plan.steps[index];
    int code = 0;
    storage->used = 0;
    for (size_t i = 0; i < step->argument_count && code == 0; i++) {
        struct step_argument *argument = &step->arguments[i];
        bool buffer = argument->kind == ARGUMENT_BUFFER && argument->buffer != STEP_NULL;
        storage->is_changed[i] = false;
        storage->arguments[i] =
            buffer ? (void *)&pointers[argument->buffer] : (void *)argument->bytes;
        if (argument->kind == ARGUMENT_TENSOR_MAP)
            code = encode(kernel, step, argument, pointers[argument->buffer],
                          change(storage, step, i), error);
        point(storage, step, i, pointers);
    }
    for (size_t i = 0; i < kernel->scalars.place_count && code == 0; i++) {
        const struct scalar_place *place = &kernel->scalars.places[i];
        if (place->step == index && (place->uses & given->mask) != 0)
            code = scalars_store(kernel, place, given,
                                 change(storage, step, place->argument) + place->offset, error);
    }
    return code;
}

static int launch(const struct loaded_kernel *kernel, size_t index, CUdeviceptr *pointers,
                  const struct given *given, CUstream stream, struct tuned_error *error)
{
    const struct tuned_launch *launch = &kernel->launches[index];
    const struct driver *driver = &kernel->kernels->device.driver;
    struct storage storage;
    int code = fill_storage(kernel, index, pointers, given, &storage, error);
    if (code != 0)
        return code;
    CUresult result = module_launch(driver, &kernel->launch_plan.steps[index], launch->function,
                                    stream, storage.arguments);
    return result == CUDA_SUCCESS
               ? 0
               : kernels_refuse(error, TUNED_CUDA, "the launch of '%s' failed: %s", launch->entry,
                                driver_error_name(driver, result));
}

/* All of them, before anything is launched. */
static int check_scalars(const struct loaded_kernel *kernel, const struct given *given,
                         struct tuned_error *error)
{
    unsigned char bytes[SCALAR_BYTES];
    int code = 0;
    for (size_t i = 0; i < kernel->scalars.place_count && code == 0; i++)
        if ((kernel->scalars.places[i].uses & given->mask) != 0)
            code = scalars_store(kernel, &kernel->scalars.places[i], given, bytes, error);
    return code;
}

int tuned_kernel_launch(const struct tuned_kernel *kernel, const struct tuned_buffer *buffers,
                        size_t buffer_count, const struct tuned_value *scalars, size_t scalar_count,
                        struct CUstream_st *stream, struct tuned_error *error)
{
    const struct loaded_kernel *loaded = (const struct loaded_kernel *)kernel;
    CUdeviceptr pointers[BUFFERS];
    struct given given;
    int code = take_buffers(loaded, buffers, buffer_count, pointers, error);
    if (code == 0)
        code = scalars_give(loaded, scalars, scalar_count, &given, error);
    if (code == 0)
        code = check_scalars(loaded, &given, error);
    for (size_t i = 0; i < kernel->launch_count && code == 0; i++)
        code = launch(loaded, i, pointers, &given, stream, error);
    return code;
}
