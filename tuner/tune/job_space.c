#include "tune/tuning_job.h"

#include "base/alloc.h"
#include "search/search.h"
#include "template/footprint.h"
#include "template/space.h"
#include "template/variant.h"
#include "tune/kernel_stats.h"

#include <stdlib.h>
#include <string.h>

int job_memory_check(const struct tuning_job *job, struct error *error)
{
    const struct template *template = &job->kernel->template;
    const struct footprint footprint = footprint_of(template, &job->fixed, NULL, job->kernel->cold);
    uint64_t there = (uint64_t)job->study.environment.gpu.memory_bytes;
    return footprint.bytes <= there ? 0
                                    : footprint_refuse(&footprint, template, job->problem, there,
                                                       "is all that the GPU has", error);
}

/* A space of at most so many points is counted for a search, which takes a fraction of a second. */
enum { COUNTED_POINTS = 2000000 };

/* --- results from the record, found by their parameters --- */

struct stored {
    char *text; /* bindings_text() of the parameters */
    struct result *result;
};

/* What the record had, until it is taken over or dropped. */
struct stored_results {
    struct result *results;
    size_t count;
    struct stored *sorted; /* each of these */
    size_t judged_count;
    char *winner; /* its parameters, or NULL */
};

static int compare_stored(const void *a, const void *b)
{
    return strcmp(((const struct stored *)a)->text, ((const struct stored *)b)->text);
}

static size_t count_judged(const struct result *results, size_t count)
{
    size_t judged = 0;
    for (size_t i = 0; i < count; i++)
        judged += results[i].judged;
    return judged;
}

/* Moves the study's results here. */
static void stored_results_take(struct stored_results *stored, struct study *study)
{
    *stored = (struct stored_results){
        .results = study->results,
        .count = study->result_count,
        .judged_count = count_judged(study->results, study->result_count),
        .winner =
            study->has_winner ? bindings_text(&study->results[study->winner].parameters) : NULL};
    study->results = NULL;
    study->result_count = 0;
    study->has_winner = false;
    stored->sorted = alloc_zeroed(stored->count, sizeof *stored->sorted);
    for (size_t i = 0; i < stored->count; i++)
        stored->sorted[i] =
            (struct stored){bindings_text(&stored->results[i].parameters), &stored->results[i]};
    if (stored->count > 0)
        qsort(stored->sorted, stored->count, sizeof *stored->sorted, compare_stored);
}

static void stored_results_release(struct stored_results *stored)
{
    for (size_t i = 0; i < stored->count; i++) {
        free(stored->sorted[i].text);
        result_release(&stored->results[i]);
    }
    free(stored->sorted);
    free(stored->results);
    free(stored->winner);
}

/* Whether the constraints on compiled kernels decide as they did: the sweep may have other ones now. */
static bool is_decided_alike(const struct tuning_job *job, const struct result *result)
{
    const struct sweep_kernel *kernel = job->kernel;
    const struct kernel_stats_source source = {.template = &kernel->template,
                                               .gpu = &job->study.environment.gpu,
                                               .fixed = &job->fixed,
                                               .parameters = &result->parameters};
    bool allowed = true;
    size_t index = 0;
    if (result->decided_by == NULL &&
        (!result->stats.known || result->outcome == OUTCOME_INVALID ||
         result->outcome == OUTCOME_NOT_RESIDENT || result->outcome == OUTCOME_LAUNCH_ERROR))
        return true; /* that was decided before */
    int status = kernel_stats_allowed(&source, &result->stats, kernel->constraints,
                                      kernel->constraint_count, &allowed, &index, NULL);
    if (status == 0 && allowed)
        return result->decided_by == NULL;
    return result->decided_by != NULL &&
           strcmp(result->decided_by, expression_text(kernel->constraints[index])) == 0;
}

/* Whether this run allows no more time or memory than the one that gave the variant up, and decides as that did. */
static bool still_holds(const struct tuning_job *job, const struct result *result)
{
    double limit_s =
        result->outcome == OUTCOME_COMPILE_ERROR ? job->compile_timeout_s : job->launch_timeout_s;
    if ((result->limit_mb > 0 && job->compile_memory_mb > result->limit_mb) ||
        (result->limit_s > 0 && limit_s > result->limit_s))
        return false;
    return is_decided_alike(job, result);
}

/* Gives result `index` what is stored of its parameters, if there is any that holds. */
static void take_stored(struct tuning_job *job, struct stored_results *stored, size_t index)
{
    struct result *result = &job->study.results[index];
    if (stored->count == 0) /* as in most runs, of perhaps millions of variants */
        return;
    struct stored wanted = {.text = bindings_text(&result->parameters)};
    const struct stored *found =
        bsearch(&wanted, stored->sorted, stored->count, sizeof wanted, compare_stored);
    free(wanted.text);
    if (found == NULL || !still_holds(job, found->result))
        return;
    struct result *from = found->result;
    struct bindings parameters = result->parameters;
    *result = *from;
    from->parameters = parameters; /* to be released */
    from->reason = NULL;
    from->decided_by = NULL;
    from->other_launches = NULL;
    from->samples_ns = NULL;
    job->known[index] = true;
    job->known_count++;
}

/* Keeps the record's verdict if it is on exactly these variants. A verdict on other variants, fewer
 * or more, does not count, and neither do its marks. */
static void keep_verdict(struct tuning_job *job, const struct stored_results *stored)
{
    struct study *study = &job->study;
    study->complete = study->complete && stored->judged_count == study->result_count &&
                      count_judged(study->results, study->result_count) == study->result_count;
    if (!study->complete)
        tuning_job_take_environment(job);
    for (size_t i = 0; i < study->result_count; i++) {
        struct result *result = &study->results[i];
        if (!study->complete) { /* finalists that failed may have led others astray */
            job->disqualified =
                job->disqualified || (result->finalist && result->outcome != OUTCOME_MEASURED);
            result->finalist = result->tied = result->judged = false;
            continue;
        }
        char *text = bindings_text(&result->parameters);
        if (stored->winner != NULL && strcmp(text, stored->winner) == 0) {
            study->has_winner = true;
            study->winner = i;
        }
        free(text);
    }
}

/* --- enumerating --- */

static struct space *new_space(const struct tuning_job *job)
{
    return space_new(&job->kernel->template, job->kernel->values, job->kernel->constraints,
                     job->kernel->constraint_count, &job->fixed);
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

/* What the space has, as far as it was visited, and for the report which constraint rejected how many points. */
static void note_space(struct tuning_job *job, const struct space *space)
{
    struct study *study = &job->study;
    study->points = space_points(space);
    study->rejected = space_rejected(space);
    for (size_t i = 0; i < job->kernel->constraint_count; i++) {
        uint64_t points = space_rejected_by(space, i);
        if (points == 0)
            continue;
        struct rejection *rejection = ARRAY_APPEND(study->rejections, study->rejection_count);
        rejection->constraint = alloc_string(expression_text(job->kernel->constraints[i]));
        rejection->points = points;
    }
}

int job_space_enumerate(struct tuning_job *job, struct error *error)
{
    struct stored_results stored;
    struct bindings parameters = {0};
    struct space *space = new_space(job);
    uint64_t count = 0;
    int status = 0;
    if (space_points(space) > SPACE_VARIANT_LIMIT) { /* counted before anything is stored */
        status = space_count(space, SPACE_VARIANT_LIMIT, &count, error);
        space_free(space);
        space = new_space(job);
    }
    if (status == 0 && count > SPACE_VARIANT_LIMIT)
        status = sweep_too_many(job->kernel, error);
    if (status != 0) {
        space_free(space);
        return status;
    }
    stored_results_take(&stored, &job->study);
    while ((status = space_next(space, &parameters, error)) == 1)
        take_stored(job, &stored, tuning_job_add(job, &parameters));
    bindings_release(&parameters);
    note_space(job, space);
    space_free(space);
    forget_orphans(job);
    keep_verdict(job, &stored);
    stored_results_release(&stored);
    return status;
}

/* --- searching --- */

enum { SEED = 1 };

struct proposer {
    struct search_space *space;
    struct search *search;
    size_t dimensions;
    uint32_t *point;          /* of the call at hand */
    struct bindings *untried; /* proposed and taken back; the last is proposed next */
    size_t untried_count;
};

void tuning_job_end_search(struct tuning_job *job)
{
    struct proposer *proposer = job->proposer;
    if (proposer == NULL)
        return;
    search_free(proposer->search);
    search_space_free(proposer->space);
    for (size_t i = 0; i < proposer->untried_count; i++)
        bindings_release(&proposer->untried[i]);
    free(proposer->untried);
    free(proposer->point);
    free(proposer);
    job->proposer = NULL;
}

bool tuning_job_is_searching(const struct tuning_job *job)
{
    return job->proposer != NULL && !job->exhausted &&
           (job->evaluations == 0 || job->study.result_count < job->evaluations);
}

int tuning_job_propose(struct tuning_job *job, int64_t end_ns, size_t *index, struct error *error)
{
    struct proposer *proposer = job->proposer;
    struct bindings parameters = {0};
    int status = 1;
    if (!tuning_job_is_searching(job))
        return 0;
    search_space_limit(proposer->space, end_ns);
    if (proposer->untried_count > 0)
        parameters = proposer->untried[--proposer->untried_count];
    else
        status = search_propose(proposer->search, 1, proposer->point, error);
    if (status == 1 && parameters.items == NULL)
        search_space_bindings(proposer->space, proposer->point, &parameters);
    if (status == 1)
        *index = tuning_job_add(job, &parameters);
    job->exhausted = status == 0 && !search_space_is_over(proposer->space);
    bindings_release(&parameters);
    return status;
}

void tuning_job_tell(struct tuning_job *job, size_t index, const struct result *run)
{
    const struct study *study = &job->study;
    struct proposer *proposer = job->proposer;
    if (proposer == NULL ||
        !search_space_point(proposer->space, &study->results[index].parameters, proposer->point))
        return;
    double ratio = study_gpus_ratio(study->gpus, study->gpu_count, run->gpu);
    double time_ns = run->outcome == OUTCOME_MEASURED ? run->time.median_ns / ratio : 0;
    search_tell(proposer->search, proposer->point, time_ns > 0 ? time_ns : SEARCH_FAILED);
}

void tuning_job_know(struct tuning_job *job, const struct study *study)
{
    struct proposer *proposer = job->proposer;
    uint32_t *points = alloc_zeroed(study->result_count * proposer->dimensions, sizeof *points);
    double *times_ns = alloc_zeroed(study->result_count, sizeof *times_ns);
    size_t count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        const struct result *run = study_run(study, result);
        struct bindings all = {
            0}; /* what an older version of the template did not have had its default */
        times_ns[count] = run->outcome == OUTCOME_MEASURED ? run->time.median_ns : SEARCH_FAILED;
        if (run->outcome == OUTCOME_DUPLICATE || run->outcome == OUTCOME_COMPILED ||
            !(times_ns[count] > 0)) /* nothing is known of it */
            continue;
        variant_defaults(&job->kernel->template, &all);
        for (size_t j = 0; j < result->parameters.count; j++)
            bindings_set(&all, result->parameters.items[j].name, result->parameters.items[j].value);
        count += search_space_point(proposer->space, &all, points + count * proposer->dimensions);
        bindings_release(&all);
    }
    search_know(proposer->search, points, times_ns, count);
    free(points);
    free(times_ns);
}

void tuning_job_drop_untried(struct tuning_job *job)
{
    struct proposer *proposer = job->proposer;
    struct study *study = &job->study;
    size_t kept = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        if (!job->known[i]) {
            const struct bindings *parameters = &study->results[i].parameters;
            if (search_space_point(proposer->space, parameters, proposer->point) &&
                search_has(proposer->search, proposer->point))
                bindings_copy(ARRAY_APPEND(proposer->untried, proposer->untried_count), parameters);
            tuning_job_drop(job, i);
            result_release(&study->results[i]);
            continue;
        }
        study->results[kept] = study->results[i];
        job->compile_jobs[kept] = job->compile_jobs[i];
        job->known[kept++] = true;
    }
    if (kept < study->result_count)
        job->exhausted = false; /* what was taken back can be proposed again */
    study->result_count = kept;
    job->order_count = job->requested = 0;
}

/* Counts the space if that is quick, and estimates it otherwise. */
static int measure_space(struct tuning_job *job, int64_t end_ns, struct error *error)
{
    struct study *study = &job->study;
    struct space *space = new_space(job);
    uint64_t count = 0;
    double size = 0;
    int status = 0;
    bool counted = space_points(space) <= COUNTED_POINTS;
    space_limit(space, end_ns);
    if (counted) {
        status = space_count(space, COUNTED_POINTS, &count, error);
        counted = status != 0 || !space_is_over(space);
    }
    if (counted) {
        note_space(job, space);
        job->exhausted = status == 0 && job->known_count == count;
    } else {
        status = space_size_estimate(space, job->kernel->values,
                                     job->kernel->template.parameter_count, &size, error);
        study->points = space_points(space);
        study->rejected_estimated = true;
        /* above 2^53, a size of all points may be rounded up */
        study->rejected = size < (double)study->points ? study->points - (uint64_t)size : 0;
    }
    space_free(space);
    return status;
}

int job_space_search(struct tuning_job *job, size_t evaluations, int64_t end_ns,
                     struct error *error)
{
    struct stored_results stored;
    const struct search_options options = {.seed = SEED, .evaluations = evaluations};
    struct proposer *proposer = job->proposer = alloc_zeroed(1, sizeof *proposer);
    proposer->space =
        search_space_new(&job->kernel->template, job->kernel->values, job->kernel->constraints,
                         job->kernel->constraint_count, &job->fixed);
    proposer->search = search_new(proposer->space, &options);
    proposer->dimensions = search_space_dimensions(proposer->space);
    proposer->point = alloc_zeroed(proposer->dimensions, sizeof *proposer->point);
    job->evaluations = evaluations;
    stored_results_take(&stored, &job->study);
    int status = 0;
    for (size_t i = 0; i < stored.count && status >= 0; i++) { /* what is stored of the space */
        const struct bindings *parameters = &stored.results[i].parameters;
        status = search_space_point(proposer->space, parameters, proposer->point)
                     ? search_space_has(proposer->space, proposer->point, error)
                     : 0;
        if (status == 1 && still_holds(job, &stored.results[i]))
            take_stored(job, &stored, tuning_job_add(job, parameters));
    }
    forget_orphans(job);
    for (size_t i = 0; i < job->study.result_count; i++)
        if (job->known[i])
            tuning_job_tell(job, i, study_run(&job->study, &job->study.results[i]));
    tuning_job_drop_untried(job); /* orphans; none has a compile job */
    status = status < 0 ? status : measure_space(job, end_ns, error);
    if (!job->exhausted && (evaluations == 0 || job->known_count < evaluations))
        job->study.complete = false;
    keep_verdict(job, &stored);
    stored_results_release(&stored);
    return status;
}
