#include "cover/nominees.h"

#include "base/alloc.h"
#include "cover/choice.h"
#include "cover/losses.h"

#include <math.h>
#include <stdlib.h>

enum { FASTEST = 6 /* of each size that are looked at */ };

/* What a configuration loses more, for each octave between a size and one where it was tried. */
static const double loss_per_octave = 0.05;

/* A nominee costs time, but nothing in the application. */
static const double worth_nominating = 0.0001;

/* Others must lower loss_objective() by as much before everything is measured again. */
static const double worth_adding = 0.002;

static size_t find(const struct nominees *candidates, const struct bindings *parameters)
{
    size_t i = 0;
    while (i < candidates->count && !bindings_equal(&candidates->items[i], parameters))
        i++;
    return i;
}

bool nominees_add(struct nominees *candidates, const struct bindings *parameters)
{
    if (find(candidates, parameters) < candidates->count)
        return false;
    bindings_copy(ARRAY_APPEND(candidates->items, candidates->count), parameters);
    return true;
}

void nominees_release(struct nominees *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        bindings_release(&candidates->items[i]);
    free(candidates->items);
    *candidates = (struct nominees){0};
}

static double time_of(const struct study *study, const struct result *result)
{
    const struct result *run = study_run(study, result);
    return run->outcome == OUTCOME_MEASURED && run->time.median_ns > 0 ? run->time.median_ns
                                                                       : TIME_FAILED;
}

double *nominees_times(const struct nominees *candidates, const struct study *studies, size_t count)
{
    double *times = alloc_zeroed(candidates->count * count, sizeof *times);
    for (size_t i = 0; i < count; i++) {
        const struct study *study = &studies[i];
        bool partial = study->result_count == 0 || study_is_partial(study);
        double absent = partial ? TIME_MISSING : TIME_RULED_OUT;
        for (size_t j = 0; j < candidates->count; j++)
            times[j * count + i] = absent;
        for (size_t j = 0; j < study->result_count; j++) {
            size_t index = find(candidates, &study->results[j].parameters);
            if (index < candidates->count)
                times[index * count + i] = time_of(study, &study->results[j]);
        }
    }
    return times;
}

/* The fastest few of each study that were run themselves. */
static void shortlist(struct nominees *list, const struct study *studies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct study *study = &studies[i];
        size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
        size_t measured = study_count(study, OUTCOME_MEASURED);
        study_rank(study, ranking);
        for (size_t j = 0; j < measured && j < FASTEST; j++)
            (void)nominees_add(list, &study->results[ranking[j]].parameters);
        free(ranking);
    }
}

/* Estimates what one loses at a size at which it was not tried. */
static double estimate(const struct losses *losses, const double *times, const struct sizes *sizes,
                       size_t candidate, size_t size)
{
    double least = LOSS_MISSING;
    for (size_t i = 0; i < sizes->count; i++) {
        if (times[candidate * sizes->count + i] <= 0)
            continue;
        double distance = sizes_distance(sizes_at(sizes, i), sizes_at(sizes, size), sizes->axes);
        least = fmin(least, losses_of(losses, candidate, i) + loss_per_octave * distance);
    }
    return least;
}

static void estimate_missing(struct losses *losses, const double *times, const struct sizes *sizes)
{
    for (size_t i = 0; i < losses->configurations; i++)
        for (size_t size = 0; size < sizes->count; size++) {
            double *value = &losses->values[i * sizes->count + size];
            double time = times[i * sizes->count + size];
            if (time <= 0 && time > TIME_FAILED)
                *value = estimate(losses, times, sizes, i, size);
        }
}

/* The objective of all that are in `candidates` together. */
static double objective_of(const struct nominees *candidates, const struct nominees *list,
                           const struct losses *losses)
{
    size_t *chosen = alloc_zeroed(candidates->count, sizeof *chosen);
    for (size_t i = 0; i < candidates->count; i++)
        chosen[i] = find(list, &candidates->items[i]);
    double objective = loss_objective(choice_loss(losses, chosen, candidates->count));
    free(chosen);
    return objective;
}

bool nominees_nominate(struct nominees *candidates, const struct study *studies,
                       const struct sizes *sizes, const double *weights, size_t limit)
{
    struct nominees list = {0};
    struct losses losses;
    size_t chosen[NOMINEES_LIMIT];
    bool added = false;
    for (size_t i = 0; i < candidates->count; i++)
        (void)nominees_add(&list, &candidates->items[i]);
    shortlist(&list, studies, sizes->count);
    double *times = nominees_times(&list, studies, sizes->count);
    losses_init(&losses, times, list.count, sizes->count, weights);
    estimate_missing(&losses, times, sizes);
    size_t count = choice_make(&losses, limit, worth_nominating, chosen);
    double least = loss_objective(choice_loss(&losses, chosen, count));
    if (candidates->count == 0 || objective_of(candidates, &list, &losses) > least + worth_adding)
        for (size_t i = 0; i < count && candidates->count < NOMINEES_LIMIT; i++)
            added = nominees_add(candidates, &list.items[chosen[i]]) || added;
    losses_release(&losses);
    free(times);
    nominees_release(&list);
    return added;
}
