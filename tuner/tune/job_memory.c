#include "tune/job_memory.h"

#include "base/alloc.h"
#include "template/dependencies.h"
#include "template/footprint.h"

#include <stdlib.h>

/* Combinations of values that a search may have; those beyond are found when they are tried. */
enum { COMBINATIONS = 65536 };

/* The parameters that count, and the largest footprint so far. */
struct largest {
    struct tuning_job *job;
    const char **names;
    size_t count;
    struct bindings last; /* the values that were looked at last */
    uint64_t bytes;
};

static void look_at(struct largest *largest, const struct bindings *parameters)
{
    struct tuning_job *job = largest->job;
    struct bindings values = {0};
    for (size_t i = 0; i < largest->count; i++) {
        const struct value *value = bindings_find(parameters, largest->names[i]);
        if (value != NULL)
            bindings_set(&values, largest->names[i], *value);
    }
    if (!bindings_equal(&values, &largest->last)) {
        const struct footprint footprint =
            footprint_of(&job->kernel->template, &job->fixed, &values, job->kernel->cold);
        if (footprint.bytes > largest->bytes)
            bindings_copy(&job->largest, &values);
        if (footprint.bytes > largest->bytes)
            largest->bytes = footprint.bytes;
        bindings_copy(&largest->last, &values);
    }
    bindings_release(&values);
}

/* False if a constraint on just these values rejects them. */
static bool are_allowed(const struct tuning_job *job, const struct bindings *values)
{
    const struct scope outer = {&job->fixed, NULL};
    const struct scope scope = {values, &outer};
    struct error ignored;
    for (size_t i = 0; i < job->kernel->constraint_count; i++) {
        bool allowed = true;
        if (expression_boolean(job->kernel->constraints[i], &scope, &allowed, &ignored) == 0 &&
            !allowed)
            return false;
    }
    return true;
}

static const struct value_list *values_of(const struct tuning_job *job, const char *name)
{
    const struct template *template = &job->kernel->template;
    size_t index = (size_t)(template_parameter(template, name) - template->parameters);
    return &job->kernel->values[index];
}

/* Counts through the lists of the parameters, the first fastest. */
static void look_at_lists(struct largest *largest)
{
    size_t *at = alloc_zeroed(largest->count, sizeof *at);
    bool more = true;
    for (size_t n = 0; n < COMBINATIONS && more; n++) {
        struct bindings values = {0};
        for (size_t i = 0; i < largest->count; i++)
            bindings_set(&values, largest->names[i],
                         values_of(largest->job, largest->names[i])->values[at[i]]);
        if (are_allowed(largest->job, &values))
            look_at(largest, &values);
        bindings_release(&values);
        more = false;
        for (size_t i = 0; i < largest->count && !more; i++) {
            more = ++at[i] < values_of(largest->job, largest->names[i])->count;
            at[i] = more ? at[i] : 0;
        }
    }
    free(at);
}

static void find_largest(struct tuning_job *job)
{
    const struct template *template = &job->kernel->template;
    struct largest largest = {.job = job};
    for (size_t i = 0; i < template->parameter_count; i++)
        if (contents_depend_on(template, template->parameters[i].name))
            *ARRAY_APPEND(largest.names, largest.count) = template->parameters[i].name;
    if (largest.count > 0 && job->proposer != NULL)
        look_at_lists(&largest);
    for (size_t i = 0; i < job->study.result_count && largest.count > 0; i++)
        look_at(&largest, &job->study.results[i].parameters);
    bindings_release(&largest.last);
    free(largest.names);
}

int job_memory_check(struct tuning_job *job, struct error *error)
{
    const struct template *template = &job->kernel->template;
    find_largest(job);
    const struct footprint footprint =
        footprint_of(template, &job->fixed, &job->largest, job->kernel->cold);
    uint64_t there = (uint64_t)job->study.environment.gpu.memory_bytes;
    if (footprint.bytes <= there)
        return 0;
    return footprint_refuse(&footprint, template, job->problem, &job->largest, there,
                            "is all that the GPU has", error);
}
