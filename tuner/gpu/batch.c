#include "gpu/batch.h"

#include "base/alloc.h"
#include "gpu/device_arguments.h"
#include "gpu/device_code.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES = BATCH_RUNS - 1, ALIGNMENT = 512, MAX_PITCH = INT32_MAX };

struct batch {
    CUgraphExec graphs[CODE_COPIES]; /* one per copy of the code; NULL: none (yet) */
    bool tried[CODE_COPIES];
    size_t current;                /* index into graphs */
    struct device_buffer *scratch; /* COPIES contiguous copies of each scratch buffer */
    bool out_of_memory;
};

/* --- copies --- */

static uint64_t stride_of(const struct device_buffer *buffer)
{
    return (buffer->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether each run has a copy of its own of buffer `index`. */
static bool is_copied(const struct device_problem *problem, size_t index)
{
    const struct buffer *buffer = &problem->template.buffers[index];
    return buffer->symbol == NULL &&
           (problem->cold || buffer->access == ACCESS_WRITE || buffer_is_work(buffer));
}

/* The poison that run `run` starts from: any two consecutive runs see both a large number and a small one. */
static enum poison poison_of(size_t run)
{
    return run % 2 == 0 ? POISON_LARGE : POISON_SMALL;
}

/* Sets `*fits` if the copies of `buffers` take at most an eighth of the free memory, and the driver takes
 * two strides for the pitch of a memset. */
static int check_memory(struct device_problem *problem, const struct device_buffer *buffers,
                        bool *fits, struct error *error)
{
    struct device_context *device = problem->device;
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    uint64_t bytes = 0;
    int status = CUDA(device, cuMemGetInfo, &free_bytes, &all_bytes);
    *fits = status == 0;
    for (size_t i = 0; i < problem->template.buffer_count; i++) {
        uint64_t stride = is_copied(problem, i) ? stride_of(&buffers[i]) : 0;
        bytes += COPIES * stride;
        *fits = *fits && bytes <= free_bytes / 8 && stride <= MAX_PITCH / 2;
    }
    return status;
}

/* Fills the copies with a buffer's current contents. */
static int fill_copies(struct device_context *device, const struct device_buffer *own,
                       const struct device_buffer *copies, struct error *error)
{
    uint64_t stride = stride_of(own);
    int status = 0;
    for (size_t run = 0; run < COPIES && status == 0; run++)
        status = CUDA(device, cuMemcpyDtoDAsync, copies->data + run * stride, own->data, own->bytes,
                      device->stream);
    return status;
}

static void free_copies(struct device_problem *problem, struct device_buffer *copies)
{
    for (size_t i = 0; copies != NULL && i < problem->template.buffer_count; i++)
        device_buffer_free(problem->device, &copies[i]);
    free(copies);
}

/* Copies `buffers`, into `arena` if they fit; `*copies` stays NULL if memory is short. */
static int copy_buffers(struct device_problem *problem, const struct device_buffer *buffers,
                        struct device_arena *arena, struct device_buffer **copies,
                        struct error *error)
{
    bool fits;
    struct device_context *device = problem->device;
    int status = check_memory(problem, buffers, &fits, error);
    if (status != 0 || !fits)
        return status;
    struct device_buffer *made = alloc_zeroed(problem->template.buffer_count, sizeof *made);
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++) {
        if (buffers[i].bytes == 0 || !is_copied(problem, i))
            continue;
        status = device_buffer_new(device, &made[i], arena, ELEMENT_UINT8,
                                   COPIES * stride_of(&buffers[i]), error);
        if (status == 0)
            status = fill_copies(device, &buffers[i], &made[i], error);
    }
    if (status == 0)
        *copies = made;
    else
        free_copies(problem, made);
    return status == ERROR_DEVICE && device->last == CUDA_ERROR_OUT_OF_MEMORY ? 0 : status;
}

/* --- the graph --- */

/* Makes the launches that follow use the copies of `run`: their arguments point into `buffers`. */
static void point_to_copies(struct device_buffer *buffers, const struct device_buffer *copies,
                            size_t count, size_t run)
{
    for (size_t i = 0; copies != NULL && i < count; i++)
        if (copies[i].base != 0)
            buffers[i].data = copies[i].data + run * stride_of(&buffers[i]);
}

/* Queues all runs, the last on the problem's and the variant's own buffers. */
static int queue_runs(const struct batches *batches, const struct batch *batch,
                      struct device_variant *variant, struct error *error)
{
    struct device_problem *problem = batches->problem;
    size_t count = problem->template.buffer_count;
    int status = 0;
    if (variant == NULL) {
        for (size_t run = 0; run < BATCH_RUNS && status == 0; run++)
            status = device_launch_single(problem->device, SUPPORT_empty, NULL, error);
        return status;
    }
    size_t bytes = count * sizeof(struct device_buffer);
    struct device_buffer *own = alloc_zeroed(2 * count, sizeof *own);
    memcpy(own, variant->data.buffers, bytes);
    memcpy(own + count, variant->scratch, bytes);
    for (size_t run = 0; run < COPIES && status == 0; run++) {
        point_to_copies(variant->data.buffers, batches->copies, count, run);
        point_to_copies(variant->scratch, batch->scratch, count, run);
        status = device_variant_run(variant, problem, error);
    }
    memcpy(variant->data.buffers, own, bytes);
    memcpy(variant->scratch, own + count, bytes);
    free(own);
    return status != 0 ? status : device_variant_run(variant, problem, error);
}

/* Captures the runs into `*made`; leaves it NULL if the driver cannot capture them. */
static int capture(const struct batches *batches, const struct batch *batch,
                   struct device_variant *variant, CUgraphExec *made, struct error *error)
{
    struct device_context *device = batches->problem->device;
    CUgraph graph = NULL;
    int status =
        CUDA(device, cuStreamBeginCapture, device->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (status == 0) {
        status = queue_runs(batches, batch, variant, error);
        CUresult ended = device->driver.cuStreamEndCapture(device->stream, &graph);
        if (status == 0)
            status = device_check(device, ended, "cuStreamEndCapture", error);
    }
    if (status == 0)
        status = CUDA(device, cuGraphInstantiateWithFlags, made, graph, 0);
    if (status != 0)
        *made = NULL;
    if (graph != NULL)
        (void)device->driver.cuGraphDestroy(graph);
    /* Nothing has run yet. If the context still works, the driver refused only the graph. */
    return status != 0 ? device_synchronise(device, error) : 0;
}

/* --- batches --- */

static bool has_constant(const struct batches *batches, size_t buffer)
{
    return batches->copies != NULL && batches->copies[buffer].base != 0 &&
           batches->problem->template.buffers[buffer].access == ACCESS_READ;
}

/* Fills the copies with the problem's buffers as they are now, and notes what no variant may change: nothing
 * if this fails, and the next batch renews them. */
static int renew_copies(struct batches *batches, struct error *error)
{
    struct device_problem *problem = batches->problem;
    struct device_context *device = problem->device;
    int status = 0;
    batches->refills = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++) {
        if (!has_constant(batches, i))
            continue;
        status = CUDA(device, cuMemsetD8Async, batches->copies[i].data, 0, batches->copies[i].bytes,
                      device->stream);
        if (status == 0)
            status = fill_copies(device, &problem->data.buffers[i], &batches->copies[i], error);
        if (status == 0)
            status =
                CUDA(device, cuMemsetD8Async, batches->sum, 0, sizeof(uint64_t), device->stream);
        if (status == 0)
            status = device_buffer_fingerprint(device, &batches->copies[i], batches->sum, error);
        if (status == 0)
            status = CUDA(device, cuMemcpyDtoHAsync, &batches->fingerprints[i], batches->sum,
                          sizeof(uint64_t), device->stream);
        if (status == 0)
            status = device_synchronise(device, error);
    }
    if (status == 0)
        batches->refills = problem->store.refills;
    return status;
}

/*
 * Whether a run would not find a buffer as a single one does: it is not copied and the run before has changed
 * it, as a variable of the source; or it is copied, but its copies cannot take its place, because its address
 * is in a texture, a tensor map or an array of pointers, or it depends on a parameter, while the copies are
 * made once.
 */
static bool prevents_batches(const struct device_problem *problem, size_t index)
{
    const struct template *template = &problem->template;
    const struct buffer *buffer = &template->buffers[index];
    if (is_copied(problem, index))
        return device_arguments_fix(template, index) ||
               (buffer->access != ACCESS_SCRATCH && buffer->depends != 0);
    return buffer->access == ACCESS_READ_WRITE ||
           (buffer->symbol != NULL && buffer->access != ACCESS_READ);
}

/* Makes the copies that all batches share, on the first call, and renews them if the data were made
 * again. */
static int share_copies(struct batches *batches, struct device_problem *problem,
                        struct error *error)
{
    struct device_context *device = problem->device;
    if (batches->problem != NULL)
        return batches->copies == NULL || batches->refills == problem->store.refills
                   ? 0
                   : renew_copies(batches, error);
    batches->problem = problem;
    /* they are set once, before all runs, with the addresses of the last */
    batches->impossible = problem->template.constants.argument_count > 0;
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        batches->impossible = batches->impossible || prevents_batches(problem, i);
    if (batches->impossible)
        return 0;
    batches->fingerprints =
        alloc_zeroed(problem->template.buffer_count, sizeof *batches->fingerprints);
    int status = CUDA(device, cuMemAlloc, &batches->sum, sizeof(uint64_t));
    if (status == 0)
        status = copy_buffers(problem, problem->data.buffers, NULL, &batches->copies, error);
    batches->impossible = batches->copies == NULL;
    return status != 0 || batches->impossible ? status : renew_copies(batches, error);
}

const struct device_buffer *batches_constant(const struct batches *batches, size_t buffer,
                                             uint64_t *fingerprint)
{
    if (batches->refills == 0 || !has_constant(batches, buffer))
        return NULL;
    if (fingerprint != NULL)
        *fingerprint = batches->fingerprints[buffer];
    return &batches->copies[buffer];
}

/* Makes a batch without graphs, with its copies of the variant's scratch buffers. */
static int make(const struct batches *batches, const struct device_variant *variant,
                struct batch **batch, struct error *error)
{
    struct device_problem *problem = batches->problem;
    struct batch *made = alloc_zeroed(1, sizeof *made);
    int status = 0;
    *batch = made;
    if (variant == NULL)
        return 0;
    status = copy_buffers(problem, variant->scratch, &problem->arena, &made->scratch, error);
    made->out_of_memory = made->scratch == NULL;
    return status;
}

/* Runs once without capturing: a function's first launch may do work that the driver refuses to do
 * in a capture. */
static int run_first(struct device_problem *problem, struct device_variant *variant,
                     struct error *error)
{
    if (variant == NULL)
        return device_launch_single(problem->device, SUPPORT_empty, NULL, error);
    int status = device_variant_reset(variant, problem, error);
    return status != 0 ? status : device_variant_run(variant, problem, error);
}

/* Runs the current graph once, because the first launch of a graph costs extra. Destroys the graph
 * if the driver refuses to launch it (out of memory), and then runs once without it: nothing may be left
 * poisoned that is checked next. */
static int run_graph(const struct batches *batches, struct batch *batch,
                     struct device_variant *variant, struct error *error)
{
    struct device_context *device = batches->problem->device;
    int status = batch_reset(batches, batch, variant, error);
    if (status != 0)
        return status;
    status = batch_run(batches, batch, error);
    if (status != 0) {
        (void)device->driver.cuGraphExecDestroy(batch->graphs[batch->current]);
        batch->graphs[batch->current] = NULL;
        status = run_first(batches->problem, variant, error); /* fails if the context is lost */
    }
    return status != 0 ? status : device_synchronise(device, error);
}

/* Makes the graph of the current copy of the code and runs it once. */
static int add_graph(const struct batches *batches, struct batch *batch,
                     struct device_variant *variant, struct error *error)
{
    batch->tried[batch->current] = true;
    int status = run_first(batches->problem, variant, error);
    if (status == 0)
        status = capture(batches, batch, variant, &batch->graphs[batch->current], error);
    if (status != 0 || batch->graphs[batch->current] == NULL)
        return status;
    return run_graph(batches, batch, variant, error);
}

int batch_prepare(struct batches *batches, struct device_problem *problem,
                  struct device_variant *variant, struct batch **batch, bool *ready,
                  struct error *error)
{
    *ready = false;
    int status = share_copies(batches, problem, error);
    if (status == 0 && !batches->impossible && *batch == NULL)
        status = make(batches, variant, batch, error);
    if (status != 0 || *batch == NULL || (*batch)->out_of_memory)
        return status;
    (*batch)->current = variant != NULL ? variant->copy : 0;
    if (!(*batch)->tried[(*batch)->current])
        status = add_graph(batches, *batch, variant, error);
    *ready = status == 0 && (*batch)->graphs[(*batch)->current] != NULL;
    return status;
}

int batch_run(const struct batches *batches, const struct batch *batch, struct error *error)
{
    struct device_context *device = batches->problem->device;
    return CUDA(device, cuGraphLaunch, batch->graphs[batch->current], device->stream);
}

/* Poisons the copies of every other run, from `run` on. */
static int poison_copies(struct device_context *device, struct device_variant *variant,
                         size_t index, const struct device_buffer *own,
                         const struct device_buffer *copies, size_t run, struct error *error)
{
    uint64_t stride = stride_of(own);
    variant->poison = poison_of(run);
    return CUDA(device, cuMemsetD2D8Async, copies->data + run * stride, 2 * stride,
                device_variant_poison(variant, index, own->type), stride, (COPIES + 1 - run) / 2,
                device->stream);
}

/* Of the copies: the same as device_variant_reset_to() of each run. */
static int reset_copies(const struct batches *batches, const struct batch *batch,
                        struct device_variant *variant, size_t index, struct error *error)
{
    struct device_problem *problem = batches->problem;
    struct device_context *device = problem->device;
    const struct buffer *buffer = &problem->template.buffers[index];
    bool scratch = buffer->access == ACCESS_SCRATCH;
    const struct device_buffer *own =
        scratch ? &variant->scratch[index] : &variant->data.buffers[index];
    const struct device_buffer *copies = scratch ? &batch->scratch[index] : &batches->copies[index];
    if (copies->base == 0)
        return 0;
    if (buffer->access == ACCESS_READ_WRITE)
        return fill_copies(device, &problem->data.pristine[index], copies, error);
    if (buffer->access != ACCESS_WRITE && !buffer_is_work(buffer))
        return 0;
    int status = poison_copies(device, variant, index, own, copies, 0, error);
    return status != 0 ? status : poison_copies(device, variant, index, own, copies, 1, error);
}

int batch_reset(const struct batches *batches, const struct batch *batch,
                struct device_variant *variant, struct error *error)
{
    int status = 0;
    if (variant == NULL)
        return 0;
    for (size_t i = 0; i < batches->problem->template.buffer_count && status == 0; i++)
        status = reset_copies(batches, batch, variant, i, error);
    return status != 0
               ? status
               : device_variant_reset_to(variant, batches->problem, poison_of(COPIES), error);
}

size_t batch_reset_calls(const struct batches *batches)
{
    const struct device_problem *problem = batches->problem;
    size_t calls = device_variant_reset_calls(problem);
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        calls += problem->template.buffers[i].access == ACCESS_READ_WRITE ? COPIES : 2;
    return calls;
}

int batch_show(const struct batches *batches, struct device_variant *variant, size_t run,
               struct error *error)
{
    struct device_problem *problem = batches->problem;
    struct device_context *device = problem->device;
    int status = 0;
    variant->poison = poison_of(run);
    for (size_t i = 0; i < problem->template.buffer_count && status == 0 && run < COPIES; i++) {
        const struct device_buffer *own = &variant->data.buffers[i];
        const struct device_buffer *copies = &batches->copies[i];
        if (copies->base != 0 && problem->template.buffers[i].access != ACCESS_READ)
            status = CUDA(device, cuMemcpyDtoDAsync, own->data, copies->data + run * stride_of(own),
                          own->bytes, device->stream);
    }
    return status;
}

const struct device_buffer *batch_scratch(const struct batch *batch, size_t index)
{
    return batch != NULL && batch->scratch != NULL && batch->scratch[index].base != 0
               ? &batch->scratch[index]
               : NULL;
}

void batch_free(const struct batches *batches, struct batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t i = 0; i < CODE_COPIES; i++)
        if (batch->graphs[i] != NULL)
            (void)batches->problem->device->driver.cuGraphExecDestroy(batch->graphs[i]);
    free_copies(batches->problem, batch->scratch);
    free(batch);
}

void batches_release(struct batches *batches)
{
    if (batches->problem != NULL)
        free_copies(batches->problem, batches->copies);
    if (batches->sum != 0)
        (void)batches->problem->device->driver.cuMemFree(batches->sum);
    free(batches->fingerprints);
    *batches = (struct batches){0};
}
