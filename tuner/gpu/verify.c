#include "gpu/verify.h"

#include <inttypes.h>
#include <stdio.h>

/* --- findings --- */

/*
 * What the checks find stands in slots of 64 bits that the checking kernels write and the host reads, SLOTS
 * of each thing that is checked. Of an expectation these are {mismatches, ~first, unwritten, misplaced} of a comparison,
 * or sums (device_buffer.h), and the fingerprint of the expected result; of a buffer, the number of damaged
 * guard bytes, and the fingerprints of what no variant may change, itself or its initial contents, and of
 * the copies that batches work on; of both, the damaged guard bytes of what no variant may change; of a
 * verifier, the sums of its buffer and what it counted; and the sums of the memory for scratch buffers that is
 * not in use. A variant cannot know where the slots are, and they are cleared after its run.
 */
enum { FOUND_MISMATCHES, FOUND_FIRST_INVERTED, FOUND_UNWRITTEN, FOUND_MISPLACED };
enum { FOUND_EXPECTED = SUMS + 1 };
enum { FOUND_DAMAGED, FOUND_CONSTANT, FOUND_COPIES };
enum { FOUND_WRONG = SUMS };
enum { FOUND_AROUND = SUMS + 2 };
enum { SLOTS = SUMS + 3 };

enum checked { CHECKED_EXPECTATION, CHECKED_BUFFER, CHECKED_VERIFIER, CHECKED_ARENA, CHECKED_END };

static size_t slot_of(const struct device_problem *problem, enum checked checked, size_t index)
{
    const struct template *template = &problem->template;
    const size_t counts[] = {template->expectation_count, template->buffer_count,
                             template->verifier_count, 1};
    for (size_t i = 0; i < checked; i++)
        index += counts[i];
    return SLOTS * index;
}

static size_t all_bytes(const struct device_problem *problem)
{
    return slot_of(problem, CHECKED_END, 0) * sizeof(uint64_t);
}

/* As last fetched. */
static const uint64_t *found_of(const struct device_problem *problem, enum checked checked,
                                size_t index)
{
    return &problem->slot_values[slot_of(problem, checked, index)];
}

static CUdeviceptr pointer_to(const struct device_problem *problem, enum checked checked,
                              size_t index, size_t slot)
{
    return problem->slots + (slot_of(problem, checked, index) + slot) * sizeof(uint64_t);
}

int verify_prepare(struct device_problem *problem, struct error *error)
{
    void *values = NULL;
    int status = CUDA(problem->device, cuMemAllocHost, &values, all_bytes(problem));
    problem->slot_values = values;
    return status != 0 ? status
                       : CUDA(problem->device, cuMemAlloc, &problem->slots, all_bytes(problem));
}

static int clear(struct device_problem *problem, struct error *error)
{
    return CUDA(problem->device, cuMemsetD8Async, problem->slots, 0, all_bytes(problem),
                problem->device->stream);
}

/* What the checks find goes to the host, once the stream has come there. */
static int queue_fetch(struct device_problem *problem, struct error *error)
{
    return CUDA(problem->device, cuMemcpyDtoHAsync, problem->slot_values, problem->slots,
                all_bytes(problem), problem->device->stream);
}

/* Waits for the checks that were queued. */
static int fetch(struct device_problem *problem, struct error *error)
{
    int status = queue_fetch(problem, error);
    return status != 0 ? status : device_synchronise(problem->device, error);
}

/* --- queueing the checks --- */

/* The names that an expectation's expressions see. */
struct expectation_scope {
    struct scope outer, scope;
};

static const struct scope *scope_of(const struct verify *verify, struct expectation_scope *scope)
{
    scope->outer = (struct scope){&verify->problem->fixed, NULL};
    scope->scope = (struct scope){&verify->variant->parameters, &scope->outer};
    return &scope->scope;
}

/* Whether the expectation counts for the variant. */
static bool applies(const struct verify *verify, size_t index)
{
    const struct expectation *expectation = &verify->problem->template.expectations[index];
    struct expectation_scope scope;
    bool when = true;
    return expectation->compare != COMPARE_NONE &&
           (expectation->when == NULL ||
            expression_boolean(expectation->when, scope_of(verify, &scope), &when, NULL) != 0 ||
            when);
}

/* Compares the elements of an expectation from `first` on. */
static int compare(const struct verify *verify, size_t index, uint64_t first, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    const struct device_variant *variant = verify->variant;
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const struct device_buffer *reference = &variant->data.expected[index].buffer;
    struct expectation_scope scope;
    struct evaluation evaluation = {scope_of(verify, &scope), error, 0};
    double absolute = evaluate_real(&evaluation, expectation->absolute, 0);
    double relative = evaluate_real(&evaluation, expectation->relative, 0);
    if (evaluation.status != 0)
        return evaluation.status;
    CUdeviceptr out_data = out->data + first * element_bytes(out->type);
    CUdeviceptr reference_data = reference->data + first * element_bytes(reference->type);
    CUdeviceptr result = pointer_to(problem, CHECKED_EXPECTATION, index, 0);
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

static int queue_expectation(const struct verify *verify, size_t index, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &verify->variant->data.buffers[expectation->buffer];
    if (!applies(verify, index))
        return 0;
    return expectation->compare == COMPARE_UNORDERED
               ? device_buffer_sums(problem->device, out, element_poison(out->type),
                                    pointer_to(problem, CHECKED_EXPECTATION, index, 0), error)
               : compare(verify, index, 0, error);
}

/* A buffer as the variant has it. */
static const struct device_buffer *buffer_of(const struct verify *verify, size_t index)
{
    bool scratch = verify->problem->template.buffers[index].access == ACCESS_SCRATCH;
    return scratch ? &verify->variant->scratch[index] : &verify->variant->data.buffers[index];
}

/* Of the buffers that the variant has. */
static int queue_guards(const struct verify *verify, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    struct guard_checks guards = {.pattern = verify->guard};
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        status = device_buffer_check_guards(problem->device, buffer_of(verify, i),
                                            pointer_to(problem, CHECKED_BUFFER, i, FOUND_DAMAGED),
                                            &guards, error);
    return status != 0 ? status : device_buffer_end_guards(problem->device, &guards, error);
}

/* The last run's outputs, and the guards. */
static int queue_results(const struct verify *verify, struct error *error)
{
    struct device_problem *problem = verify->problem;
    int status = clear(problem, error);
    if (status == 0)
        status = device_variant_pull(verify->variant, problem, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = queue_expectation(verify, i, error);
    return status != 0 ? status : queue_guards(verify, error);
}

/* Of a read buffer itself, of the initial contents of a read_write one, and of their copies. */
static int queue_buffer(const struct verify *verify, size_t index, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    const struct device_data *data = &verify->variant->data;
    enum buffer_access access = problem->template.buffers[index].access;
    const struct device_buffer *constant =
        access == ACCESS_READ ? &data->buffers[index] : &data->pristine[index];
    const struct device_buffer *copies =
        verify->batches != NULL ? batches_constant(verify->batches, index, NULL) : NULL;
    int status = 0;
    if (constant->base != 0)
        status = device_buffer_fingerprint(
            problem->device, constant, pointer_to(problem, CHECKED_BUFFER, index, FOUND_CONSTANT),
            error);
    if (status == 0 && copies != NULL)
        status = device_buffer_fingerprint(problem->device, copies,
                                           pointer_to(problem, CHECKED_BUFFER, index, FOUND_COPIES),
                                           error);
    return status;
}

/* The guards of initial contents and of expected results, which no variant has. */
static int queue_constant_guards(const struct verify *verify, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    const struct device_data *data = &verify->variant->data;
    struct guard_checks guards = {.pattern = GUARD_PATTERN};
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        status = device_buffer_check_guards(problem->device, &data->pristine[i],
                                            pointer_to(problem, CHECKED_BUFFER, i, FOUND_AROUND),
                                            &guards, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = device_buffer_check_guards(
            problem->device, &data->expected[i].buffer,
            pointer_to(problem, CHECKED_EXPECTATION, i, FOUND_AROUND), &guards, error);
    return status != 0 ? status : device_buffer_end_guards(problem->device, &guards, error);
}

/* What no variant may change. */
static int queue_constants(const struct verify *verify, struct error *error)
{
    const struct device_problem *problem = verify->problem;
    const struct device_buffer rest = device_arena_rest(&problem->arena);
    int status = queue_constant_guards(verify, error);
    if (status == 0 && rest.base != 0)
        status = device_buffer_sums(problem->device, &rest, element_poison(rest.type),
                                    pointer_to(problem, CHECKED_ARENA, 0, 0), error);
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        status = queue_buffer(verify, i, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = device_buffer_fingerprint(
            problem->device, &verify->variant->data.expected[i].buffer,
            pointer_to(problem, CHECKED_EXPECTATION, i, FOUND_EXPECTED), error);
    return status;
}

static int run_verifier(const struct verify *verify, size_t index, struct error *error)
{
    struct device_problem *problem = verify->problem;
    struct device_variant *variant = verify->variant;
    const struct verifier *verifier = &problem->template.verifiers[index];
    const struct scope outer = {&problem->fixed, NULL};
    const struct scope scope = {&variant->parameters, &outer};
    CUdeviceptr sums = pointer_to(problem, CHECKED_VERIFIER, index, 0);
    struct device_buffer wrong = {.data = sums + FOUND_WRONG * sizeof(uint64_t),
                                  .type = ELEMENT_UINT64,
                                  .length = 1,
                                  .bytes = sizeof(uint64_t)};
    struct helper_run run = {.helper = {&verifier->launch, 1},
                             .what = "verifier",
                             .elements = variant->data.buffers[verifier->buffer].length,
                             .buffers.problem = variant->data.buffers,
                             .buffers.expected = variant->data.expected,
                             .buffers.wrong = &wrong};
    int status =
        device_buffer_sums(problem->device, &variant->data.buffers[verifier->buffer],
                           device_variant_poison(variant, verifier->buffer,
                                                 variant->data.buffers[verifier->buffer].type),
                           sums, error);
    return status != 0 ? status : helper_code_run(&problem->helpers, &run, &scope, error);
}

/* --- judging what was found --- */

/* How many elements may differ. */
static uint64_t allowed_mismatches(const struct verify *verify,
                                   const struct expectation *expectation, uint64_t length)
{
    struct expectation_scope scope;
    struct evaluation evaluation = {scope_of(verify, &scope), NULL, 0};
    double share = evaluate_real(&evaluation, expectation->mismatches, 0);
    return share > 0 && share <= 0.5 ? (uint64_t)(share * (double)length) : 0;
}

/* Whether an element of the output that equals the poison was not written. Zeros, which are the poison of unsigned
 * numbers in some runs, and small integers can equal it by chance. */
static bool shows_unwritten(const struct device_variant *variant, size_t buffer)
{
    enum element_type type = variant->data.buffers[buffer].type;
    return (element_is_floating(type) || element_bytes(type) >= ELEMENT_POISON_BYTES) &&
           device_variant_poison(variant, buffer, type) != 0;
}

static bool judge_comparison(struct verify *verify, size_t index)
{
    struct device_problem *problem = verify->problem;
    const struct device_variant *variant = verify->variant;
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const uint64_t *found = found_of(problem, CHECKED_EXPECTATION, index);
    const char *name = problem->template.buffers[expectation->buffer].name;
    char actual[ELEMENT_TEXT_BYTES];
    char expected[ELEMENT_TEXT_BYTES];
    uint64_t allowed = allowed_mismatches(verify, expectation, out->length);
    if (found[FOUND_MISMATCHES] == 0)
        return true;
    if (found[FOUND_MISMATCHES] <= allowed &&
        (found[FOUND_MISPLACED] == 0 || !shows_unwritten(variant, expectation->buffer))) {
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "%" PRIu64 " of %" PRIu64
                       " elements of %s differ, mismatches allows %" PRIu64,
                       found[FOUND_MISMATCHES], out->length, name, allowed);
        return true;
    }
    char allows[64] = "";
    if (expectation->mismatches != NULL)
        (void)snprintf(allows, sizeof allows, " (mismatches allows %" PRIu64 ")", allowed);
    uint64_t first = ~found[FOUND_FIRST_INVERTED];
    device_buffer_element_text(problem->device, out, first, out->type, actual);
    device_buffer_element_text(problem->device, &variant->data.expected[index].buffer, first,
                               out->type, expected);
    (void)snprintf(verify->reason, sizeof verify->reason,
                   "%s[%" PRIu64 "] is %s, expected %s; %" PRIu64 " of %" PRIu64
                   " elements differ%s, %" PRIu64 " were not written",
                   name, first, actual, expected, found[FOUND_MISMATCHES], out->length, allows,
                   found[FOUND_UNWRITTEN]);
    return false;
}

static bool judge_unordered(struct verify *verify, size_t index)
{
    const struct device_problem *problem = verify->problem;
    const struct device_variant *variant = verify->variant;
    const struct expectation *expectation = &problem->template.expectations[index];
    const uint64_t *found = found_of(problem, CHECKED_EXPECTATION, index);
    const uint64_t *expected = variant->data.expected[index].sums;
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const char *name = problem->template.buffers[expectation->buffer].name;
    uint64_t length = out->length;
    bool placed = found[SUM_POISONED_PLACES] == expected[SUM_POISONED_PLACES] ||
                  element_bytes(out->type) < ELEMENT_POISON_BYTES;
    if (found[SUM_UNORDERED] == expected[SUM_UNORDERED] && placed)
        return true;
    if (found[SUM_UNORDERED] == expected[SUM_UNORDERED])
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "%s has the right elements in the wrong positions", name);
    else if (found[SUM_POISONED] != expected[SUM_POISONED])
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "%s has %" PRIu64 " written elements, expected %" PRIu64, name,
                       length - found[SUM_POISONED], length - expected[SUM_POISONED]);
    else
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "%s does not have the expected elements in any order", name);
    return false;
}

static bool judge_guards(struct verify *verify)
{
    const struct template *template = &verify->problem->template;
    for (size_t i = 0; i < template->buffer_count; i++) {
        uint64_t damaged = found_of(verify->problem, CHECKED_BUFFER, i)[FOUND_DAMAGED];
        if (damaged == 0)
            continue;
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "%" PRIu64 " bytes outside buffer '%s' were written", damaged,
                       template->buffers[i].name);
        return false;
    }
    return true;
}

/* Whether what no variant may change of a buffer is what it was. */
static bool judge_constant(struct verify *verify, size_t index)
{
    const uint64_t *found = found_of(verify->problem, CHECKED_BUFFER, index);
    const struct buffer *buffer = &verify->problem->template.buffers[index];
    uint64_t copies = 0;
    bool changed = found[FOUND_CONSTANT] != verify->variant->data.fingerprints[index] ||
                   found[FOUND_AROUND] != 0;
    if (verify->batches != NULL && batches_constant(verify->batches, index, &copies) != NULL)
        changed = changed || found[FOUND_COPIES] != copies;
    if (!changed)
        return true;
    if (buffer->access == ACCESS_READ)
        (void)snprintf(verify->reason, sizeof verify->reason, "input '%s' was changed",
                       buffer->name);
    else
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "the tuner's copy of the initial '%s' was changed, far outside all buffers",
                       buffer->name);
    return false;
}

static bool judge_expected(struct verify *verify, size_t index)
{
    const struct template *template = &verify->problem->template;
    const uint64_t *found = found_of(verify->problem, CHECKED_EXPECTATION, index);
    if (found[FOUND_EXPECTED] == verify->variant->data.expected[index].fingerprint &&
        found[FOUND_AROUND] == 0)
        return true;
    (void)snprintf(verify->reason, sizeof verify->reason,
                   "the expected result of '%s' was changed, far outside all buffers",
                   template->buffers[template->expectations[index].buffer].name);
    return false;
}

/* Whether nothing was written where no buffer is. */
static bool judge_arena(struct verify *verify)
{
    const struct device_buffer rest = device_arena_rest(&verify->problem->arena);
    if (rest.base == 0 || found_of(verify->problem, CHECKED_ARENA, 0)[SUM_POISONED] == rest.length)
        return true;
    (void)snprintf(verify->reason, sizeof verify->reason,
                   "memory far outside all buffers was written");
    return false;
}

/* Whether what no variant may change is intact. */
static bool judge_constants(struct verify *verify)
{
    if (!judge_arena(verify))
        return false;
    for (size_t i = 0; i < verify->problem->template.buffer_count; i++)
        if (!judge_constant(verify, i))
            return false;
    for (size_t i = 0; i < verify->problem->template.expectation_count; i++)
        if (!judge_expected(verify, i))
            return false;
    return true;
}

/* A verifier that computes differences may take the poison, which is NaN, for right. */
static bool judge_verifier(struct verify *verify, size_t index)
{
    const struct device_problem *problem = verify->problem;
    const struct device_variant *variant = verify->variant;
    const struct verifier *verifier = &problem->template.verifiers[index];
    const struct device_buffer *out = &variant->data.buffers[verifier->buffer];
    const uint64_t *found = found_of(problem, CHECKED_VERIFIER, index);
    bool output = problem->template.buffers[verifier->buffer].access == ACCESS_WRITE &&
                  shows_unwritten(variant, verifier->buffer);
    if (found[FOUND_WRONG] != 0)
        (void)snprintf(verify->reason, sizeof verify->reason,
                       "verifier '%s' counts %" PRIu64 " wrong elements of %s",
                       verifier->launch.entry, found[FOUND_WRONG], verifier->launch.name);
    else if (output && out->length > 0 && found[SUM_POISONED] == out->length)
        (void)snprintf(verify->reason, sizeof verify->reason, "%s was not written",
                       verifier->launch.name);
    else
        return true;
    return false;
}

static enum finding judge(struct verify *verify)
{
    const struct template *template = &verify->problem->template;
    if (!judge_guards(verify))
        return FINDING_DAMAGE;
    for (size_t i = 0; i < template->expectation_count; i++)
        if (applies(verify, i) &&
            !(template->expectations[i].compare == COMPARE_UNORDERED ? judge_unordered(verify, i)
                                                                     : judge_comparison(verify, i)))
            return FINDING_WRONG;
    return FINDING_RIGHT;
}

/* --- running them --- */

/* Looks at the guards and at what no variant may change: where that is not what it was, an output that differs says
 * nothing. */
static int check_constants(struct verify *verify, struct error *error)
{
    int status = clear(verify->problem, error);
    if (status == 0)
        status = queue_guards(verify, error);
    if (status == 0)
        status = queue_constants(verify, error);
    if (status == 0)
        status = fetch(verify->problem, error);
    if (status == 0 && !(judge_guards(verify) && judge_constants(verify)))
        verify->finding = FINDING_DAMAGE;
    return status;
}

/* The next run must not be blamed for what a verifier does. */
static int check_verifiers(struct verify *verify, struct error *error)
{
    struct verify after = *verify;
    const struct template *template = &verify->problem->template;
    after.finding = FINDING_RIGHT;
    int status = check_constants(&after, error);
    if (status != 0 || after.finding == FINDING_RIGHT)
        return status;
    return error_set_at(error, ERROR_CONFIG, template->path, template->verifiers[0].launch.line,
                        "after verifier '%s': %s", template->verifiers[0].launch.entry,
                        after.reason);
}

/* Verifiers run last, and only on inputs that are what they were: they may read them. */
static int run_verifiers(struct verify *verify, struct error *error)
{
    if (verify->finding != FINDING_RIGHT || verify->problem->template.verifier_count == 0)
        return 0;
    struct device_problem *problem = verify->problem;
    int status = 0;
    for (size_t i = 0; i < problem->template.verifier_count && status == 0; i++)
        status = run_verifier(verify, i, error);
    if (status == 0)
        status = fetch(problem, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < problem->template.verifier_count; i++)
        if (!judge_verifier(verify, i)) {
            verify->finding = FINDING_WRONG;
            break;
        }
    return check_verifiers(verify, error);
}

static bool looks_at_everything(const struct verify *verify)
{
    return verify->everything || verify->problem->template.verifier_count > 0;
}

int verify_queue(const struct verify *verify, struct error *error)
{
    int status = queue_results(verify, error);
    if (status == 0 && looks_at_everything(verify))
        status = queue_constants(verify, error);
    return status != 0 ? status : queue_fetch(verify->problem, error);
}

int verify_judge(struct verify *verify, struct error *error)
{
    const bool everything = looks_at_everything(verify);
    int status = 0;
    verify->finding = judge(verify);
    if (everything && verify->finding != FINDING_DAMAGE && !judge_constants(verify))
        verify->finding = FINDING_DAMAGE;
    else if (!everything && verify->finding == FINDING_WRONG)
        status = check_constants(verify, error);
    if (status == 0 && verify->finding != FINDING_DAMAGE &&
        (everything || verify->finding == FINDING_WRONG))
        data_store_trust(&verify->problem->store);
    return status != 0 ? status : run_verifiers(verify, error);
}

int verify_last(struct verify *verify, struct error *error)
{
    int status = verify_queue(verify, error);
    if (status == 0)
        status = device_synchronise(verify->problem->device, error);
    return status != 0 ? status : verify_judge(verify, error);
}

static int set_guards(struct verify *verify, unsigned char pattern, struct error *error)
{
    int status = 0;
    verify->guard = pattern;
    for (size_t i = 0; i < verify->problem->template.buffer_count && status == 0; i++)
        status = device_buffer_guard(verify->problem->device, buffer_of(verify, i), pattern, error);
    return status;
}

/* As much as the main kernel's blocks take that share a multiprocessor: more takes long under a sanitizer. */
static int soil_shared(const struct verify *verify, struct error *error)
{
    enum { RESERVED = 1024 }; /* of each block */
    const struct launch_plan *plan = &verify->variant->launch_plan;
    uint64_t bytes = (uint64_t)plan->main.static_shared_bytes +
                     (uint64_t)plan->steps[plan->main_step].dynamic_shared_bytes;
    return bytes == 0
               ? 0
               : device_soil_shared(verify->problem->device, verify->guard,
                                    (bytes + RESERVED) * (uint64_t)plan->main_blocks_per_sm, error);
}

int verify_run(struct verify *verify, struct error *error)
{
    /* a large number, a small one, and an index of 0 */
    static const unsigned char patterns[] = {
        [POISON_USUAL] = GUARD_PATTERN, [POISON_LARGE] = 0xfb, [POISON_SMALL] = 0x00};
    struct device_problem *problem = verify->problem;
    int status = device_variant_reset(verify->variant, problem, error);
    unsigned char pattern = patterns[verify->variant->poison];
    if (status == 0 && verify->hostile && pattern != GUARD_PATTERN)
        status = set_guards(verify, pattern, error);
    if (status == 0 && verify->hostile)
        status = soil_shared(verify, error);
    if (status == 0)
        status = verify->measure != NULL
                     ? measure_queue_run(verify->measure, problem, verify->variant, error)
                     : device_variant_run(verify->variant, problem, error);
    if (status == 0)
        status = verify_last(verify, error);
    if (verify->guard != GUARD_PATTERN && !device_is_lost(problem->device->last)) {
        int restored = set_guards(verify, GUARD_PATTERN, status == 0 ? error : NULL);
        status = status != 0 ? status : restored;
    }
    return status;
}

/* --- the elements of a wrong result --- */

static void describe(const struct verify *verify, size_t expectation, uint64_t index,
                     struct difference *difference)
{
    struct device_problem *problem = verify->problem;
    const struct device_variant *variant = verify->variant;
    size_t buffer = problem->template.expectations[expectation].buffer;
    const struct device_buffer *out = &variant->data.buffers[buffer];
    *difference = (struct difference){.buffer = buffer, .index = index};
    device_buffer_element_text(problem->device, &variant->data.expected[expectation].buffer, index,
                               out->type, difference->expected);
    if (device_buffer_element_is_poison(problem->device, out,
                                        device_variant_poison(variant, buffer, out->type), index))
        (void)snprintf(difference->got, sizeof difference->got, "not written");
    else
        device_buffer_element_text(problem->device, out, index, out->type, difference->got);
}

/* The first difference from `*first` on, which moves on behind it; false if there is none. */
static int next_difference(const struct verify *verify, size_t expectation, uint64_t *first,
                           bool *found, struct difference *difference, struct error *error)
{
    struct device_problem *problem = verify->problem;
    const struct expectation *expected = &problem->template.expectations[expectation];
    const uint64_t *slots = found_of(problem, CHECKED_EXPECTATION, expectation);
    *found = false;
    if (*first >= verify->variant->data.buffers[expected->buffer].length)
        return 0;
    int status = clear(problem, error);
    if (status == 0)
        status = compare(verify, expectation, *first, error);
    if (status == 0)
        status = fetch(problem, error);
    if (status != 0 || slots[FOUND_MISMATCHES] == 0)
        return status;
    *found = true;
    describe(verify, expectation, *first + ~slots[FOUND_FIRST_INVERTED], difference);
    *first = difference->index + 1;
    return 0;
}

int verify_differences(struct device_problem *problem, struct device_variant *variant,
                       struct difference *differences, size_t most, size_t *count,
                       struct error *error)
{
    const struct verify verify = {.problem = problem, .variant = variant};
    int status = 0;
    *count = 0;
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++) {
        enum compare_kind compare = problem->template.expectations[i].compare;
        uint64_t first = 0;
        bool found = compare != COMPARE_UNORDERED && applies(&verify, i);
        while (found && status == 0 && *count < most) {
            status = next_difference(&verify, i, &first, &found, &differences[*count], error);
            *count += status == 0 && found;
        }
    }
    return status;
}
