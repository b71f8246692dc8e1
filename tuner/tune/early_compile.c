#include "tune/early_compile.h"

#include "base/alloc.h"
#include "tune/job_space.h"
#include "tune/tune_job.h"

#include <stdlib.h>

/* More jobs than a worker can compile while the driver starts. Many variants may share one. */
enum { JOBS_OF_WORKER = 8, VARIANTS_OF_WORKER = 64 };

static bool is_enough(const struct compile_pool *pool)
{
    return compile_pool_held(pool) >= JOBS_OF_WORKER * compile_pool_workers(pool);
}

/* Requests the helpers of a problem and its first variants. */
static int request_problem(struct early_compile *early, const struct sweep_kernel *kernel,
                           const struct bindings *problem)
{
    struct tuning_job *job = ARRAY_APPEND(early->jobs, early->job_count);
    tuning_job_init(job, kernel, problem, &early->environment);
    int status = tuning_job_request_reference(job, early->pool, NULL);
    if (status == 0)
        status = job_space_begin(job, VARIANTS_OF_WORKER * compile_pool_workers(early->pool), NULL);
    for (size_t i = 0; i < job->study.result_count && status == 0 && !is_enough(early->pool); i++)
        status = tuning_job_request(job, early->pool, i, NULL);
    return status;
}

void early_compile_begin(struct early_compile *early, struct compile_pool *pool,
                         const struct run_limits *limits, const struct environment *environment,
                         const char *arch)
{
    const struct sweep *sweep = limits->sweep;
    early->environment = *environment;
    early->environment.static_mode = true; /* nothing is measured */
    if (gpu_from_arch(arch, &early->environment.gpu, NULL) != 0)
        return;
    early->pool = pool;
    int status = tune_job_request_support(pool, arch, &early->support, NULL);
    for (size_t i = 0; i < sweep->kernel_count && status == 0; i++) {
        const struct sweep_kernel *kernel = &sweep->kernels[i];
        const struct sweep_limits own = run_limits_of(limits, kernel);
        bool searched = own.budget_s > 0 || own.evaluations > 0;
        for (size_t j = 0; j < kernel->problem_count && status == 0 && !searched; j++)
            if (!is_enough(pool))
                status = request_problem(early, kernel, &kernel->problems[j]);
    }
}

void early_compile_end(struct early_compile *early)
{
    for (size_t i = 0; i < early->job_count; i++) {
        tuning_job_drop_all(&early->jobs[i], early->pool);
        tuning_job_release(&early->jobs[i]);
    }
    if (early->support != NULL)
        compile_pool_drop(early->pool, early->support);
    free(early->jobs);
    *early = (struct early_compile){0};
}
