#include "gpu/differences.h"

#include "gpu/device_element.h"
#include "gpu/findings.h"

#include <stdio.h>

static void describe(struct device_problem *problem, const struct device_variant *variant,
                     size_t expectation, uint64_t index, struct difference *difference)
{
    size_t buffer = problem->template.expectations[expectation].buffer;
    const struct device_buffer *out = &variant->data.buffers[buffer];
    *difference = (struct difference){.buffer = buffer, .index = index};
    device_element_text(problem->device, &variant->data.expected[expectation], index, out->type,
                        difference->expected);
    if (device_element_is_poison(problem->device, out,
                                 device_variant_poison(variant, buffer, out->type), index))
        (void)snprintf(difference->got, sizeof difference->got, "not written");
    else
        device_element_text(problem->device, out, index, out->type, difference->got);
}

/* The first difference from `*first` on, which moves on behind it; false if there is none. */
static int next_difference(struct device_problem *problem, const struct device_variant *variant,
                           size_t expectation, uint64_t *first, bool *found,
                           struct difference *difference, struct error *error)
{
    const struct expectation *expected = &problem->template.expectations[expectation];
    const uint64_t *slots = findings_of_expectation(problem, expectation);
    *found = false;
    if (*first >= variant->data.buffers[expected->buffer].length)
        return 0;
    int status = findings_clear(problem, error);
    if (status == 0)
        status = findings_compare(problem, variant, expectation, *first, error);
    if (status == 0)
        status = findings_fetch(problem, error);
    if (status != 0 || slots[FOUND_MISMATCHES] == 0)
        return status;
    *found = true;
    describe(problem, variant, expectation, *first + ~slots[FOUND_FIRST_INVERTED], difference);
    *first = difference->index + 1;
    return 0;
}

int differences_list(struct device_problem *problem, const struct device_variant *variant,
                     struct difference *differences, size_t most, size_t *count,
                     struct error *error)
{
    int status = 0;
    *count = 0;
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++) {
        enum compare_kind compare = problem->template.expectations[i].compare;
        uint64_t first = 0;
        bool found = compare == COMPARE_EXACT || compare == COMPARE_CLOSE;
        while (found && status == 0 && *count < most) {
            status =
                next_difference(problem, variant, i, &first, &found, &differences[*count], error);
            *count += status == 0 && found;
        }
    }
    return status;
}
