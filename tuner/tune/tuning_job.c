#include "tune/tuning_job.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "compile/cubin_cache.h"
#include "compile/launch_check.h"
#include "template/footprint.h"
#include "template/space.h"
#include "template/variant.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static void take_environment(struct study *study, const struct environment *environment)
{
    free(study->environment.command);
    study->environment = *environment;
    study->environment.command = alloc_string(environment->command);
}

void tuning_job_init(struct tuning_job *job, const struct sweep_kernel *kernel,
                     const struct bindings *problem, const struct environment *environment)
{
    *job = (struct tuning_job){.kernel = kernel, .problem = problem, .environment = environment};
    struct study *study = &job->study;
    take_environment(study, environment);
    study->kernel = alloc_string(kernel->label);
    study->template_name = alloc_string(kernel->template.name);
    study->template_hash = alloc_string(kernel->template.hash);
    study->description = alloc_string(kernel->description);
    bindings_copy(&study->problem, problem);
    (void)snprintf(study->cache, sizeof study->cache, "%s", kernel->cold ? "cold" : "warm");
    bindings_copy(&job->fixed, problem);
    gpu_bindings(&environment->gpu, &job->fixed);
}

void tuning_job_release(struct tuning_job *job)
{
    bindings_release(&job->fixed);
    study_release(&job->study);
    free(job->compile_jobs);
    free(job->order);
    free(job->known);
    *job = (struct tuning_job){0};
}

/* --- results from the record, found by their parameters --- */

struct stored {
    char *text; /* bindings_text() of the parameters; first, for comparing */
    struct result *result;
};

static int compare_stored(const void *a, const void *b)
{
    return strcmp(((const struct stored *)a)->text, ((const struct stored *)b)->text);
}

static void free_stored(void *node)
{
    struct stored *stored = node;
    free(stored->text);
    free(stored);
}

static void *index_results(struct study *study)
{
    void *tree = NULL;
    for (size_t i = 0; i < study->result_count; i++) {
        struct stored *stored = alloc_zeroed(1, sizeof *stored);
        *stored = (struct stored){bindings_text(&study->results[i].parameters), &study->results[i]};
        if (*(struct stored **)tsearch(stored, &tree, compare_stored) != stored)
            free_stored(stored);
    }
    return tree;
}

/* Whether this run allows more time than the one that gave the variant up. */
static bool deserves_another_try(const struct tuning_job *job, const struct result *result)
{
    double limit_s =
        result->outcome == OUTCOME_COMPILE_ERROR ? job->compile_timeout_s : job->launch_timeout_s;
    return result->limit_s > 0 && limit_s > result->limit_s;
}

/* Moves the stored result of these parameters out of the record's list; false if there is none that
 * holds. */
static bool take_stored(const struct tuning_job *job, void *tree, const struct bindings *parameters,
                        struct result *result)
{
    struct stored wanted = {.text = bindings_text(parameters)};
    void *found = tfind(&wanted, &tree, compare_stored);
    free(wanted.text);
    if (found == NULL)
        return false;
    struct result *stored = (*(struct stored **)found)->result;
    if (stored->parameters.count == 0 && parameters->count > 0) /* taken before */
        return false;
    if (deserves_another_try(job, stored))
        return false;
    *result = *stored;
    *stored = (struct result){0};
    return true;
}

/* --- enumerating --- */

static struct space *new_space(const struct tuning_job *job)
{
    return space_new(&job->kernel->template, job->kernel->values, job->kernel->constraints,
                     job->kernel->constraint_count, &job->fixed);
}

/* Counts a large space before anything is stored. */
static int check_size(const struct tuning_job *job, struct error *error)
{
    struct space *space = new_space(job);
    uint64_t count = 0;
    int status = 0;
    if (space_points(space) > SPACE_VARIANT_LIMIT)
        status = space_count(space, SPACE_VARIANT_LIMIT, &count, error);
    space_free(space);
    if (status == 0 && count > SPACE_VARIANT_LIMIT)
        status = sweep_too_many(job->kernel, error);
    return status;
}

static int enumerate(struct tuning_job *job, struct space *space, void *tree,
                     struct result **results, size_t *count, struct error *error)
{
    struct bindings parameters = {0};
    size_t known_count = 0;
    int status;
    while ((status = space_next(space, &parameters, error)) == 1) {
        struct result *result = ARRAY_APPEND(*results, *count);
        bool *known = ARRAY_APPEND(job->known, known_count);
        *known = take_stored(job, tree, &parameters, result);
        if (*known)
            job->known_count++;
        else
            bindings_copy(&result->parameters, &parameters);
    }
    bindings_release(&parameters);
    return status;
}

/* A duplicate is known only with the twin that was run for it: otherwise it must be run itself. */
static void forget_orphans(struct tuning_job *job)
{
    struct study *study = &job->study;
    study_link_twins(study);
    for (size_t i = 0; i < study->result_count; i++) {
        struct result *result = &study->results[i];
        if (!job->known[i] || result->outcome != OUTCOME_DUPLICATE ||
            (result->twin < study->result_count && job->known[result->twin]))
            continue;
        const struct bindings parameters = result->parameters;
        result->parameters = (struct bindings){0};
        result_release(result);
        result->parameters = parameters;
        job->known[i] = false;
        job->known_count--;
    }
}

static size_t count_judged(const struct study *study)
{
    size_t judged = 0;
    for (size_t i = 0; i < study->result_count; i++)
        judged += study->results[i].judged;
    return judged;
}

/* Keeps the record's verdict if it is on exactly these variants; `judged_count` is how many it is
 * on. A verdict on other variants, fewer or more, does not count, and neither do its marks. */
static void keep_verdict(struct tuning_job *job, size_t judged_count)
{
    struct study *study = &job->study;
    study->complete = study->complete && judged_count == study->result_count &&
                      count_judged(study) == judged_count;
    if (study->complete)
        return;
    take_environment(study, job->environment);
    for (size_t i = 0; i < study->result_count; i++)
        study->results[i].finalist = study->results[i].tied = study->results[i].judged = false;
}

/* Which constraint rejected how many points, for the report. */
static void note_rejections(struct tuning_job *job, const struct space *space)
{
    struct study *study = &job->study;
    for (size_t i = 0; i < job->kernel->constraint_count; i++) {
        uint64_t points = space_rejected_by(space, i);
        if (points == 0)
            continue;
        struct rejection *rejection = ARRAY_APPEND(study->rejections, study->rejection_count);
        rejection->constraint = alloc_string(expression_text(job->kernel->constraints[i]));
        rejection->points = points;
    }
}

int tuning_job_enumerate(struct tuning_job *job, struct error *error)
{
    struct study *study = &job->study;
    struct result *results = NULL;
    size_t count = 0;
    int status = check_size(job, error);
    if (status != 0)
        return status;
    size_t stored_count = study->result_count;
    size_t judged_count = count_judged(study);
    char *winner =
        study->has_winner ? bindings_text(&study->results[study->winner].parameters) : NULL;
    void *tree = index_results(study);
    struct space *space = new_space(job);
    status = enumerate(job, space, tree, &results, &count, error);
    study->points = space_points(space);
    study->rejected = space_rejected(space);
    note_rejections(job, space);
    space_free(space);
    tdestroy(tree, free_stored);
    for (size_t i = 0; i < stored_count; i++)
        result_release(&study->results[i]);
    free(study->results);
    study->results = results;
    study->result_count = count;
    forget_orphans(job);
    job->compile_jobs = alloc_zeroed(count, sizeof(struct compile_job *));
    keep_verdict(job, judged_count);
    study->has_winner = false;
    for (size_t i = 0; winner != NULL && i < count && study->complete && !study->has_winner; i++) {
        char *text = bindings_text(&results[i].parameters);
        study->has_winner = strcmp(text, winner) == 0;
        study->winner = i;
        free(text);
    }
    free(winner);
    return status;
}

bool tuning_job_can_win(const struct tuning_job *job)
{
    return job->known_count < job->study.result_count ||
           study_count(&job->study, OUTCOME_MEASURED) > 0;
}

bool tuning_job_is_complete(const struct tuning_job *job)
{
    return job->study.complete;
}

int tuning_job_check_memory(const struct tuning_job *job, struct error *error)
{
    const struct template *template = &job->kernel->template;
    const struct footprint footprint = footprint_of(template, &job->fixed, job->kernel->cold);
    uint64_t there = (uint64_t)job->study.environment.gpu.memory_bytes;
    if (footprint.bytes <= there)
        return 0;
    return footprint_refuse(&footprint, template, job->problem, there, "is all that the GPU has",
                            error);
}

/* --- compiling --- */

static int request(const struct tuning_job *job, struct compile_pool *pool,
                   const struct bindings *parameters, bool urgent, struct compile_job **compile,
                   struct error *error)
{
    const struct template *template = &job->kernel->template;
    struct options options;
    variant_options(template, parameters, job->problem, &options);
    int status = variant_headers(template, parameters, job->problem, &options, error);
    if (status == 0)
        status = compile_pool_request(pool, template->source.path, template->source.text,
                                      template->source.text_hash, &options, urgent, compile, error);
    options_release(&options);
    return status;
}

int tuning_job_request_reference(struct tuning_job *job, struct compile_pool *pool,
                                 struct error *error)
{
    const struct template *template = &job->kernel->template;
    struct bindings defaults = {0};
    bool wanted = false;
    int status = 0;
    for (size_t i = 0; i < template->expectation_count; i++)
        wanted = wanted || template->expectations[i].kind == EXPECT_REFERENCE;
    if (!wanted)
        return 0;
    variant_defaults(template, &defaults);
    status = request(job, pool, &defaults, true, &job->reference, error);
    bindings_release(&defaults);
    return status;
}

int tuning_job_request(struct tuning_job *job, struct compile_pool *pool, size_t index,
                       struct error *error)
{
    return request(job, pool, &job->study.results[index].parameters, false,
                   &job->compile_jobs[index], error);
}

bool tuning_job_compiled(const struct tuning_job *job, size_t index)
{
    enum outcome outcome = job->study.results[index].outcome;
    return job->known[index] && (outcome == OUTCOME_COMPILED || outcome == OUTCOME_NOT_RESIDENT);
}

/* Whether the variant has to be compiled: for its outcome, or for its instructions. */
static bool to_compile(const struct tuning_job *job, size_t index)
{
    return !job->known[index] || (job->instructions && tuning_job_compiled(job, index) &&
                                  job->study.results[index].instructions == NULL);
}

void tuning_job_shuffle(struct tuning_job *job, bool instructions)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    job->instructions = instructions;
    for (size_t i = 0; i < job->study.result_count; i++)
        if (to_compile(job, i))
            *ARRAY_APPEND(job->order, job->order_count) = i;
    statistics_shuffle(job->order, job->order_count, &state);
}

int tuning_job_compile(struct tuning_job *job, struct compile_pool *pool, struct error *error)
{
    tuning_job_shuffle(job, false);
    return tuning_job_request_reference(job, pool, error);
}

int tuning_job_compile_next(struct tuning_job *job, struct compile_pool *pool, struct error *error)
{
    while (job->requested < job->order_count) {
        size_t index = job->order[job->requested++];
        if (!to_compile(job, index) || job->compile_jobs[index] != NULL)
            continue;
        int status = tuning_job_request(job, pool, index, error);
        return status != 0 ? status : 1;
    }
    return 0;
}

void tuning_job_drop(struct tuning_job *job, struct compile_pool *pool, size_t index)
{
    if (job->compile_jobs[index] != NULL)
        compile_pool_drop(pool, job->compile_jobs[index]);
    job->compile_jobs[index] = NULL;
}

void tuning_job_drop_all(struct tuning_job *job, struct compile_pool *pool)
{
    for (size_t i = 0; i < job->study.result_count; i++)
        tuning_job_drop(job, pool, i);
    if (job->reference != NULL)
        compile_pool_drop(pool, job->reference);
    job->reference = NULL;
    job->requested = job->order_count;
}

int tuning_job_check_references(const struct tuning_job *job, struct error *error)
{
    const struct compile_job *compile = job->reference;
    struct scope scope = {&job->fixed, NULL};
    struct compilation image = {0};
    bool found = false;
    if (compile == NULL || !compile->has_cubin)
        return 0;
    int status = cubin_cache_read(compile->path, &image, &found, error);
    struct launch_check check = {.template = &job->kernel->template,
                                 .gpu = &job->study.environment.gpu,
                                 .compilation = &image};
    if (status == 0 && found)
        status = launch_check_references(&check, &scope, error);
    compilation_release(&image);
    return status;
}

struct kernel_stats_source tuning_job_stats_source(const struct tuning_job *job, size_t index)
{
    return (struct kernel_stats_source){
        .template = &job->kernel->template,
        .gpu = &job->study.environment.gpu,
        .fixed = &job->fixed,
        .parameters = &job->study.results[index].parameters,
        .compilation = &job->compile_jobs[index]->compilation,
    };
}

void tuning_job_conclude(struct tuning_job *job, size_t index, enum outcome outcome,
                         const char *reason)
{
    struct result *result = &job->study.results[index];
    result->outcome = outcome;
    free(result->reason);
    result->reason = reason != NULL && reason[0] != '\0' ? alloc_string(reason) : NULL;
    result->limit_s = 0;
    job->known_count += !job->known[index];
    job->known[index] = true;
}

void tuning_job_give_up(struct tuning_job *job, size_t index, enum outcome outcome,
                        const char *reason, double limit_s, bool killed)
{
    tuning_job_conclude(job, index, outcome, reason);
    job->study.results[index].limit_s = killed ? LIMIT_KILLED_S : limit_s;
}

void tuning_job_take_answer(struct tuning_job *job, size_t index,
                            const struct gpu_client_answer *answer)
{
    double limit_s = answer->outcome == OUTCOME_TIMEOUT ? job->launch_timeout_s : 0;
    tuning_job_give_up(job, index, answer->outcome, answer->reason, limit_s, answer->killed);
}
