#include "tune/twins.h"

#include "base/alloc.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The one of its twins that is run. */
struct twin {
    char run_hash[HASH_BYTES]; /* first, for comparing */
    size_t index;
};

static int compare_twins(const void *a, const void *b)
{
    return strcmp(((const struct twin *)a)->run_hash, ((const struct twin *)b)->run_hash);
}

/* The one that is run of all that are the same as result `index`: that one, if it is the first. */
static struct twin *find_or_add(struct twins *twins, size_t index)
{
    struct twin *twin = alloc_zeroed(1, sizeof *twin);
    memcpy(twin->run_hash, twins->job->study.results[index].run_hash, sizeof twin->run_hash);
    twin->index = index;
    struct twin **found = tsearch(twin, &twins->by_hash, compare_twins);
    if (found == NULL)
        abort();
    if (*found != twin)
        free(twin);
    return *found;
}

void twins_init(struct twins *twins, struct tuning_job *job)
{
    const struct study *study = &job->study;
    *twins = (struct twins){.job = job};
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (job->known[i] && result->outcome != OUTCOME_DUPLICATE && result->run_hash[0] != '\0')
            (void)find_or_add(twins, i);
    }
}

void twins_release(struct twins *twins)
{
    tdestroy(twins->by_hash, free);
    free(twins->waiting);
    *twins = (struct twins){0};
}

bool twins_wait(struct twins *twins, size_t index)
{
    if (twins->job->study.results[index].run_hash[0] == '\0')
        return false;
    while (twins->count <= index)
        *ARRAY_APPEND(twins->waiting, twins->count) = false;
    twins->waiting[index] = find_or_add(twins, index)->index != index;
    return twins->waiting[index];
}

bool twins_is_over(struct twins *twins, size_t index)
{
    return index < twins->count && twins->waiting[index] &&
           twins->job->known[find_or_add(twins, index)->index];
}

size_t twins_run(struct twins *twins, size_t index)
{
    bool has_hash = twins->job->study.results[index].run_hash[0] != '\0';
    return has_hash ? find_or_add(twins, index)->index : index;
}

size_t twins_conclude(struct twins *twins, size_t index)
{
    struct tuning_job *job = twins->job;
    struct result *results = job->study.results;
    struct twin *twin = find_or_add(twins, index);
    size_t duplicate = index;
    if (index < twin->index) {
        duplicate = twin->index;
        twin->index = index;
        const struct result own = results[index]; /* everything but the parameters changes places */
        const struct bindings parameters = results[duplicate].parameters;
        results[index] = results[duplicate];
        results[duplicate] = own;
        results[index].parameters = own.parameters;
        results[duplicate].parameters = parameters;
        job->known_count += !job->known[index];
        job->known[index] = true;
    }
    char *reason = bindings_text(&results[twin->index].parameters);
    tuning_job_conclude(job, duplicate, OUTCOME_DUPLICATE, reason);
    free(reason);
    twins->waiting[index] = false;
    tuning_job_tell(job, index, &results[twin->index]);
    return duplicate;
}
