#include "tune/instruction_counts.h"

#include "base/alloc.h"
#include "record/instruction_kinds.h"

#include <string.h>

int instruction_counts_fill(struct tuning_job *job, size_t index, struct error *error)
{
    const struct compilation *compilation = &job->compile_jobs[index]->compilation;
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    const char *entry = NULL;
    if (!tuning_job_compiled(job, index) || !job->compile_jobs[index]->has_cubin)
        return 0;
    int status = kernel_stats_entry(&source, &entry, error);
    for (size_t i = 0; i < compilation->kernel_count && status == 0 && entry != NULL; i++) {
        const struct compiled_kernel *kernel = &compilation->kernels[i];
        if (strcmp(kernel->entry, entry) != 0 || result->instructions != NULL)
            continue;
        result->instructions = alloc_zeroed(SASS_KIND_COUNT, sizeof *result->instructions);
        memcpy(result->instructions, kernel->instructions,
               SASS_KIND_COUNT * sizeof *result->instructions);
    }
    return status;
}
