/*
 * Bayesian optimisation: a Gaussian process predicts, for a choice of candidates, how fast they may
 * be and how sure that is; the most promising one is proposed. It begins with points far from each
 * other. Candidates are random points, and neighbours of the fastest and of the most promising.
 *
 * The cost of a proposal does not depend on the space. It grows with the square of the number of
 * points that the process predicts from, which is limited: later, the faster half and a sample of
 * the others take their place.
 */
#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "search/candidates.h"
#include "search/gaussian_process.h"
#include "search/likelihood.h"
#include "search/targets.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_POINTS = 12, /* chosen before anything is predicted */
    FIRST_DRAWS = 20,  /* to choose each of them from */
    ROWS = 512,        /* of the process, at most */
    ROWS_KEPT = 320,   /* when it begins anew, and besides … */
    PENDING_KEPT = 64, /* of the proposals outstanding */
    LEARNT_FROM = 128, /* points that the covariance is learnt from, at most */
    CANDIDATES = 1600, /* at most */
    CANDIDATES_DRAWN = 500,
    NEIGHBOURS = 128,     /* that differ in one parameter, at most */
    FAR_NEIGHBOURS = 150, /* of the fastest: that differ in two */
    FASTEST = 3,          /* whose neighbours are candidates */
    EXPANSIONS = 12 /* most promising candidates whose neighbours are, whenever it begins anew */
};

static const double learning_growth = 1.25; /* of what was told, from one learning to the next */
static const double expansion_rate = 0.1;   /* expansions per proposal */
static const double bound_rate = 0.5;       /* of the proposals: by confidence bound */
static const double bound_most = 3;         /* standard deviations */

struct model {
    struct gaussian_process process;
    struct candidates candidates;
    size_t *positions; /* of each row in the history */
    double *times;     /* of each row */
    double *targets;
    size_t taken;         /* points of the history that are rows, or were considered for it */
    size_t tellings;      /* that the targets include */
    size_t next_learning; /* points told until then */
    ptrdiff_t best;       /* whose neighbours are candidates */
    uint32_t *point;      /* working storage */
};

static double random_fraction(struct strategy_context *context)
{
    return (double)(statistics_random(&context->random) >> 11) * 0x1p-53;
}

static size_t random_below(struct strategy_context *context, size_t count)
{
    return (size_t)((statistics_random(&context->random) >> 8) % count);
}

static void *new_model(struct strategy_context *context)
{
    struct model *model = alloc_zeroed(1, sizeof *model);
    size_t dimensions = search_space_dimensions(context->space);
    gaussian_process_init(&model->process, context->space, ROWS);
    candidates_init(&model->candidates, dimensions, CANDIDATES, ROWS);
    model->positions = alloc_zeroed(ROWS, sizeof *model->positions);
    model->times = alloc_zeroed(ROWS, sizeof *model->times);
    model->targets = alloc_zeroed(ROWS, sizeof *model->targets);
    model->point = alloc_zeroed(dimensions, sizeof *model->point);
    model->best = POINT_NONE;
    return model;
}

static void free_model(void *state)
{
    struct model *model = state;
    gaussian_process_release(&model->process);
    candidates_release(&model->candidates);
    free(model->positions);
    free(model->times);
    free(model->targets);
    free(model->point);
    free(model);
}

/* --- the first points --- */

/* The distance to the nearest point of the history. */
static double isolation(const struct model *model, const struct strategy_context *context,
                        const uint32_t *point)
{
    double nearest = INFINITY;
    for (size_t i = 0; i < context->history->points.count; i++)
        nearest = fmin(nearest, covariance_distance(&model->process.covariance, point,
                                                    point_table_at(&context->history->points, i)));
    return nearest;
}

/* Of some random points, the one farthest from the history (Johnson, Moore and Ylvisaker, Minimax
 * and maximin distance designs, 1990). */
static int choose_first(struct model *model, struct strategy_context *context, uint32_t *point,
                        struct error *error)
{
    double farthest = -1;
    for (int i = 0; i < FIRST_DRAWS; i++) {
        int status = strategy_draw(context, model->point, error);
        if (status < 0 || (status == 0 && i == 0))
            return status;
        if (status == 0)
            break;
        double distance = isolation(model, context, model->point);
        if (distance > farthest) {
            farthest = distance;
            memcpy(point, model->point, model->process.dimensions * sizeof *point);
        }
    }
    return 1;
}

/* --- candidates --- */

static int add_candidate(struct model *model, struct strategy_context *context,
                         const uint32_t *point, struct error *error)
{
    int status = search_space_has(context->space, point, error);
    if (status == 1 && !history_has(context->history, point))
        candidates_add(&model->candidates, point);
    return status < 0 ? status : 0;
}

/* The points that differ from `center` in one parameter, or a sample of them. */
static int add_neighbours(struct model *model, struct strategy_context *context,
                          const uint32_t *center, struct error *error)
{
    const struct covariance *covariance = &model->process.covariance;
    size_t all = 0;
    int status = 0;
    for (size_t i = 0; i < covariance->count; i++)
        all += covariance->parameters[i].count - 1;
    memcpy(model->point, center, model->process.dimensions * sizeof *center);
    for (size_t i = 0; i < covariance->count; i++) {
        size_t index = covariance->parameters[i].index;
        uint32_t kept = model->point[index];
        for (uint32_t value = 0; value < covariance->parameters[i].count && status == 0; value++) {
            model->point[index] = value;
            if (value != kept && (all <= NEIGHBOURS || random_below(context, all) < NEIGHBOURS))
                status = add_candidate(model, context, model->point, error);
        }
        model->point[index] = kept;
    }
    return status;
}

/* A sample of the points that differ in two parameters. */
static int add_far_neighbours(struct model *model, struct strategy_context *context,
                              const uint32_t *center, struct error *error)
{
    const struct covariance *covariance = &model->process.covariance;
    int status = 0;
    for (int i = 0; i < FAR_NEIGHBOURS && covariance->count > 0 && status == 0; i++) {
        memcpy(model->point, center, model->process.dimensions * sizeof *center);
        for (int change = 0; change < 2; change++) {
            const struct covariance_parameter *parameter =
                &covariance->parameters[random_below(context, covariance->count)];
            model->point[parameter->index] = (uint32_t)random_below(context, parameter->count);
        }
        status = add_candidate(model, context, model->point, error);
    }
    return status;
}

static int add_around(struct model *model, struct strategy_context *context, size_t position,
                      struct error *error)
{
    const struct point_table *points = &context->history->points;
    int status = add_neighbours(model, context, point_table_at(points, position), error);
    return status != 0
               ? status
               : add_far_neighbours(model, context, point_table_at(points, position), error);
}

/* The open candidate for which `score` is lowest, or POINT_NONE. */
static ptrdiff_t find_most_promising(const struct model *model)
{
    const struct candidates *candidates = &model->candidates;
    ptrdiff_t found = POINT_NONE;
    double lowest = INFINITY;
    for (size_t i = 0; i < candidates->solved; i++) {
        if (candidates->expanded[i])
            continue;
        double bound =
            (double)candidates->means[i] - candidates_deviation(candidates, &model->process, i);
        if (bound < lowest) {
            lowest = bound;
            found = (ptrdiff_t)i;
        }
    }
    return found;
}

/* Makes the neighbours of the `count` most promising candidates candidates, too. */
static int expand(struct model *model, struct strategy_context *context, int count,
                  struct error *error)
{
    struct candidates *candidates = &model->candidates;
    int status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        ptrdiff_t found = find_most_promising(model);
        if (found == POINT_NONE)
            break;
        candidates->expanded[found] = true;
        status = add_neighbours(model, context, point_table_at(&candidates->points, (size_t)found),
                                error);
    }
    if (status == 0)
        candidates_predict(candidates, &model->process);
    return status;
}

/* --- rows --- */

struct ranked {
    double time;
    size_t position;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a;
    const struct ranked *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

/* Everything told, the fastest first; a new array. If there is more than `most`, the numbers from
 * half of `most` on are a random sample of the rest. */
static struct ranked *rank_told(struct strategy_context *context, size_t most)
{
    const struct history *history = context->history;
    size_t count = history->told_count;
    struct ranked *ranked = alloc_zeroed(count, sizeof *ranked);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){history->times[history->told[i]], history->told[i]};
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = most / 2; i < most && most < count; i++) {
        size_t other = i + random_below(context, count - i);
        struct ranked moved = ranked[i];
        ranked[i] = ranked[other];
        ranked[other] = moved;
    }
    return ranked;
}

static void add_row(struct model *model, const struct strategy_context *context, size_t position)
{
    model->positions[model->process.count] = position;
    gaussian_process_add(&model->process, point_table_at(&context->history->points, position));
}

static void refresh_targets(struct model *model, const struct strategy_context *context)
{
    size_t count = model->process.count;
    for (size_t i = 0; i < count; i++)
        model->times[i] = context->history->times[model->positions[i]];
    targets_from_times(model->times, count, model->targets);
    gaussian_process_tell(&model->process, model->targets);
    model->tellings = context->history->tellings;
}

static void learn(struct model *model, struct strategy_context *context)
{
    size_t count = context->history->told_count;
    struct ranked *ranked = rank_told(context, LEARNT_FROM);
    count = count < LEARNT_FROM ? count : LEARNT_FROM;
    const uint32_t *points[LEARNT_FROM];
    double targets[LEARNT_FROM];
    for (size_t i = 0; i < count; i++) {
        points[i] = point_table_at(&context->history->points, ranked[i].position);
        model->times[i] = ranked[i].time;
    }
    targets_from_times(model->times, count, targets);
    likelihood_learn(&model->process.covariance, points, targets, count);
    free(ranked);
}

/* New rows, from what was told and what is outstanding. Returns the fastest told. */
static struct ranked *replace_rows(struct model *model, struct strategy_context *context)
{
    const struct history *history = context->history;
    struct ranked *ranked = rank_told(context, ROWS_KEPT);
    gaussian_process_clear(&model->process);
    for (size_t i = 0; i < history->told_count && i < ROWS_KEPT; i++)
        add_row(model, context, ranked[i].position);
    size_t pending = 0;
    for (size_t i = history->points.count; i-- > 0 && pending < PENDING_KEPT;)
        if (isnan(history->times[i])) {
            add_row(model, context, i);
            pending++;
        }
    model->taken = history->points.count;
    return ranked;
}

/* Begins with new rows and new candidates, and learns if that is due. */
static int begin_anew(struct model *model, struct strategy_context *context, struct error *error)
{
    size_t told = context->history->told_count;
    int status = 1;
    if (told >= model->next_learning) {
        learn(model, context);
        model->next_learning = (size_t)((double)told * learning_growth) + 1;
    }
    struct ranked *fastest = replace_rows(model, context);
    candidates_clear(&model->candidates);
    for (int i = 0; i < CANDIDATES_DRAWN && status == 1; i++) {
        status = search_space_draw(context->space, &context->random, model->point, error);
        if (status == 1 && !history_has(context->history, model->point))
            candidates_add(&model->candidates, model->point);
    }
    status = status < 0 ? status : 0;
    for (size_t i = 0; i < FASTEST && i < told && status == 0; i++)
        status = add_around(model, context, fastest[i].position, error);
    free(fastest);
    refresh_targets(model, context);
    candidates_predict(&model->candidates, &model->process);
    for (int i = 0; i < EXPANSIONS && status == 0; i += FASTEST)
        status = expand(model, context, FASTEST, error);
    model->best = context->history->best;
    return status;
}

/* Takes what was proposed and told since the last proposal. */
static int update(struct model *model, struct strategy_context *context, struct error *error)
{
    const struct history *history = context->history;
    int status = 0;
    if (history->told_count >= model->next_learning ||
        model->process.count + history->points.count - model->taken > ROWS)
        return begin_anew(model, context, error);
    for (; model->taken < history->points.count; model->taken++) {
        const uint32_t *point = point_table_at(&history->points, model->taken);
        ptrdiff_t index = point_table_find(&model->candidates.points, point);
        add_row(model, context, model->taken);
        if (index != POINT_NONE)
            model->candidates.closed[index] = true;
    }
    if (history->best != model->best)
        status = add_around(model, context, (size_t)history->best, error);
    model->best = history->best;
    bool told = history->tellings != model->tellings;
    if (told)
        refresh_targets(model, context);
    candidates_predict(&model->candidates, &model->process);
    if (told)
        candidates_weigh(&model->candidates, &model->process);
    if (status == 0 && random_fraction(context) < expansion_rate)
        status = expand(model, context, 1, error);
    return status;
}

/* --- choosing --- */

/* The expected improvement on `best` (Mockus 1978; Jones, Schonlau and Welch 1998). If that is too
 * little for a double, a number below 0 that is in the same order. */
static double expected_improvement(double best, double mean, double deviation)
{
    double z = (best - mean) / deviation;
    double density = exp(-0.5 * z * z) * 0.3989422804014327;
    double improvement = deviation * (z * 0.5 * erfc(-z * 0.7071067811865476) + density);
    return improvement > 0 ? improvement : z;
}

static double lowest_target(const struct model *model)
{
    double lowest = INFINITY;
    for (size_t i = 0; i < model->process.count; i++)
        lowest = fmin(lowest, model->targets[i]); /* which passes over NAN */
    return lowest;
}

/* The best candidate, or POINT_NONE. Half of the time the criterion is the expected improvement,
 * half of the time a confidence bound of a random width. */
static ptrdiff_t find_best_candidate(const struct model *model, struct strategy_context *context)
{
    const struct candidates *candidates = &model->candidates;
    bool by_bound = random_fraction(context) < bound_rate;
    double width = bound_most * random_fraction(context);
    double lowest = lowest_target(model);
    double highest_score = -INFINITY;
    ptrdiff_t found = POINT_NONE;
    for (size_t i = 0; i < candidates->solved; i++) {
        if (candidates->closed[i])
            continue;
        double mean = (double)candidates->means[i];
        double deviation = candidates_deviation(candidates, &model->process, i);
        double score =
            by_bound ? width * deviation - mean : expected_improvement(lowest, mean, deviation);
        if (score > highest_score) {
            highest_score = score;
            found = (ptrdiff_t)i;
        }
    }
    return found;
}

static int choose(void *state, struct strategy_context *context, uint32_t *point,
                  struct error *error)
{
    struct model *model = state;
    const struct history *history = context->history;
    if (history->points.count < FIRST_POINTS)
        return choose_first(model, context, point, error);
    if (history->told_count < history->failed_count + 2) /* nothing to predict from */
        return strategy_draw(context, point, error);
    int status = update(model, context, error);
    if (status < 0)
        return status;
    ptrdiff_t found = find_best_candidate(model, context);
    if (found == POINT_NONE)
        return strategy_draw(context, point, error);
    memcpy(point, point_table_at(&model->candidates.points, (size_t)found),
           model->process.dimensions * sizeof *point);
    return 1;
}

const struct search_strategy strategy_model = {
    .name = "model", .new = new_model, .free = free_model, .choose = choose};
