#include "gpu/verify.h"

#include "gpu/device_element.h"
#include "gpu/findings.h"

#include <inttypes.h>
#include <stdio.h>

/* --- judging what was found --- */

static bool judge_comparison(struct device_problem *problem, const struct device_variant *variant,
                             size_t index, char reason[VERIFY_REASON_BYTES])
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const uint64_t *found = findings_of_expectation(problem, index);
    const char *name = problem->template.buffers[expectation->buffer].name;
    char actual[ELEMENT_TEXT_BYTES];
    char expected[ELEMENT_TEXT_BYTES];
    if (found[FOUND_MISMATCHES] == 0)
        return true;
    uint64_t first = ~found[FOUND_FIRST_INVERTED];
    device_element_text(problem->device, out, first, out->type, actual);
    device_element_text(problem->device, &variant->data.expected[index], first, out->type,
                        expected);
    (void)snprintf(reason, VERIFY_REASON_BYTES,
                   "%s[%" PRIu64 "] is %s, expected %s; %" PRIu64 " of %" PRIu64
                   " elements differ, %" PRIu64 " were not written",
                   name, first, actual, expected, found[FOUND_MISMATCHES], out->length,
                   found[FOUND_UNWRITTEN]);
    return false;
}

static bool judge_unordered(const struct device_problem *problem,
                            const struct device_variant *variant, size_t index,
                            char reason[VERIFY_REASON_BYTES])
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const uint64_t *found = findings_of_expectation(problem, index);
    const uint64_t *expected = variant->data.expected_sums[index];
    const struct device_buffer *out = &variant->data.buffers[expectation->buffer];
    const char *name = problem->template.buffers[expectation->buffer].name;
    uint64_t length = out->length;
    bool placed = found[SUM_POISONED_PLACES] == expected[SUM_POISONED_PLACES] ||
                  element_bytes(out->type) < ELEMENT_POISON_BYTES;
    if (found[SUM_UNORDERED] == expected[SUM_UNORDERED] && placed)
        return true;
    if (found[SUM_UNORDERED] == expected[SUM_UNORDERED])
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s has the right elements in the wrong positions", name);
    else if (found[SUM_POISONED] != expected[SUM_POISONED])
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s has %" PRIu64 " written elements, expected %" PRIu64, name,
                       length - found[SUM_POISONED], length - expected[SUM_POISONED]);
    else
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%s does not have the expected elements in any order", name);
    return false;
}

static bool judge_guards(const struct device_problem *problem, size_t index,
                         char reason[VERIFY_REASON_BYTES])
{
    const uint64_t *found = findings_of_buffer(problem, index);
    if (found[FOUND_DAMAGED] == 0)
        return true;
    (void)snprintf(reason, VERIFY_REASON_BYTES,
                   "%" PRIu64 " bytes outside buffer '%s' were written", found[FOUND_DAMAGED],
                   problem->template.buffers[index].name);
    return false;
}

/* Whether what no variant may change of a buffer is what it was. */
static bool judge_constant(const struct verify *verify, size_t index,
                           char reason[VERIFY_REASON_BYTES])
{
    const uint64_t *found = findings_of_buffer(verify->problem, index);
    const struct buffer *buffer = &verify->problem->template.buffers[index];
    uint64_t copies = 0;
    bool changed = found[FOUND_CONSTANT] != verify->variant->data.fingerprints[index];
    if (verify->batches != NULL && batches_constant(verify->batches, index, &copies) != NULL)
        changed = changed || found[FOUND_COPIES] != copies;
    if (!changed)
        return true;
    if (buffer->access == ACCESS_READ)
        (void)snprintf(reason, VERIFY_REASON_BYTES, "input '%s' was changed", buffer->name);
    else
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "the tuner's copy of the initial '%s' was changed, far outside all buffers",
                       buffer->name);
    return false;
}

static bool judge_expected(const struct verify *verify, size_t index,
                           char reason[VERIFY_REASON_BYTES])
{
    const struct template *template = &verify->problem->template;
    if (findings_of_expectation(verify->problem, index)[FOUND_EXPECTED] ==
        verify->variant->data.expected_fingerprints[index])
        return true;
    (void)snprintf(reason, VERIFY_REASON_BYTES,
                   "the expected result of '%s' was changed, far outside all buffers",
                   template->buffers[template->expectations[index].buffer].name);
    return false;
}

/* Whether nothing was written where no buffer is. */
static bool judge_arena(const struct verify *verify, char reason[VERIFY_REASON_BYTES])
{
    const struct device_buffer rest = device_arena_rest(&verify->problem->arena);
    if (rest.base == 0 || findings_of_arena(verify->problem)[SUM_POISONED] == rest.length)
        return true;
    (void)snprintf(reason, VERIFY_REASON_BYTES, "memory far outside all buffers was written");
    return false;
}

/* Whether what no variant may change is intact. */
static bool judge_constants(const struct verify *verify, char reason[VERIFY_REASON_BYTES])
{
    if (!judge_arena(verify, reason))
        return false;
    for (size_t i = 0; i < verify->problem->template.buffer_count; i++)
        if (!judge_constant(verify, i, reason))
            return false;
    for (size_t i = 0; i < verify->problem->template.expectation_count; i++)
        if (!judge_expected(verify, i, reason))
            return false;
    return true;
}

/* A verifier that computes differences may take the poison, which is NaN, for right. */
static bool judge_verifier(const struct device_problem *problem,
                           const struct device_variant *variant, size_t index,
                           char reason[VERIFY_REASON_BYTES])
{
    const struct verifier *verifier = &problem->template.verifiers[index];
    const struct device_buffer *out = &variant->data.buffers[verifier->buffer];
    const uint64_t *found = findings_of_verifier(problem, index);
    bool output = problem->template.buffers[verifier->buffer].access == ACCESS_WRITE &&
                  element_bytes(out->type) >= ELEMENT_POISON_BYTES;
    if (found[FOUND_WRONG] != 0)
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "verifier '%s' counts %" PRIu64 " wrong elements of %s",
                       verifier->launch.entry, found[FOUND_WRONG], verifier->launch.name);
    else if (output && out->length > 0 && found[SUM_POISONED] == out->length)
        (void)snprintf(reason, VERIFY_REASON_BYTES, "%s was not written", verifier->launch.name);
    else
        return true;
    return false;
}

static enum finding judge_verifiers(struct device_problem *problem,
                                    const struct device_variant *variant,
                                    char reason[VERIFY_REASON_BYTES])
{
    for (size_t i = 0; i < problem->template.verifier_count; i++)
        if (!judge_verifier(problem, variant, i, reason))
            return FINDING_WRONG;
    return FINDING_RIGHT;
}

static bool judge_expectation(struct device_problem *problem, const struct device_variant *variant,
                              size_t index, char reason[VERIFY_REASON_BYTES])
{
    return problem->template.expectations[index].compare == COMPARE_UNORDERED
               ? judge_unordered(problem, variant, index, reason)
               : judge_comparison(problem, variant, index, reason);
}

static enum finding judge(const struct verify *verify, char reason[VERIFY_REASON_BYTES])
{
    for (size_t i = 0; i < verify->problem->template.buffer_count; i++)
        if (!judge_guards(verify->problem, i, reason))
            return FINDING_DAMAGE;
    for (size_t i = 0; i < verify->problem->template.expectation_count; i++)
        if (!judge_expectation(verify->problem, verify->variant, i, reason))
            return FINDING_WRONG;
    return FINDING_RIGHT;
}

/* --- running them --- */

int verify_prepare(struct device_problem *problem, struct error *error)
{
    return findings_init(problem, error);
}

/* Where they are not what they were, an output that differs says nothing. */
static int check_constants(struct verify *verify, struct error *error)
{
    int status = findings_clear(verify->problem, error);
    if (status == 0)
        status = findings_queue_constants(verify->problem, verify->variant, verify->batches, error);
    if (status == 0)
        status = findings_fetch(verify->problem, error);
    if (status == 0 && !judge_constants(verify, verify->reason))
        verify->finding = FINDING_DAMAGE;
    return status;
}

/* The next variant must not be blamed for what a verifier does. */
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
    int status = findings_verify(verify->problem, verify->variant, error);
    if (status != 0)
        return status;
    verify->finding = judge_verifiers(verify->problem, verify->variant, verify->reason);
    return check_verifiers(verify, error);
}

int verify_last(struct verify *verify, bool everything, struct error *error)
{
    struct device_problem *problem = verify->problem;
    everything = everything || problem->template.verifier_count > 0;
    int status = findings_queue(problem, verify->variant, error);
    if (status == 0 && everything)
        status = findings_queue_constants(problem, verify->variant, verify->batches, error);
    if (status == 0 && verify->meanwhile != NULL)
        verify->meanwhile->act(verify->meanwhile->user);
    if (status == 0)
        status = findings_fetch(problem, error);
    if (status != 0)
        return status;
    verify->finding = judge(verify, verify->reason);
    if (everything && verify->finding != FINDING_DAMAGE && !judge_constants(verify, verify->reason))
        verify->finding = FINDING_DAMAGE;
    else if (!everything && verify->finding == FINDING_WRONG)
        status = check_constants(verify, error);
    if (status == 0 && verify->finding != FINDING_DAMAGE &&
        (everything || verify->finding == FINDING_WRONG))
        data_store_trust(&problem->store);
    return status != 0 ? status : run_verifiers(verify, error);
}

int verify_run(struct verify *verify, struct measure *measure, bool everything, struct error *error)
{
    struct device_problem *problem = verify->problem;
    int status = device_variant_reset(verify->variant, problem, error);
    if (status == 0)
        status = measure != NULL ? measure_queue_run(measure, problem, verify->variant, error)
                                 : device_variant_run(verify->variant, problem, error);
    return status != 0 ? status : verify_last(verify, everything, error);
}
