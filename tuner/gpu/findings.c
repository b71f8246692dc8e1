#include "gpu/findings.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { EXPECTATION_SLOTS = SUMS + 1, BUFFER_SLOTS = FOUND_OF_BUFFER, VERIFIER_SLOTS = SUMS + 1 };

/* --- slots --- */

static size_t expectation_slot(size_t index)
{
    return EXPECTATION_SLOTS * index;
}

static size_t buffer_slot(const struct device_problem *problem, size_t index)
{
    return expectation_slot(problem->template.expectation_count) + BUFFER_SLOTS * index;
}

static size_t verifier_slot(const struct device_problem *problem, size_t index)
{
    return buffer_slot(problem, problem->template.buffer_count) + VERIFIER_SLOTS * index;
}

static size_t arena_slot(const struct device_problem *problem)
{
    return verifier_slot(problem, problem->template.verifier_count);
}

static size_t slot_count(const struct device_problem *problem)
{
    return arena_slot(problem) + SUMS;
}

static CUdeviceptr slot_pointer(const struct device_problem *problem, size_t slot)
{
    return problem->slots + slot * sizeof(uint64_t);
}

int findings_init(struct device_problem *problem, struct error *error)
{
    size_t bytes = slot_count(problem) * sizeof(uint64_t);
    void *values = NULL;
    int status = CUDA(problem->device, cuMemAllocHost, &values, bytes);
    problem->slot_values = values;
    return status != 0 ? status : CUDA(problem->device, cuMemAlloc, &problem->slots, bytes);
}

const uint64_t *findings_of_expectation(const struct device_problem *problem, size_t index)
{
    return &problem->slot_values[expectation_slot(index)];
}

const uint64_t *findings_of_buffer(const struct device_problem *problem, size_t index)
{
    return &problem->slot_values[buffer_slot(problem, index)];
}

const uint64_t *findings_of_verifier(const struct device_problem *problem, size_t index)
{
    return &problem->slot_values[verifier_slot(problem, index)];
}

const uint64_t *findings_of_arena(const struct device_problem *problem)
{
    return &problem->slot_values[arena_slot(problem)];
}

int findings_clear(struct device_problem *problem, struct error *error)
{
    return CUDA(problem->device, cuMemsetD8Async, problem->slots, 0,
                slot_count(problem) * sizeof(uint64_t), problem->device->stream);
}

int findings_fetch(struct device_problem *problem, struct error *error)
{
    int status = CUDA(problem->device, cuMemcpyDtoHAsync, problem->slot_values, problem->slots,
                      slot_count(problem) * sizeof(uint64_t), problem->device->stream);
    return status != 0 ? status : device_synchronise(problem->device, error);
}

/* --- queueing the checks --- */

static int read_tolerance(const struct device_problem *problem,
                          const struct device_variant *variant, const struct expression *tolerance,
                          double *value, struct error *error)
{
    const struct scope outer = {&problem->fixed, NULL};
    const struct scope scope = {&variant->parameters, &outer};
    return tolerance != NULL ? expression_real(tolerance, &scope, value, error) : 0;
}

int findings_compare(struct device_problem *problem, const struct device_variant *variant,
                     size_t index, uint64_t first, struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const struct device_buffer *reference = &variant->data.expected[index];
    double absolute = 0;
    double relative = 0;
    int status = read_tolerance(problem, variant, expectation->absolute, &absolute, error);
    if (status == 0)
        status = read_tolerance(problem, variant, expectation->relative, &relative, error);
    if (status != 0)
        return status;
    CUdeviceptr out_data = out->data + first * element_bytes(out->type);
    CUdeviceptr reference_data = reference->data + first * element_bytes(reference->type);
    CUdeviceptr result = slot_pointer(problem, expectation_slot(index));
    int type = (int)out->type;
    int reference_type = (int)reference->type;
    int exact = expectation->compare == COMPARE_EXACT;
    int nan_equal = expectation->nan_equal;
    int poison = device_variant_poison(variant, expectation->buffer, out->type);
    int reference_poison = element_poison(reference->type);
    unsigned long long count = out->length - first;
    void *arguments[] = {&out_data,  &type,   &reference_data,   &reference_type,
                         &count,     &exact,  &absolute,         &relative,
                         &nan_equal, &poison, &reference_poison, &result};
    return device_launch_support(problem->device, SUPPORT_compare, count, arguments, error);
}

static int queue_expectation(struct device_problem *problem, const struct device_variant *variant,
                             size_t index, struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    if (expectation->compare == COMPARE_NONE)
        return 0;
    return expectation->compare == COMPARE_UNORDERED
               ? inspect_sums(problem->device, &variant->data.buffers[expectation->buffer],
                              element_poison(variant->data.buffers[expectation->buffer].type),
                              slot_pointer(problem, expectation_slot(index)), error)
               : findings_compare(problem, variant, index, 0, error);
}

static int queue_guards(struct device_problem *problem, const struct device_variant *variant,
                        struct error *error)
{
    size_t count = problem->template.buffer_count;
    struct inspect_guard *guards = alloc_zeroed(count, sizeof *guards);
    for (size_t i = 0; i < count; i++) {
        bool scratch = problem->template.buffers[i].access == ACCESS_SCRATCH;
        guards[i].buffer = scratch ? &variant->scratch[i] : &variant->data.buffers[i];
        guards[i].damaged = slot_pointer(problem, buffer_slot(problem, i) + FOUND_DAMAGED);
    }
    int status = inspect_guards(problem->device, guards, count, error);
    free(guards);
    return status;
}

int findings_queue(struct device_problem *problem, const struct device_variant *variant,
                   struct error *error)
{
    int status = findings_clear(problem, error);
    if (status == 0)
        status = device_variant_pull(variant, problem, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = queue_expectation(problem, variant, i, error);
    return status != 0 ? status : queue_guards(problem, variant, error);
}

/* Of a read buffer itself, of the initial contents of a read_write one, and of their copies. */
static int queue_buffer(struct device_problem *problem, const struct device_variant *variant,
                        const struct batches *batches, size_t index, struct error *error)
{
    enum buffer_access access = problem->template.buffers[index].access;
    const struct device_buffer *constant =
        access == ACCESS_READ ? &variant->data.buffers[index] : &variant->data.pristine[index];
    const struct device_buffer *copies =
        batches != NULL ? batches_constant(batches, index, NULL) : NULL;
    size_t slot = buffer_slot(problem, index);
    int status = 0;
    if (constant->base != 0)
        status = inspect_fingerprint(problem->device, constant,
                                     slot_pointer(problem, slot + FOUND_CONSTANT), error);
    if (status == 0 && copies != NULL)
        status = inspect_fingerprint(problem->device, copies,
                                     slot_pointer(problem, slot + FOUND_COPIES), error);
    return status;
}

int findings_queue_constants(struct device_problem *problem, const struct device_variant *variant,
                             const struct batches *batches, struct error *error)
{
    const struct device_buffer rest = device_arena_rest(&problem->arena);
    int status = 0;
    if (rest.base != 0)
        status = inspect_sums(problem->device, &rest, element_poison(rest.type),
                              slot_pointer(problem, arena_slot(problem)), error);
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        status = queue_buffer(problem, variant, batches, i, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status =
            inspect_fingerprint(problem->device, &variant->data.expected[i],
                                slot_pointer(problem, expectation_slot(i) + FOUND_EXPECTED), error);
    return status;
}

/* --- verifiers --- */

static int run_verifier(struct device_problem *problem, struct device_variant *variant,
                        size_t index, struct error *error)
{
    const struct verifier *verifier = &problem->template.verifiers[index];
    const struct scope outer = {&problem->fixed, NULL};
    const struct scope scope = {&variant->parameters, &outer};
    CUdeviceptr sums = slot_pointer(problem, verifier_slot(problem, index));
    struct device_buffer wrong = {.data = sums + FOUND_WRONG * sizeof(uint64_t),
                                  .type = ELEMENT_UINT64,
                                  .length = 1,
                                  .bytes = sizeof(uint64_t)};
    struct helper_run run = {.launch = &verifier->launch,
                             .what = "verifier",
                             .elements = variant->data.buffers[verifier->buffer].length,
                             .data = &variant->data,
                             .wrong = &wrong};
    if (verifier->expectation < problem->template.expectation_count)
        run.reference = &variant->data.expected[verifier->expectation];
    int status = inspect_sums(problem->device, &variant->data.buffers[verifier->buffer],
                              device_variant_poison(variant, verifier->buffer,
                                                    variant->data.buffers[verifier->buffer].type),
                              sums, error);
    return status != 0 ? status : helper_code_run(&problem->helpers, &run, &scope, error);
}

int findings_verify(struct device_problem *problem, struct device_variant *variant,
                    struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < problem->template.verifier_count && status == 0; i++)
        status = run_verifier(problem, variant, i, error);
    return status != 0 || problem->template.verifier_count == 0 ? status
                                                                : findings_fetch(problem, error);
}
