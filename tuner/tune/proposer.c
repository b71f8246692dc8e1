#include "tune/proposer.h"

#include "base/alloc.h"
#include "search/search.h"
#include "template/variant.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1 };

struct proposer {
    const struct sweep_kernel *kernel;
    struct search_space *space;
    struct search *search;
    size_t dimensions;
    uint32_t *point;          /* of the call at hand */
    struct bindings *untried; /* proposed and taken back; the last is proposed next */
    size_t untried_count;
};

struct proposer *proposer_new(const struct sweep_kernel *kernel, const struct bindings *fixed,
                              size_t evaluations)
{
    struct proposer *proposer = alloc_zeroed(1, sizeof *proposer);
    const struct search_options options = {.seed = SEED, .evaluations = evaluations};
    proposer->kernel = kernel;
    proposer->space = search_space_new(&kernel->template, kernel->values, kernel->constraints,
                                       kernel->constraint_count, fixed);
    proposer->search = search_new(proposer->space, &options);
    proposer->dimensions = search_space_dimensions(proposer->space);
    proposer->point = alloc_zeroed(proposer->dimensions, sizeof *proposer->point);
    return proposer;
}

void proposer_free(struct proposer *proposer)
{
    if (proposer == NULL)
        return;
    search_free(proposer->search);
    search_space_free(proposer->space);
    for (size_t i = 0; i < proposer->untried_count; i++)
        bindings_release(&proposer->untried[i]);
    free(proposer->untried);
    free(proposer->point);
    free(proposer);
}

int proposer_has(struct proposer *proposer, const struct bindings *parameters, struct error *error)
{
    return search_space_point(proposer->space, parameters, proposer->point)
               ? search_space_has(proposer->space, proposer->point, error)
               : 0;
}

/* INFINITY: it failed; NAN: nothing is known of it. */
static double time_of(const struct study *study, const struct result *result)
{
    const struct result *run = study_run(study, result);
    if (run->outcome == OUTCOME_MEASURED)
        return run->time.median_ns > 0 ? run->time.median_ns : NAN;
    return run->outcome == OUTCOME_DUPLICATE || run->outcome == OUTCOME_COMPILED ? NAN
                                                                                 : SEARCH_FAILED;
}

/* Whether the space has the result's point. What an older version of the template did not have as a
 * parameter had its default. */
static bool find_point(const struct proposer *proposer, const struct bindings *defaults,
                       const struct result *result, uint32_t *point)
{
    struct bindings all = {0};
    bindings_copy(&all, defaults);
    for (size_t i = 0; i < result->parameters.count; i++)
        bindings_set(&all, result->parameters.items[i].name, result->parameters.items[i].value);
    bool found = search_space_point(proposer->space, &all, point);
    bindings_release(&all);
    return found;
}

void proposer_know(struct proposer *proposer, const struct study *study)
{
    uint32_t *points = alloc_zeroed(study->result_count * proposer->dimensions, sizeof *points);
    double *times_ns = alloc_zeroed(study->result_count, sizeof *times_ns);
    struct bindings defaults = {0};
    size_t count = 0;
    variant_defaults(&proposer->kernel->template, &defaults);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        uint32_t *point = points + count * proposer->dimensions;
        times_ns[count] = time_of(study, result);
        count += !isnan(times_ns[count]) && find_point(proposer, &defaults, result, point);
    }
    search_know(proposer->search, points, times_ns, count);
    bindings_release(&defaults);
    free(points);
    free(times_ns);
}

void proposer_take_back(struct proposer *proposer, const struct bindings *parameters)
{
    if (search_space_point(proposer->space, parameters, proposer->point) &&
        search_has(proposer->search, proposer->point))
        bindings_copy(ARRAY_APPEND(proposer->untried, proposer->untried_count), parameters);
}

void proposer_limit(struct proposer *proposer, int64_t end_ns)
{
    search_space_limit(proposer->space, end_ns);
}

int proposer_next(struct proposer *proposer, struct bindings *parameters, bool *late,
                  struct error *error)
{
    *late = false;
    if (proposer->untried_count > 0) {
        bindings_release(parameters);
        *parameters = proposer->untried[--proposer->untried_count];
        return 1;
    }
    int status = search_propose(proposer->search, 1, proposer->point, error);
    if (status == 1)
        search_space_bindings(proposer->space, proposer->point, parameters);
    *late = status == 0 && search_space_is_over(proposer->space);
    return status;
}

void proposer_tell(struct proposer *proposer, const struct bindings *parameters, double time_ns)
{
    if (!search_space_point(proposer->space, parameters, proposer->point))
        return;
    search_tell(proposer->search, proposer->point, time_ns > 0 ? time_ns : SEARCH_FAILED);
}
