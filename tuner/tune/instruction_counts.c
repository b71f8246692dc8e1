#include "tune/instruction_counts.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "compile/sass.h"

#include <stdlib.h>
#include <string.h>

/* The counts of `entry` in a cubin, a new array. */
static int count_entry(const struct compilation *compilation, const char *entry, size_t **counts,
                       struct error *error)
{
    struct sass sass;
    char *listing;
    int status = sass_disassemble(compilation->cubin, compilation->cubin_bytes, &listing, error);
    if (status != 0)
        return status;
    sass_count(listing, &sass);
    for (size_t i = 0; i < sass.count && *counts == NULL; i++) {
        if (strcmp(sass.kernels[i].entry, entry) != 0)
            continue;
        *counts = alloc_zeroed(SASS_KIND_COUNT, sizeof **counts);
        memcpy(*counts, sass.kernels[i].counts, sizeof sass.kernels[i].counts);
    }
    sass_release(&sass);
    free(listing);
    return *counts != NULL ? 0
                           : error_set(error, ERROR_RECORD,
                                       "the disassembler's listing has no kernel '%s'", entry);
}

static int count_job(const struct compile_job *compile, const char *entry, size_t **counts,
                     struct error *error)
{
    struct compilation compilation = {0};
    bool found = false;
    int status = cubin_cache_read(compile->path, &compilation, &found, error);
    if (status == 0 && (!found || compilation.cubin == NULL))
        status =
            error_set(error, ERROR_RECORD,
                      "'%s' cannot be read; check the folder of the cubin cache", compile->path);
    if (status == 0)
        status = count_entry(&compilation, entry, counts, error);
    compilation_release(&compilation);
    return status;
}

/* The variant before `index` that is the same binary and launches the same of its kernels. */
static const size_t *known_counts(const struct tuning_job *job, const char *const *entries,
                                  size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (job->compile_jobs[i] == job->compile_jobs[index] && entries[i] == entries[index])
            return job->study.results[i].instructions;
    return NULL;
}

static int count_variant(struct tuning_job *job, struct compile_pool *pool, const char **entries,
                         size_t index, struct error *error)
{
    struct result *result = &job->study.results[index];
    int status = job->compile_jobs[index] == NULL ? tuning_job_request(job, pool, index, error) : 0;
    if (status == 0)
        status = compile_pool_wait(pool, job->compile_jobs[index], error);
    if (status == 0 && job->compile_jobs[index]->has_cubin) {
        const struct kernel_stats_source source = tuning_job_stats_source(job, index);
        status = kernel_stats_entry(&source, &entries[index], error);
    }
    if (status != 0 || entries[index] == NULL)
        return status;
    const size_t *known = known_counts(job, entries, index);
    if (known == NULL)
        return count_job(job->compile_jobs[index], entries[index], &result->instructions, error);
    result->instructions = alloc_zeroed(SASS_KIND_COUNT, sizeof *known);
    memcpy(result->instructions, known, SASS_KIND_COUNT * sizeof *known);
    return 0;
}

int instruction_counts_fill(struct tuning_job *job, struct compile_pool *pool, struct error *error)
{
    const struct study *study = &job->study;
    const char **entries = alloc_zeroed(study->result_count, sizeof *entries);
    int status = sass_available(error);
    for (size_t i = 0; i < study->result_count && status == 0; i++)
        if (study->results[i].outcome == OUTCOME_COMPILED ||
            study->results[i].outcome == OUTCOME_NOT_RESIDENT)
            status = count_variant(job, pool, entries, i, error);
    free(entries);
    return status;
}
