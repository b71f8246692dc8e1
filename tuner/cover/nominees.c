#include "cover/nominees.h"

#include "base/alloc.h"
#include "cover/selection.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { FASTEST = 6 /* of each size that are looked at */ };

/* What a configuration loses more, for each octave between a size and one where it was tried. */
static const double loss_per_octave = 0.05;

/* A nominee costs time, but nothing in the application. */
static const double worth_nominating = 0.0001;

/* Slower than the fastest at a size by more than this share, one is not nominated for being among the
 * fastest few there. */
static const double most_behind = 0.1;

static size_t find(const struct nominees *nominees, const struct bindings *parameters)
{
    size_t i = 0;
    while (i < nominees->count && !bindings_equal(&nominees->items[i], parameters))
        i++;
    return i;
}

bool nominees_has(const struct nominees *nominees, const struct bindings *parameters)
{
    return find(nominees, parameters) < nominees->count;
}

bool nominees_add(struct nominees *nominees, const struct bindings *parameters)
{
    if (nominees_has(nominees, parameters))
        return false;
    bindings_copy(ARRAY_APPEND(nominees->items, nominees->count), parameters);
    return true;
}

void nominees_release(struct nominees *nominees)
{
    for (size_t i = 0; i < nominees->count; i++)
        bindings_release(&nominees->items[i]);
    free(nominees->items);
    *nominees = (struct nominees){0};
}

static double time_of(const struct study *study, const struct result *result)
{
    const struct result *run = study_run(study, result);
    return run->outcome == OUTCOME_MEASURED && run->time.median_ns > 0 ? run->time.median_ns
                                                                       : TIME_FAILED;
}

double *nominees_times(const struct nominees *nominees, const struct study *studies, size_t count)
{
    double *times_ns = alloc_zeroed(nominees->count * count, sizeof *times_ns);
    for (size_t i = 0; i < count; i++) {
        const struct study *study = &studies[i];
        bool partial = study->result_count == 0 || study_is_partial(study);
        double absent = partial ? TIME_MISSING : TIME_RULED_OUT;
        for (size_t j = 0; j < nominees->count; j++)
            times_ns[j * count + i] = absent;
        for (size_t j = 0; j < study->result_count; j++) {
            size_t index = find(nominees, &study->results[j].parameters);
            if (index < nominees->count)
                times_ns[index * count + i] = time_of(study, &study->results[j]);
        }
    }
    return times_ns;
}

/* The fastest few of a study that were run themselves, the fastest first; NULL for one that is far behind. */
struct podium {
    const struct bindings *items[FASTEST];
};

static struct podium find_fastest(const struct study *study, const struct nominees *refuted)
{
    struct podium podium = {0};
    const struct result *fastest = NULL;
    size_t place = 0;
    size_t count = study_count(study, OUTCOME_MEASURED);
    size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
    study_rank(study, ranking);
    for (size_t rank = 0; rank < count && place < FASTEST; rank++) {
        const struct result *own = &study->results[ranking[rank]];
        if (nominees_has(refuted, &own->parameters))
            continue;
        fastest = fastest != NULL ? fastest : own;
        if (time_of(study, own) <= time_of(study, fastest) * (1 + most_behind))
            podium.items[place] = &own->parameters;
        place++;
    }
    free(ranking);
    return podium;
}

/* Of each study first the fastest, then the second, …, until the list has `limit`. */
static void shortlist(struct nominees *list, const struct podium *podiums, size_t count,
                      size_t limit)
{
    for (size_t rank = 0; rank < FASTEST; rank++)
        for (size_t i = 0; i < count && list->count < limit; i++)
            if (podiums[i].items[rank] != NULL)
                (void)nominees_add(list, podiums[i].items[rank]);
}

/* Estimates what one loses at a size at which it was not tried. */
static double estimate(const struct losses *losses, const double *times, const struct sizes *sizes,
                       size_t nominee, size_t size)
{
    double least = LOSS_MISSING;
    for (size_t i = 0; i < sizes->count; i++) {
        if (times[nominee * sizes->count + i] <= 0)
            continue;
        double distance = sizes_distance(sizes_at(sizes, i), sizes_at(sizes, size), sizes->axes);
        least = fmin(least, losses_of(losses, nominee, i) + loss_per_octave * distance);
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

bool nominees_nominate(struct nominees *nominees, const struct nominees *refuted,
                       const struct study *studies, const struct sizes *sizes, size_t limit,
                       size_t most)
{
    struct nominees list = {0};
    struct losses losses;
    size_t chosen[NOMINEES_LIMIT];
    size_t before = nominees->count;
    struct podium *podiums = alloc_zeroed(sizes->count, sizeof *podiums);
    for (size_t i = 0; i < sizes->count; i++)
        podiums[i] = find_fastest(&studies[i], refuted);
    for (size_t i = 0; i < nominees->count; i++)
        (void)nominees_add(&list, &nominees->items[i]);
    shortlist(&list, podiums, sizes->count, SIZE_MAX);
    double *times = nominees_times(&list, studies, sizes->count);
    losses_init(&losses, times, list.count, sizes->count);
    estimate_missing(&losses, times, sizes);
    size_t count = choice_make(&losses, limit, worth_nominating, chosen);
    for (size_t i = 0; i < count && nominees->count < NOMINEES_LIMIT; i++)
        (void)nominees_add(nominees, &list.items[chosen[i]]);
    shortlist(nominees, podiums, sizes->count, most);
    losses_release(&losses);
    free(times);
    free(podiums);
    nominees_release(&list);
    return nominees->count > before;
}
