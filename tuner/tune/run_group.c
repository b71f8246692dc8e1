#include "tune/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "compile/compile_worker.h"
#include "record/tuned_file.h"
#include "template/problem_check.h"

#include <stdlib.h>
#include <string.h>

enum {
    EARLY_NS = 100000000,  /* for proposals before the time of their job */
    COUNTING_NS = 10000000 /* for the size of a problem's space, at least … */
};

static const double counting_share = 0.05; /* … and of a budget, for those of all problems */

/* --- planning --- */

/* Whether the run's results go to the tuned INI. */
static bool updates_tuned(const struct run *run)
{
    return !run->environment.static_mode && !run->options.part;
}

/* A problem that does not fit in the GPU's memory, or whose reference fails, is left out. The user is
 * told at once, and by later reports. */
static int refuse_job(struct run *run, struct tuning_job *job, const struct error *refusal,
                      struct error *error)
{
    char text[ERROR_TEXT_BYTES];
    char *values = bindings_text(job->problem);
    struct error notice = *refusal;
    if (refusal->code != ERROR_MEMORY) /* which names the problem */
        (void)error_set_at(&notice, refusal->code, refusal->file, refusal->line,
                           "'%s'%s%.256s is left out: %.1000s", job->study.kernel,
                           values[0] != '\0' ? " with " : "", values, refusal->message);
    free(values);
    progress_end(&run->progress);
    run->options.notice(run->options.user, &notice);
    tuning_job_drop_all(job);
    job->refused = true;
    run->refused_count++;
    if (run->refusal.code == 0 || run->refusal.code == ERROR_MEMORY)
        run->refusal = *refusal;
    return run->record == NULL
               ? 0
               : record_refuse(run->record, job->record_id, error_text(refusal, text), error);
}

/* If an expression fails for the problem itself, for example a negative length, no variant of it is
 * valid. */
static int check_problem(struct run *run, struct tuning_job *job, struct error *error)
{
    struct error reason;
    char text[ERROR_TEXT_BYTES];
    int status = 0;
    if (job->study.complete || problem_check(&job->kernel->template, &job->fixed, &reason) == 0)
        return 0;
    if (job->proposer != NULL && job->study.result_count == 0) { /* one stands for all */
        size_t index;
        status = tuning_job_propose(job, clock_ns() + EARLY_NS, &index, error);
        job->exhausted = true;
        status = status < 0 ? status : 0;
    }
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (job->known[i])
            continue;
        tuning_job_conclude(job, i, OUTCOME_INVALID, error_text(&reason, text));
        status =
            record_result(run->record, job->record_id, &job->study.results[i], "screening", error);
    }
    return status;
}

static int make_job(struct run_group *group, const struct sweep_kernel *kernel,
                    const struct bindings *problem, size_t problems, struct error *error)
{
    struct run *run = group->run;
    struct tuning_job *job = &group->jobs[group->job_count++];
    run->job_count++;
    tuning_job_init(job, kernel, problem, &group->environment, run->pool);
    job->compile_timeout_s = run->sweep->compile_timeout_s;
    job->launch_timeout_s = run->sweep->launch_timeout_s;
    job->compile_memory_mb = compile_worker_memory_mb();
    job->doubt = &run->doubt;
    int status = run->record == NULL ? 0
                                     : record_begin(run->record, &job->study,
                                                    run->options.remeasure, &job->record_id, error);
    if (status != 0)
        return status;
    struct sweep_limits limits = {0};
    if (!run->environment.static_mode)
        limits = run_limits_of(&group->limits, kernel);
    if (limits.budget_s <= 0 && limits.evaluations == 0)
        return job_space_enumerate(job, error);
    int64_t share_ns = (int64_t)(counting_share * limits.budget_s * 1e9) / (int64_t)problems;
    int64_t end_ns = limits.budget_s <= 0
                         ? INT64_MAX
                         : clock_ns() + (share_ns > COUNTING_NS ? share_ns : COUNTING_NS);
    return job_space_search(job, limits.evaluations, end_ns, error);
}

/* Ends the progress line first. */
static void pass_notice(void *user, const struct error *notice)
{
    struct run *run = user;
    progress_end(&run->progress);
    run->options.notice(run->options.user, notice);
}

int run_group_plan(struct run_group *group, struct tuning_job *jobs, size_t *total, bool *searched,
                   struct error *error)
{
    struct run *run = group->run;
    const struct sweep *sweep = run->sweep;
    struct error refusal;
    size_t problems = 0;
    int status = 0;
    group->jobs = jobs;
    group->job_count = 0;
    for (size_t i = 0; i < sweep->kernel_count; i++)
        problems += sweep->kernels[i].problem_count;
    for (size_t i = 0; i < sweep->kernel_count; i++)
        for (size_t j = 0; j < sweep->kernels[i].problem_count && status == 0; j++)
            status = make_job(group, &sweep->kernels[i], &sweep->kernels[i].problems[j], problems,
                              error);
    for (size_t i = 0; i < group->job_count && status == 0; i++) {
        struct tuning_job *job = &group->jobs[i];
        status = check_problem(run, job, error);
        if (status == 0 && !run->environment.static_mode && !job->study.complete &&
            job_memory_check(job, &refusal) != 0)
            status = refuse_job(run, job, &refusal, error);
        *searched = *searched || job->proposer != NULL;
        if (status != 0 || job->refused)
            continue;
        *total += job->study.result_count - job->known_count;
        if (!job->study.complete && tuning_job_can_win(job))
            status = tuning_job_compile(job, error);
    }
    group->ahead =
        (struct compile_ahead){.pool = run->pool,
                               .jobs = group->jobs,
                               .job_count = group->job_count,
                               .sample = run->environment.static_mode ? STATIC_SAMPLE : 0};
    group->tuning = (struct tuning){.pool = run->pool,
                                    .ahead = &group->ahead,
                                    .loop = &run->loop,
                                    .team = &group->team,
                                    .record = run->record,
                                    .progress = &run->progress,
                                    .timings = &run->timings,
                                    .launch_timeout_s = sweep->launch_timeout_s,
                                    .notice = pass_notice,
                                    .user = run};
    if (run->options.exhaustive > 0)
        group->tuning.rules = (struct race_rules){.everyone = true,
                                                  .minimum_rounds = run->options.exhaustive,
                                                  .maximum_rounds = run->options.exhaustive};
    if (status != 0 || run->environment.static_mode || run_group_is_done(group))
        return status;
    return tune_job_request_support(run->pool, group->environment.gpu.arch, &group->tuning.support,
                                    error);
}

static bool is_to_do(const struct tuning_job *job)
{
    return !job->study.complete && !job->refused && !job->overtaken;
}

bool run_group_is_done(const struct run_group *group)
{
    for (size_t i = 0; i < group->job_count; i++)
        if (is_to_do(&group->jobs[i]) || group->jobs[i].order_count > 0)
            return false;
    return true;
}

/* --- working --- */

static int finish_job(struct run *run, struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    const bool updates = updates_tuned(run);
    struct tuned_entry entry = {0};
    size_t taken;
    int status = 0;
    timings_stage(&run->timings, updates ? TIMING_RECORD : TIMING_REPORT);
    if (updates && study->has_winner) {
        tuned_entry_from_study(study, &entry);
        status = tuned_file_update(run->tuned, &entry, 1, &taken, error);
    }
    timings_stage(&run->timings, TIMING_REPORT);
    if (status == 0 && run->options.study_done != NULL)
        status = run->options.study_done(run->options.user, study, error);
    tuning_job_drop_all(job);
    return status;
}

/* What became of a job. If it does not fit in memory, or its expected results cannot be made while there
 * are other jobs, it is refused, and the others go on. */
static int spare_others(struct run_group *group, struct tuning_job *job, int status,
                        struct error *error)
{
    if (status != ERROR_MEMORY && (status == 0 || !job->not_prepared || group->job_count == 1))
        return status;
    const struct error refusal = *error;
    return refuse_job(group->run, job, &refusal, error);
}

int run_group_check(struct run_group *group, struct error *error)
{
    struct run *run = group->run;
    int status = 0;
    for (size_t i = 0; i < group->job_count && status == 0; i++)
        status = spare_others(group, &group->jobs[i],
                              static_check_sample(&group->tuning, &group->jobs[i], error), error);
    for (size_t i = 0; i < group->job_count && status == 0; i++) {
        struct tuning_job *job = &group->jobs[i];
        if (job->refused)
            continue;
        status = static_check_rest(&group->tuning, job, error);
        if (status == 0)
            status = finish_job(run, job, error);
    }
    return status;
}

/* Tells a job's search what the record has of the kernel's other problems, of other GPUs and of older
 * versions. Results that are to be measured again are not asked. */
static int tell_near(struct run *run, struct tuning_job *job, struct error *error)
{
    struct study *studies;
    size_t count;
    int64_t since = run->options.remeasure ? run->jobs[0].record_id : 0;
    timings_stage(&run->timings, TIMING_RECORD);
    int status =
        record_near(run->record, &job->study, job->record_id, since, &studies, &count, error);
    for (size_t i = 0; i < count; i++) {
        if (status == 0)
            tuning_job_know(job, &studies[i]);
        study_release(&studies[i]);
    }
    free(studies);
    return status;
}

/* Tells a job's search of the suggestions, as if each was a little slower elsewhere than the one before, and
 * of what is near; then has its first proposals, those by `end_ns`, compiled. */
static int begin_search(struct run *run, struct tuning_job *job, int64_t end_ns,
                        struct error *error)
{
    const size_t count = run->options.suggestion_count;
    if (job->proposer == NULL)
        return 0;
    struct result *results = alloc_zeroed(count, sizeof *results);
    for (size_t i = 0; i < count; i++)
        results[i] = (struct result){.parameters = run->options.suggestions[i], /* borrowed */
                                     .outcome = OUTCOME_MEASURED,
                                     .time = {.count = 1, .median_ns = 1000 + 10 * (double)i}};
    const struct study study = {.results = results, .result_count = count};
    if (count > 0)
        tuning_job_know(job, &study);
    free(results);
    int status = tell_near(run, job, error);
    return status != 0 ? status : tune_job_prepare(job, end_ns, error);
}

static int tune_one(struct run_group *group, size_t index, struct error *error)
{
    struct tuning *tuning = &group->tuning;
    struct tuning_job *job = &group->jobs[index];
    int64_t now_ns = clock_ns();
    size_t left = 0; /* to be done, this one included, and how many of its kernel */
    size_t of_kernel = 0;
    for (size_t i = index; i < group->job_count; i++) {
        left += is_to_do(&group->jobs[i]);
        of_kernel += is_to_do(&group->jobs[i]) && group->jobs[i].kernel == job->kernel;
    }
    int64_t end_ns = run_limits_end_ns(&group->limits, job->kernel, now_ns, left, of_kernel);
    int64_t last_ns =
        run_limits_end_ns(&group->limits, job->kernel, now_ns, (left + 1) / 2, (of_kernel + 1) / 2);
    allowance_begin(&tuning->allowance, now_ns, end_ns, last_ns);
    group->run->progress.end_ns = end_ns;
    int status = begin_search(group->run, job, allowance_search_end(&tuning->allowance), error);
    return status != 0 ? status : tune_job(tuning, job, error);
}

/* Asks the record of other jobs that are complete, and of the same code under another name (with a cold cache, say),
 * whether what this one has found wrong had won them. */
static int check_others(struct run_group *group, const struct tuning_job *job, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < group->job_count && status == 0; i++) {
        struct tuning_job *other = &group->jobs[i];
        struct study *study = &other->study;
        if (other == job || !study->complete || group->run->record == NULL ||
            strcmp(study->template_hash, job->study.template_hash) != 0 ||
            !bindings_alike(&study->problem, &job->study.problem))
            continue;
        status =
            record_check(group->run->record, other->record_id, study, &other->overtaken, error);
        study->complete = !other->overtaken;
        group->run->overtaken = group->run->overtaken || other->overtaken;
    }
    return status;
}

/* Takes out of the tuned INI what is wrong of the study's template on this GPU: what the record has, of this run and
 * of earlier ones. */
static int correct_tuned(struct run *run, const struct study *study, struct error *error)
{
    struct study *studies = NULL;
    size_t count = 0;
    if (!updates_tuned(run) || compile_pool_toolkit_changed(run->pool)) /* then it is withdrawn */
        return 0;
    timings_stage(&run->timings, TIMING_RECORD);
    int status = record_failures(run->record, study, &studies, &count, error);
    if (status == 0)
        status = tuned_file_refute(run->tuned, studies, count, pass_notice, run, error);
    for (size_t i = 0; i < count; i++)
        study_release(&studies[i]);
    free(studies);
    return status;
}

int run_group_tune(void *owner, struct error *error)
{
    struct run_group *group = owner;
    int status = 0;
    for (size_t i = 0; i < group->job_count && status == 0; i++) {
        struct tuning_job *job = &group->jobs[i];
        const bool is_last = i + 1 == group->job_count || job[1].kernel != job->kernel;
        const bool tunes = is_to_do(job);
        status = tunes ? tune_one(group, i, error) : 0;
        if (status == 0 && !job->refused && !job->overtaken)
            status = finish_job(group->run, job, error);
        status = spare_others(group, job, status, error);
        if (status == 0 && tunes)
            status = check_others(group, job, error);
        int corrected = is_last || status != 0
                            ? correct_tuned(group->run, &job->study, status == 0 ? error : NULL)
                            : 0;
        status = status != 0 ? status : corrected;
    }
    return status;
}
