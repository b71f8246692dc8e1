#include "gpu/verify.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The findings are 64-bit slots. Each expectation has a comparison {mismatches, ~first, unwritten}
 * or a checksum {ordered, unordered, poisoned, positions of poison}. Each buffer has a checksum
 * (inputs only) and the number of damaged guard bytes.
 */
enum { EXPECTATION_SLOTS = 4, BUFFER_SLOTS = 5, GUARD_SLOT = 4 };

/* Smaller elements can equal the poison by chance. */
enum { POISON_BYTES = 4 };

static size_t slot_count(const struct device_problem *problem)
{
    return EXPECTATION_SLOTS * problem->template.expectation_count +
           BUFFER_SLOTS * problem->template.buffer_count;
}

static size_t expectation_slot(size_t index)
{
    return EXPECTATION_SLOTS * index;
}

static size_t buffer_slot(const struct device_problem *problem, size_t index)
{
    return EXPECTATION_SLOTS * problem->template.expectation_count + BUFFER_SLOTS * index;
}

static CUdeviceptr slot_pointer(const struct device_problem *problem, size_t slot)
{
    return problem->slots + slot * sizeof(uint64_t);
}

static const struct device_buffer *buffer_of(const struct device_problem *problem,
                                             const struct device_variant *variant, size_t index)
{
    bool scratch = problem->template.buffers[index].access == ACCESS_SCRATCH;
    return scratch ? &variant->scratch[index] : &problem->buffers[index];
}

/* --- queueing the checks --- */

static int queue_checksum(struct device_problem *problem, const struct device_buffer *buffer,
                          size_t slot, struct error *error)
{
    CUdeviceptr data = buffer->data;
    CUdeviceptr sums = slot_pointer(problem, slot);
    int bytes = (int)element_bytes(buffer->type);
    int poison = element_poison(buffer->type);
    unsigned long long count = buffer->length;
    void *arguments[] = {&data, &bytes, &count, &poison, &sums};
    return device_launch_support(problem->device, SUPPORT_checksum, count, arguments, error);
}

static int read_tolerance(const struct device_problem *problem, const struct expression *tolerance,
                          double *value, struct error *error)
{
    struct scope scope = {&problem->fixed, NULL};
    return tolerance != NULL ? expression_real(tolerance, &scope, value, error) : 0;
}

/* Compares the elements from `first` on. */
static int queue_compare(struct device_problem *problem, size_t index, uint64_t first,
                         struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &problem->buffers[expectation->buffer];
    const struct device_buffer *reference = &problem->expected[index];
    double absolute = 0;
    double relative = 0;
    int status = read_tolerance(problem, expectation->absolute, &absolute, error);
    if (status == 0)
        status = read_tolerance(problem, expectation->relative, &relative, error);
    if (status != 0)
        return status;
    CUdeviceptr out_data = out->data + first * element_bytes(out->type);
    CUdeviceptr reference_data = reference->data + first * element_bytes(reference->type);
    CUdeviceptr result = slot_pointer(problem, expectation_slot(index));
    int type = (int)out->type;
    int reference_type = (int)reference->type;
    int exact = expectation->compare == COMPARE_EXACT;
    int nan_equal = expectation->nan_equal;
    int poison = element_poison(out->type);
    unsigned long long count = out->length - first;
    void *arguments[] = {&out_data, &type,     &reference_data, &reference_type, &count, &exact,
                         &absolute, &relative, &nan_equal,      &poison,         &result};
    return device_launch_support(problem->device, SUPPORT_compare, count, arguments, error);
}

static int queue_expectation(struct device_problem *problem, size_t index, struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    return expectation->compare == COMPARE_UNORDERED
               ? queue_checksum(problem, &problem->buffers[expectation->buffer],
                                expectation_slot(index), error)
               : queue_compare(problem, index, 0, error);
}

/* Must match device_kernels.cu. */
enum { GUARDS = 16 };
struct guards {
    CUdeviceptr guard[GUARDS];
    CUdeviceptr damaged[GUARDS];
};

static int launch_guards(struct device_problem *problem, struct guards *guards, int count,
                         struct error *error)
{
    int pattern = GUARD_PATTERN;
    void *arguments[] = {guards, &count, &pattern};
    if (count == 0)
        return 0;
    return device_launch_support(problem->device, SUPPORT_check_guards, (uint64_t)count * 256,
                                 arguments, error);
}

/* Checks all buffers' guards, GUARDS per launch. */
static int queue_guards(struct device_problem *problem, const struct device_variant *variant,
                        struct error *error)
{
    struct guards guards;
    int count = 0;
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++) {
        const struct device_buffer *buffer = buffer_of(problem, variant, i);
        CUdeviceptr damaged = slot_pointer(problem, buffer_slot(problem, i) + GUARD_SLOT);
        guards.guard[count] = buffer->base;
        guards.damaged[count++] = damaged;
        guards.guard[count] = buffer->data + buffer->bytes;
        guards.damaged[count++] = damaged;
        if (count == GUARDS) {
            status = launch_guards(problem, &guards, count, error);
            count = 0;
        }
    }
    return status != 0 ? status : launch_guards(problem, &guards, count, error);
}

static int queue_inputs(struct device_problem *problem, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        if (problem->template.buffers[i].access == ACCESS_READ)
            status = queue_checksum(problem, &problem->buffers[i], buffer_slot(problem, i), error);
    return status;
}

/* --- judging what they found --- */

/* Fetches an element from the GPU into `bytes`; false if that fails. */
static bool fetch_element(struct device_problem *problem, const struct device_buffer *buffer,
                          uint64_t index, unsigned char bytes[8])
{
    size_t size = element_bytes(buffer->type);
    memset(bytes, 0, 8);
    return problem->device->driver.cuMemcpyDtoH(bytes, buffer->data + index * size, size) ==
           CUDA_SUCCESS;
}

/* The same as text for a message, with the digits of the result's type. */
static void fetch_text(struct device_problem *problem, const struct device_buffer *buffer,
                       uint64_t index, enum element_type result, char text[ELEMENT_TEXT_BYTES])
{
    unsigned char bytes[8];
    (void)snprintf(text, ELEMENT_TEXT_BYTES, "?");
    if (fetch_element(problem, buffer, index, bytes))
        (void)element_text(buffer->type, bytes, element_digits(result), text);
}

static bool judge_comparison(struct device_problem *problem, size_t index,
                             char reason[VERIFY_REASON_BYTES])
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &problem->buffers[expectation->buffer];
    const uint64_t *found = &problem->slot_values[expectation_slot(index)];
    const char *name = problem->template.buffers[expectation->buffer].name;
    char actual[ELEMENT_TEXT_BYTES];
    char expected[ELEMENT_TEXT_BYTES];
    if (found[0] == 0)
        return true;
    uint64_t first = ~found[1];
    fetch_text(problem, out, first, out->type, actual);
    fetch_text(problem, &problem->expected[index], first, out->type, expected);
    (void)snprintf(reason, VERIFY_REASON_BYTES,
                   "%s[%" PRIu64 "] is %s, expected %s; %" PRIu64 " of %" PRIu64
                   " elements differ, %" PRIu64 " were not written",
                   name, first, actual, expected, found[0], out->length, found[2]);
    return false;
}

static bool judge_unordered(const struct device_problem *problem, size_t index,
                            char reason[VERIFY_REASON_BYTES])
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const uint64_t *found = &problem->slot_values[expectation_slot(index)];
    const uint64_t *expected = &problem->expected_sums[expectation_slot(index)];
    const struct device_buffer *out = &problem->buffers[expectation->buffer];
    const char *name = problem->template.buffers[expectation->buffer].name;
    uint64_t length = out->length;
    bool placed = found[3] == expected[3] || element_bytes(out->type) < POISON_BYTES;
    if (found[1] == expected[1] && placed)
        return true;
    if (found[1] == expected[1])
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s has the right elements in the wrong positions", name);
    else if (found[2] != expected[2])
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s has %" PRIu64 " written elements, expected %" PRIu64, name,
                       length - found[2], length - expected[2]);
    else
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s does not have the expected elements in any order", name);
    return false;
}

static bool judge_buffer(const struct device_problem *problem, size_t index, bool inputs,
                         char reason[VERIFY_REASON_BYTES])
{
    const uint64_t *found = &problem->slot_values[buffer_slot(problem, index)];
    const struct buffer *buffer = &problem->template.buffers[index];
    if (found[GUARD_SLOT] != 0) {
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%" PRIu64 " bytes outside buffer '%s' were written", found[GUARD_SLOT],
                       buffer->name);
        return false;
    }
    if (inputs && buffer->access == ACCESS_READ && found[0] != problem->checksums[index]) {
        (void)snprintf(reason, VERIFY_REASON_BYTES, "input '%s' was changed", buffer->name);
        return false;
    }
    return true;
}

/* --- running them --- */

static int clear_slots(struct device_problem *problem, struct error *error)
{
    return CUDA(problem->device, cuMemsetD8Async, problem->slots, 0,
                slot_count(problem) * sizeof(uint64_t), problem->device->stream);
}

/* Waits for the stream. */
static int fetch_slots(struct device_problem *problem, struct error *error)
{
    int status = CUDA(problem->device, cuMemcpyDtoHAsync, problem->slot_values, problem->slots,
                      slot_count(problem) * sizeof(uint64_t), problem->device->stream);
    return status != 0 ? status : device_synchronise(problem->device, error);
}

/* Fails if a reference wrote nothing: a variant that writes nothing would pass. */
static int check_reference(const struct device_problem *problem, size_t index, struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    uint64_t length = problem->expected[index].length;
    uint64_t unwritten = problem->expected_sums[expectation_slot(index) + 2];
    if (expectation->kind != EXPECT_REFERENCE || expectation->compare == COMPARE_UNORDERED ||
        length == 0 || unwritten < length)
        return 0;
    return error_set_at(error, ERROR_CONFIG, problem->template.path, expectation->line,
                        "reference '%s' wrote nothing; does it write to its argument `reference`?",
                        expectation->reference.entry);
}

static int queue_preparation(struct device_problem *problem, struct error *error)
{
    int status = clear_slots(problem, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = queue_checksum(problem, &problem->expected[i], expectation_slot(i), error);
    if (status == 0)
        status = queue_inputs(problem, error);
    return status != 0 ? status : fetch_slots(problem, error);
}

int verify_prepare(struct device_problem *problem, struct error *error)
{
    size_t count = slot_count(problem);
    problem->slot_values = alloc_zeroed(count, sizeof(uint64_t));
    problem->expected_sums = alloc_zeroed(count, sizeof(uint64_t));
    int status = CUDA(problem->device, cuMemAlloc, &problem->slots, count * sizeof(uint64_t));
    if (status == 0)
        status = queue_preparation(problem, error);
    if (status != 0)
        return status;
    memcpy(problem->expected_sums, problem->slot_values, count * sizeof(uint64_t));
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        problem->checksums[i] = problem->slot_values[buffer_slot(problem, i)];
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = check_reference(problem, i, error);
    return status;
}

/* Restores the inputs, poisons the outputs, runs once. */
static int queue_run(struct device_problem *problem, struct device_variant *variant,
                     struct measure *measure, struct error *error)
{
    int status = device_problem_restore(problem, error);
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        if (problem->template.buffers[i].access == ACCESS_WRITE)
            status = device_buffer_poison(problem->device, &problem->buffers[i], error);
    if (status == 0)
        status = device_variant_push(variant, problem, true, error);
    if (status != 0)
        return status;
    return measure != NULL ? measure_queue_run(measure, problem, variant, error)
                           : device_variant_run(variant, problem, error);
}

static int queue_checks(struct device_problem *problem, const struct device_variant *variant,
                        bool inputs, struct error *error)
{
    int status = clear_slots(problem, error);
    if (status == 0)
        status = device_variant_pull(variant, problem, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = queue_expectation(problem, i, error);
    if (status == 0)
        status = queue_guards(problem, variant, error);
    if (status == 0 && inputs)
        status = queue_inputs(problem, error);
    return status != 0 ? status : fetch_slots(problem, error);
}

static enum finding judge(struct device_problem *problem, bool inputs,
                          char reason[VERIFY_REASON_BYTES])
{
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        if (!judge_buffer(problem, i, inputs, reason))
            return FINDING_DAMAGE;
    for (size_t i = 0; i < problem->template.expectation_count; i++)
        if (problem->template.expectations[i].compare == COMPARE_UNORDERED
                ? !judge_unordered(problem, i, reason)
                : !judge_comparison(problem, i, reason))
            return FINDING_WRONG;
    return FINDING_RIGHT;
}

static int check(struct device_problem *problem, const struct device_variant *variant, bool inputs,
                 enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error)
{
    int status = queue_checks(problem, variant, inputs, error);
    if (status == 0)
        *finding = judge(problem, inputs, reason);
    return status;
}

int verify_run(struct device_problem *problem, struct device_variant *variant,
               struct measure *measure, enum finding *finding, char reason[VERIFY_REASON_BYTES],
               struct error *error)
{
    int status = queue_run(problem, variant, measure, error);
    return status != 0 ? status : check(problem, variant, true, finding, reason, error);
}

int verify_again(struct device_problem *problem, struct device_variant *variant,
                 enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error)
{
    return check(problem, variant, false, finding, reason, error);
}

/* --- differences, one by one --- */

static bool is_poison(enum element_type type, const unsigned char bytes[8])
{
    size_t size = element_bytes(type);
    bool same = size >= POISON_BYTES;
    for (size_t i = 0; i < size && same; i++)
        same = bytes[i] == element_poison(type);
    return same;
}

static void describe(struct device_problem *problem, size_t expectation, uint64_t index,
                     struct verify_difference *difference)
{
    size_t buffer = problem->template.expectations[expectation].buffer;
    const struct device_buffer *out = &problem->buffers[buffer];
    unsigned char bytes[8];
    *difference = (struct verify_difference){.buffer = buffer, .index = index};
    fetch_text(problem, &problem->expected[expectation], index, out->type, difference->expected);
    if (fetch_element(problem, out, index, bytes) && is_poison(out->type, bytes))
        (void)snprintf(difference->got, sizeof difference->got, "not written");
    else
        fetch_text(problem, out, index, out->type, difference->got);
}

/* The first difference from `*first` on, which moves on behind it; false if there is none. */
static int next_difference(struct device_problem *problem, size_t expectation, uint64_t *first,
                           bool *found, struct verify_difference *difference, struct error *error)
{
    const struct expectation *expected = &problem->template.expectations[expectation];
    const uint64_t *slots = &problem->slot_values[expectation_slot(expectation)];
    *found = false;
    if (*first >= problem->buffers[expected->buffer].length)
        return 0;
    int status = clear_slots(problem, error);
    if (status == 0)
        status = queue_compare(problem, expectation, *first, error);
    if (status == 0)
        status = fetch_slots(problem, error);
    if (status != 0 || slots[0] == 0)
        return status;
    *found = true;
    describe(problem, expectation, *first + ~slots[1], difference);
    *first = difference->index + 1;
    return 0;
}

int verify_differences(struct device_problem *problem, struct verify_difference *differences,
                       size_t most, size_t *count, struct error *error)
{
    int status = 0;
    *count = 0;
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++) {
        uint64_t first = 0;
        bool found = problem->template.expectations[i].compare != COMPARE_UNORDERED;
        while (found && status == 0 && *count < most) {
            status = next_difference(problem, i, &first, &found, &differences[*count], error);
            *count += status == 0 && found;
        }
    }
    return status;
}
