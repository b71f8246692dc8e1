#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS_LEAST =
        8,           /* that succeeded, for a source to be compared; one with fewer only suggests */
    SUGGESTIONS = 4, /* in all */
    COMPARED = 24,   /* first evaluations, at most, that a source is judged by; at least … */
    COMPARED_LEAST = 6,
    ROWS = 192, /* points that a source predicts others from, at most */
    LEARNT_FROM = 128
};

static const double agreement_least = 0.35; /* rank correlation */

static void release_known_source(struct known_source *source)
{
    point_table_release(&source->points);
    free(source->targets);
    free(source->ranking);
    free(source->weights);
    if (source->learnt)
        gaussian_process_release(&source->process);
}

void known_results_release(struct known_results *known)
{
    for (size_t i = 0; i < known->count; i++)
        release_known_source(&known->sources[i]);
    free(known->sources);
    *known = (struct known_results){0};
}

/* --- adding --- */

void known_results_add(struct known_results *known, size_t dimensions, const uint32_t *points,
                       const double *times_ns, size_t count)
{
    struct known_source source = {.points.dimensions = dimensions};
    double *times = alloc_zeroed(count, sizeof *times);
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *point = points + i * dimensions;
        if (point_table_find(&source.points, point) != POINT_NONE)
            continue;
        times[point_table_add(&source.points, point)] = times_ns[i];
        finite += isfinite(times_ns[i]) ? 1 : 0;
    }
    if (finite > 0) {
        source.succeeded = finite;
        source.targets = alloc_zeroed(source.points.count, sizeof *source.targets);
        targets_from_times(times, source.points.count, source.targets);
        source.ranking = ranking_new(times, source.points.count);
        known->chosen = NULL;
        *ARRAY_APPEND(known->sources, known->count) = source;
    } else {
        release_known_source(&source);
    }
    free(times);
}

const uint32_t *known_results_suggest(struct known_results *known)
{
    size_t suggested = 0;
    struct known_source *next = NULL;
    for (size_t i = 0; i < known->count; i++) {
        struct known_source *source = &known->sources[i];
        suggested += source->suggested;
        if (source->suggested < source->succeeded &&
            (next == NULL || source->suggested < next->suggested))
            next = source;
    }
    if (next == NULL || suggested >= SUGGESTIONS)
        return NULL;
    return point_table_at(&next->points, next->ranking[next->suggested++]);
}

/* --- predicting --- */

/* Chooses the rows of a source's process, half of them the fastest, in random order, since the first
 * ones are learnt from. Returns how many. */
static size_t choose_rows(const struct known_source *source, const uint32_t *points[ROWS],
                          double targets[ROWS])
{
    size_t count = source->points.count < ROWS ? source->points.count : ROWS;
    uint64_t random = 1;
    size_t *order = alloc_zeroed(source->points.count, sizeof *order);
    memcpy(order, source->ranking, source->points.count * sizeof *order);
    ranking_sample(order, source->points.count, ROWS, &random);
    statistics_shuffle(order, count, &random);
    for (size_t i = 0; i < count; i++) {
        points[i] = point_table_at(&source->points, order[i]);
        targets[i] = source->targets[order[i]];
    }
    free(order);
    return count;
}

static void learn(struct known_source *source, const struct search_space *space)
{
    const uint32_t *points[ROWS];
    double targets[ROWS];
    size_t count = choose_rows(source, points, targets);
    struct gaussian_process *process = &source->process;
    gaussian_process_init(process, space, count);
    likelihood_learn(&process->covariance, points, targets,
                     count < LEARNT_FROM ? count : LEARNT_FROM);
    gaussian_process_clear(process);
    for (size_t i = 0; i < count; i++)
        gaussian_process_add(process, points[i]);
    (void)gaussian_process_tell(process, targets, NULL);
    source->weights = alloc_zeroed(count, sizeof *source->weights);
    gaussian_process_solve(process, source->weights);
    source->learnt = true;
}

static double expect(const struct known_source *source, const uint32_t *point)
{
    ptrdiff_t position = point_table_find(&source->points, point);
    return position != POINT_NONE ? source->targets[position]
                                  : gaussian_process_mean(&source->process, source->weights, point);
}

double known_results_expect(const struct known_results *known, const uint32_t *point)
{
    return known->chosen != NULL ? expect(known->chosen, point) : 0;
}

/* --- choosing --- */

/* Each number's rank among all; equal ones share theirs. */
static void rank_numbers(const double *numbers, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < count; j++)
            ranks[i] += numbers[j] < numbers[i] ? 1 : numbers[j] == numbers[i] ? 0.5 : 0;
    }
}

/* Spearman's rank correlation, ties included; 0 if all are equal. */
static double rank_correlation(const double *a, const double *b, size_t count)
{
    double left[COMPARED];
    double right[COMPARED];
    double products = 0;
    double left_squares = 0;
    double right_squares = 0;
    rank_numbers(a, count, left);
    rank_numbers(b, count, right);
    for (size_t i = 0; i < count; i++) {
        double mean = 0.5 * (double)count;
        products += (left[i] - mean) * (right[i] - mean);
        left_squares += (left[i] - mean) * (left[i] - mean);
        right_squares += (right[i] - mean) * (right[i] - mean);
    }
    double squares = left_squares * right_squares;
    return squares > 0 ? products / sqrt(squares) : 0;
}

void known_results_choose(struct known_results *known, const struct history *history,
                          const struct search_space *space)
{
    double times[COMPARED];
    double expected[COMPARED];
    double highest = agreement_least;
    size_t count = history->told_count < COMPARED ? history->told_count : COMPARED;
    known->chosen = NULL;
    for (size_t i = 0; i < known->count && count >= COMPARED_LEAST; i++) {
        struct known_source *source = &known->sources[i];
        if (source->succeeded < POINTS_LEAST)
            continue;
        if (!source->learnt)
            learn(source, space);
        for (size_t j = 0; j < count; j++) {
            times[j] = history->times[history->told[j]];
            expected[j] = expect(source, point_table_at(&history->points, history->told[j]));
        }
        double correlation = rank_correlation(times, expected, count);
        if (correlation > highest) {
            highest = correlation;
            known->chosen = source;
        }
    }
}
