#include "gpu/device_problem.h"

#include "base/alloc.h"
#include "record/gpu.h"

#include <stdlib.h>
#include <string.h>

static int make_flush(struct device_problem *problem, struct error *error)
{
    struct device_context *device = problem->device;
    if (!problem->cold)
        return 0;
    problem->flush_bytes = FLUSH_L2_TIMES * (uint64_t)device->gpu.attributes[GPU_l2_bytes];
    int status = CUDA(device, cuMemAlloc, &problem->flush, problem->flush_bytes + 16);
    if (status == 0)
        status = CUDA(device, cuMemsetD8Async, problem->flush, 1, problem->flush_bytes + 16,
                      device->stream);
    return status;
}

/* Fails before anything is allocated if the problem does not fit. Sets `*free_bytes` to the free
 * GPU memory. */
static int check_memory(struct device_problem *problem, const struct problem_request *request,
                        size_t *free_bytes, struct error *error)
{
    struct device_context *device = problem->device;
    size_t all_bytes = 0;
    problem->footprint = footprint_of(&problem->template, &problem->fixed, NULL, problem->cold);
    int status = CUDA(device, cuMemGetInfo, free_bytes, &all_bytes);
    if (status != 0 || problem->footprint.bytes <= *free_bytes)
        return status;
    return footprint_refuse(&problem->footprint, &problem->template, request->problem, *free_bytes,
                            "are free", error);
}

/* What no parameter changes. */
static int make_data(struct device_problem *problem, const struct problem_request *request,
                     struct error *error)
{
    struct device_context *device = problem->device;
    const struct template *template = &problem->template;
    int status = helper_code_load(&problem->helpers, device, template, request->helpers, error);
    device_data_init(&problem->data, template);
    if (status == 0)
        status = data_store_init(&problem->store, device, template, &problem->fixed,
                                 &problem->helpers, error);
    return status != 0 ? status : data_store_take(&problem->store, NULL, 0, &problem->data, error);
}

/* Half of the free memory is for what parameters change, and an eighth for more places of buffers;
 * scratch buffers and batches need some, too. */
static int limit_store(struct device_problem *problem, struct error *error)
{
    struct device_context *device = problem->device;
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    int status = CUDA(device, cuMemGetInfo, &free_bytes, &all_bytes);
    problem->store.limit_bytes = data_store_is_dependent(&problem->store) ? free_bytes / 2 : 0;
    problem->store.place_bytes = free_bytes / 8;
    return status;
}

int device_problem_open(struct device_problem *problem, struct device_context *device,
                        const struct problem_request *request, struct error *error)
{
    *problem = (struct device_problem){
        .device = device, .template = *request->template, .cold = request->cold};
    *request->template = (struct template){0};
    size_t free_bytes = 0;
    device->last = CUDA_SUCCESS;
    bindings_append(&problem->fixed, request->problem);
    gpu_bindings(&device->gpu, &problem->fixed);
    int status = check_memory(problem, request, &free_bytes, error);
    if (status == 0)
        status = make_data(problem, request, error);
    if (status == 0)
        status = make_flush(problem, error);
    if (status == 0)
        status = device_arena_new(device, &problem->arena, ARENA_BYTES, error);
    if (status == 0)
        status = limit_store(problem, error);
    /* out of memory after all: the driver rounds up, or another process took the memory */
    if (status == ERROR_DEVICE && device->last == CUDA_ERROR_OUT_OF_MEMORY)
        status = footprint_refuse(&problem->footprint, &problem->template, request->problem,
                                  free_bytes, "are free", error);
    if (status != 0)
        device_problem_close(problem);
    return status;
}

void device_problem_close(struct device_problem *problem)
{
    struct device_context *device = problem->device;
    data_store_release(&problem->store);
    device_data_release(&problem->data);
    helper_code_unload(&problem->helpers);
    if (problem->slots != 0)
        (void)device->driver.cuMemFree(problem->slots);
    if (problem->flush != 0)
        (void)device->driver.cuMemFree(problem->flush);
    device_arena_free(device, &problem->arena);
    if (problem->slot_values != NULL)
        (void)device->driver.cuMemFreeHost(problem->slot_values);
    bindings_release(&problem->fixed);
    template_release(&problem->template);
    *problem = (struct device_problem){0};
}
