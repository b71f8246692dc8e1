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

static bool judge_buffer(const struct device_problem *problem, const struct device_variant *variant,
                         size_t index, bool inputs, char reason[VERIFY_REASON_BYTES])
{
    const uint64_t *found = findings_of_buffer(problem, index);
    const struct buffer *buffer = &problem->template.buffers[index];
    if (found[FOUND_DAMAGED] != 0) {
        (void)snprintf(reason, VERIFY_REASON_BYTES,
                       "%" PRIu64 " bytes outside buffer '%s' were written", found[FOUND_DAMAGED],
                       buffer->name);
        return false;
    }
    if (inputs && buffer->access == ACCESS_READ &&
        found[SUM_ORDERED] != variant->data.checksums[index]) {
        (void)snprintf(reason, VERIFY_REASON_BYTES, "input '%s' was changed", buffer->name);
        return false;
    }
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

static enum finding judge(struct device_problem *problem, const struct device_variant *variant,
                          bool inputs, char reason[VERIFY_REASON_BYTES])
{
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        if (!judge_buffer(problem, variant, i, inputs, reason))
            return FINDING_DAMAGE;
    for (size_t i = 0; i < problem->template.expectation_count; i++)
        if (!judge_expectation(problem, variant, i, reason))
            return FINDING_WRONG;
    return FINDING_RIGHT;
}

/* --- running them --- */

int verify_prepare(struct device_problem *problem, struct error *error)
{
    return findings_init(problem, error);
}

/* Restores the inputs, poisons the outputs, runs once. */
static int queue_run(struct device_problem *problem, struct device_variant *variant,
                     struct measure *measure, struct error *error)
{
    int status = device_data_restore(&variant->data, problem->device, error);
    if (status == 0)
        status = device_data_poison(&variant->data, problem->device, error);
    if (status == 0)
        status = device_variant_push(variant, problem, true, error);
    if (status != 0)
        return status;
    return measure != NULL ? measure_queue_run(measure, problem, variant, error)
                           : device_variant_run(variant, problem, error);
}

/* Verifiers run last, and only on inputs that are what they were: they may read them. */
static int check(struct device_problem *problem, struct device_variant *variant, bool inputs,
                 const struct meanwhile *meanwhile, enum finding *finding,
                 char reason[VERIFY_REASON_BYTES], struct error *error)
{
    inputs = inputs || problem->template.verifier_count > 0;
    int status = findings_queue(problem, variant, inputs, error);
    if (status == 0 && meanwhile != NULL)
        meanwhile->act(meanwhile->user);
    if (status == 0)
        status = findings_fetch(problem, error);
    if (status != 0)
        return status;
    *finding = judge(problem, variant, inputs, reason);
    if (*finding != FINDING_RIGHT || problem->template.verifier_count == 0)
        return 0;
    status = findings_verify(problem, variant, error);
    if (status == 0)
        *finding = judge_verifiers(problem, variant, reason);
    return status;
}

int verify_run(struct device_problem *problem, struct device_variant *variant,
               struct measure *measure, const struct meanwhile *meanwhile, enum finding *finding,
               char reason[VERIFY_REASON_BYTES], struct error *error)
{
    int status = queue_run(problem, variant, measure, error);
    return status != 0 ? status : check(problem, variant, true, meanwhile, finding, reason, error);
}

int verify_again(struct device_problem *problem, struct device_variant *variant,
                 enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error)
{
    return check(problem, variant, false, NULL, finding, reason, error);
}
