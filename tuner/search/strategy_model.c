/*
 * Bayesian optimisation: a Gaussian process predicts, for a choice of candidates, how fast they may
 * be and how sure that is; the most promising one is proposed. It begins with what was fastest
 * elsewhere, if anything is known, and with points far from each other.
 *
 * The cost of an update does not depend on the space. It grows with the square of the number of
 * rows, the points that the process predicts from, which is limited: when there are too many, the
 * faster half of some of them and a sample of the others take their place.
 */
#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- neighbourhood --- */

enum {
    NEAR = 128, /* about so many of them, at most */
    FAR = 150
};

static size_t value_count(const struct strategy_context *context, size_t index)
{
    return search_space_parameter(context->space, index)->values->count;
}

static int add_point(struct strategy_context *context, const uint32_t *point,
                     struct candidates *candidates, struct error *error)
{
    int status = search_space_has(context->space, point, error);
    if (status == 1 && !history_has(context->history, point))
        candidates_add(candidates, point);
    return status < 0 ? status : 0;
}

static uint32_t *copy_point(const struct strategy_context *context, const uint32_t *point)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *copy = alloc_zeroed(dimensions, sizeof *copy);
    memcpy(copy, point, dimensions * sizeof *copy);
    return copy;
}

/* Both of these add points of the space that the history does not have, and return 0, or ERROR_CONFIG if a
 * constraint cannot be evaluated. The first adds the points that differ from `center` in one parameter, or a
 * sample of them if they are many; the second, a sample of those that differ in two. `center` is not one of
 * `candidates`' own points: those move. */
static int add_near(struct strategy_context *context, const uint32_t *center,
                    struct candidates *candidates, struct error *error)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *point = copy_point(context, center);
    size_t all = 0;
    int status = 0;
    for (size_t i = 0; i < dimensions; i++)
        all += value_count(context, i) - 1;
    for (size_t i = 0; i < dimensions; i++) {
        uint32_t kept = point[i];
        for (uint32_t value = 0; value < value_count(context, i) && status == 0; value++) {
            point[i] = value;
            if (value != kept && (all <= NEAR || random_below(&context->random, all) < NEAR))
                status = add_point(context, point, candidates, error);
        }
        point[i] = kept;
    }
    free(point);
    return status;
}

static int add_far(struct strategy_context *context, const uint32_t *center,
                   struct candidates *candidates, struct error *error)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *point = copy_point(context, center);
    int status = 0;
    for (int i = 0; i < FAR && dimensions > 0 && status == 0; i++) {
        size_t first = random_below(&context->random, dimensions);
        size_t second = random_below(&context->random, dimensions);
        point[first] = (uint32_t)random_below(&context->random, value_count(context, first));
        point[second] = (uint32_t)random_below(&context->random, value_count(context, second));
        status = add_point(context, point, candidates, error);
        point[first] = center[first];
        point[second] = center[second];
    }
    free(point);
    return status;
}

/* --- the model --- */

struct model {
    struct gaussian_process process;
    struct candidates candidates;
    size_t *positions; /* of each row in the history */
    double *times;     /* of each row */
    double *targets;
    double *expected;     /* of each row, from elsewhere (known_results.h), … */
    double slope;         /* and how much a target grows with it */
    size_t taken;         /* points of the history that are rows, or were considered for it */
    size_t tellings;      /* that the targets include */
    size_t next_learning; /* points told until then */
    ptrdiff_t best;       /* position of the point whose neighbours are candidates */
    uint32_t *point;      /* working storage */
};

enum {
    ROWS = 512,             /* at most */
    ROWS_KEPT = 320,        /* when the rows are replaced, and besides … */
    PENDING_KEPT = 64,      /* of the proposals outstanding */
    LEARNT_FROM = 128,      /* points that the covariance is learnt from, at most */
    CANDIDATES = 1600,      /* at most */
    CANDIDATES_DRAWN = 500, /* at random */
    FASTEST = 3,            /* points whose neighbours are candidates */
    KNOWN = 100,            /* the fastest of those known from elsewhere */
    EXPANSIONS = 12         /* most promising candidates whose neighbours become candidates */
};

static const double learning_growth = 1.25; /* of what was told, from one learning to the next */
static const double expansion_rate = 0.1;   /* further expansions per update */

static void *new_model(struct strategy_context *context)
{
    struct model *model = alloc_zeroed(1, sizeof *model);
    size_t dimensions = search_space_dimensions(context->space);
    model->best = POINT_NONE;
    gaussian_process_init(&model->process, context->space, ROWS);
    candidates_init(&model->candidates, dimensions, CANDIDATES, ROWS);
    model->positions = alloc_zeroed(ROWS, sizeof *model->positions);
    model->times = alloc_zeroed(ROWS, sizeof *model->times);
    model->targets = alloc_zeroed(ROWS, sizeof *model->targets);
    model->expected = alloc_zeroed(ROWS, sizeof *model->expected);
    model->point = alloc_zeroed(dimensions, sizeof *model->point);
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
    free(model->expected);
    free(model->point);
    free(model);
}

/* --- candidates --- */

/* The predicted target of a candidate. */
static double model_mean(const struct model *model, size_t index)
{
    const struct candidates *candidates = &model->candidates;
    return (double)candidates->means[index] + model->slope * candidates->expected[index];
}

/* Makes predictions for new candidates, and for new rows. */
static void predict(struct model *model, const struct strategy_context *context)
{
    struct candidates *candidates = &model->candidates;
    for (size_t i = candidates->solved; i < candidates->points.count; i++)
        candidates->expected[i] =
            known_results_expect(context->known, point_table_at(&candidates->points, i));
    candidates_predict(candidates, &model->process);
}

/* Makes candidates of the points that are fastest elsewhere. */
static int add_known(struct model *model, struct strategy_context *context, struct error *error)
{
    const struct known_source *source = context->known->chosen;
    int status = 0;
    for (size_t i = 0; source != NULL && i < KNOWN && i < source->points.count && status >= 0;
         i++) {
        const uint32_t *point = point_table_at(&source->points, source->ranking[i]);
        status = search_space_has(context->space, point, error);
        if (status == 1 && !history_has(context->history, point))
            candidates_add(&model->candidates, point);
    }
    return status < 0 ? status : 0;
}

static int add_around(struct model *model, struct strategy_context *context, size_t position,
                      struct error *error)
{
    const uint32_t *center = point_table_at(&context->history->points, position);
    int status = add_near(context, center, &model->candidates, error);
    return status != 0 ? status : add_far(context, center, &model->candidates, error);
}

/* The candidate that may be fastest and whose neighbours are no candidates yet, or POINT_NONE. */
static ptrdiff_t find_most_promising(const struct model *model)
{
    const struct candidates *candidates = &model->candidates;
    ptrdiff_t found = POINT_NONE;
    double lowest = INFINITY;
    for (size_t i = 0; i < candidates->solved; i++) {
        if (candidates->expanded[i])
            continue;
        double bound = model_mean(model, i) - candidates_deviation(candidates, &model->process, i);
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
        memcpy(model->point, point_table_at(&candidates->points, (size_t)found),
               model->process.dimensions * sizeof *model->point);
        status = add_near(context, model->point, candidates, error);
    }
    if (status == 0)
        predict(model, context);
    return status;
}

/* --- rows --- */

/* Positions in the history of everything told, the fastest first; a new array. If there is more than
 * `most`, the numbers from half of `most` on are a random sample of the rest. */
static size_t *rank_told(struct strategy_context *context, size_t most)
{
    const struct history *history = context->history;
    size_t count = history->told_count;
    double *times = alloc_zeroed(count, sizeof *times);
    for (size_t i = 0; i < count; i++)
        times[i] = history->times[history->told[i]];
    size_t *ranking = ranking_new(times, count);
    ranking_sample(ranking, count, most, &context->random);
    for (size_t i = 0; i < count; i++)
        ranking[i] = history->told[ranking[i]];
    free(times);
    return ranking;
}

static void add_row(struct model *model, const struct strategy_context *context, size_t position)
{
    const uint32_t *point = point_table_at(&context->history->points, position);
    size_t row = model->process.count;
    model->positions[row] = position;
    model->targets[row] = NAN;
    model->expected[row] = known_results_expect(context->known, point);
    gaussian_process_add(&model->process, point);
}

static void refresh_targets(struct model *model, const struct strategy_context *context)
{
    size_t count = model->process.count;
    for (size_t i = 0; i < count; i++)
        model->times[i] = context->history->times[model->positions[i]];
    targets_from_times(model->times, count, model->targets);
    double *drift = context->known->chosen != NULL ? model->expected : NULL;
    model->slope = gaussian_process_tell(&model->process, model->targets, drift);
    model->tellings = context->history->tellings;
}

static void learn(struct model *model, struct strategy_context *context)
{
    size_t *ranked = rank_told(context, LEARNT_FROM);
    const uint32_t *points[LEARNT_FROM];
    double targets[LEARNT_FROM];
    size_t count = 0;
    for (; count < LEARNT_FROM && count < context->history->told_count; count++) {
        points[count] = point_table_at(&context->history->points, ranked[count]);
        model->times[count] = context->history->times[ranked[count]];
    }
    targets_from_times(model->times, count, targets);
    for (size_t i = 0; i < count; i++)
        targets[i] -= model->slope * known_results_expect(context->known, points[i]);
    likelihood_learn(&model->process.covariance, points, targets, count);
    free(ranked);
}

/* New rows, from what was told and what is outstanding. Returns the fastest told. */
static size_t *replace_rows(struct model *model, struct strategy_context *context)
{
    const struct history *history = context->history;
    size_t *ranked = rank_told(context, ROWS_KEPT);
    gaussian_process_clear(&model->process);
    for (size_t i = 0; i < history->told_count && i < ROWS_KEPT; i++)
        add_row(model, context, ranked[i]);
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
    known_results_choose(context->known, context->history, context->space);
    model->slope = context->known->chosen != NULL ? model->slope : 0;
    if (told >= model->next_learning) {
        learn(model, context);
        model->next_learning = (size_t)((double)told * learning_growth) + 1;
    }
    size_t *fastest = replace_rows(model, context);
    candidates_clear(&model->candidates);
    for (int i = 0; i < CANDIDATES_DRAWN && status == 1; i++) {
        status = search_space_draw(context->space, &context->random, model->point, error);
        if (status == 1 && !history_has(context->history, model->point))
            candidates_add(&model->candidates, model->point);
    }
    status = status < 0 ? status : 0;
    for (size_t i = 0; i < FASTEST && i < told && status == 0; i++)
        status = add_around(model, context, fastest[i], error);
    free(fastest);
    if (status == 0)
        status = add_known(model, context, error);
    refresh_targets(model, context);
    predict(model, context);
    for (int i = 0; i < EXPANSIONS && status == 0; i += FASTEST)
        status = expand(model, context, FASTEST, error);
    model->best = context->history->best;
    return status;
}

/* Takes what was proposed and told since the last update; at least one point has a time. Returns 0,
 * or an error as search_propose() does. */
static int model_update(struct model *model, struct strategy_context *context, struct error *error)
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
    predict(model, context);
    if (told)
        candidates_weigh(&model->candidates, &model->process);
    if (status == 0 && random_fraction(&context->random) < expansion_rate)
        status = expand(model, context, 1, error);
    return status;
}

/* --- the first points --- */

enum {
    FIRST_POINTS = 12,      /* chosen before anything is predicted, … */
    FIRST_POINTS_LEAST = 4, /* or a third of what is planned, but at least so many */
    FIRST_DRAWS = 20        /* to choose each of them from */
};

static const double bound_rate = 0.25; /* of the proposals: by confidence bound */
static const double bound_most =
    3; /* The fastest one elsewhere that the space has and the history does not. Returns 1, 0 if there is
 * none, or an error. */
static int choose_known(struct strategy_context *context, uint32_t *point, struct error *error)
{
    const uint32_t *known;
    while ((known = known_results_suggest(context->known)) != NULL) {
        int status = search_space_has(context->space, known, error);
        if (status < 0)
            return status;
        if (status == 0 || history_has(context->history, known))
            continue;
        memcpy(point, known, context->history->points.dimensions * sizeof *point);
        return 1;
    }
    return 0;
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
        double distance = INFINITY; /* to the nearest point of the history */
        for (size_t j = 0; j < context->history->points.count; j++)
            distance =
                fmin(distance, covariance_distance(&model->process.covariance, model->point,
                                                   point_table_at(&context->history->points, j)));
        if (distance > farthest) {
            farthest = distance;
            memcpy(point, model->point, model->process.dimensions * sizeof *point);
        }
    }
    return 1;
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

/* Scores all candidates. Returns the best one, or POINT_NONE. The criterion is the expected
 * improvement, or at times a confidence bound of a random width. */
static ptrdiff_t score_candidates(const struct model *model, struct strategy_context *context)
{
    const struct candidates *candidates = &model->candidates;
    bool by_bound = random_fraction(&context->random) < bound_rate;
    double width = bound_most * random_fraction(&context->random);
    double lowest = INFINITY;
    for (size_t i = 0; i < model->process.count; i++)
        lowest = fmin(lowest, model->targets[i]); /* which passes over NAN */
    double most = -INFINITY;
    ptrdiff_t found = POINT_NONE;
    for (size_t i = 0; i < candidates->solved; i++) {
        if (candidates->closed[i])
            continue;
        double mean = model_mean(model, i);
        double deviation = candidates_deviation(candidates, &model->process, i);
        double score =
            by_bound ? width * deviation - mean : expected_improvement(lowest, mean, deviation);
        if (score > most) {
            most = score;
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
    size_t first = context->evaluations / 3;
    if (context->evaluations == 0 || first > FIRST_POINTS)
        first = FIRST_POINTS;
    if (first < FIRST_POINTS_LEAST)
        first = FIRST_POINTS_LEAST;
    if (history->points.count < first) {
        int status = choose_known(context, point, error);
        return status != 0 ? status : choose_first(model, context, point, error);
    }
    if (history->told_count < history->failed_count + 2) /* nothing to predict from */
        return strategy_draw(context, point, error);
    int status = model_update(model, context, error);
    if (status < 0)
        return status;
    ptrdiff_t found = score_candidates(model, context);
    if (found == POINT_NONE)
        return strategy_draw(context, point, error);
    memcpy(point, point_table_at(&model->candidates.points, (size_t)found),
           model->process.dimensions * sizeof *point);
    return 1;
}

const struct search_strategy strategy_model = {
    .name = "model", .new = new_model, .free = free_model, .choose = choose};
