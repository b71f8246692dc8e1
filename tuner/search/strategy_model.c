/*
 * Bayesian optimisation: a Gaussian process predicts, for a choice of candidates, how fast they may
 * be and how sure that is; the most promising one is proposed. It begins with what was fastest
 * elsewhere, if anything is known, and with points far from each other.
 */
#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "search/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_POINTS = 12,      /* chosen before anything is predicted, … */
    FIRST_POINTS_LEAST = 4, /* or a third of what is planned, but at least so many */
    FIRST_DRAWS = 20,       /* to choose each of them from */
    ASKED = 16              /* candidates per proposal, at most, whether they are cheap */
};

static const double bound_rate = 0.25; /* of the proposals: by confidence bound */
static const double bound_most = 3;    /* standard deviations */
static const double about = 0.1;       /* of a score: makes no difference */

static void *new_model(struct strategy_context *context)
{
    struct model *model = alloc_zeroed(1, sizeof *model);
    model_init(model, context->space);
    return model;
}

static void free_model(void *state)
{
    model_release(state);
    free(state);
}

/* --- the first points --- */

static size_t first_points(const struct strategy_context *context)
{
    size_t third = context->evaluations / 3;
    if (context->evaluations == 0 || third > FIRST_POINTS)
        return FIRST_POINTS;
    return third > FIRST_POINTS_LEAST ? third : FIRST_POINTS_LEAST;
}

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

/* The fastest one elsewhere that the space has and the history does not. Returns 1, 0 if there is
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
        double distance = isolation(model, context, model->point);
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

static double lowest_target(const struct model *model)
{
    double lowest = INFINITY;
    for (size_t i = 0; i < model->process.count; i++)
        lowest = fmin(lowest, model->targets[i]); /* which passes over NAN */
    return lowest;
}

/* Scores all candidates. Returns the best one, or POINT_NONE. The criterion is the expected
 * improvement, or at times a confidence bound of a random width. */
static ptrdiff_t score_candidates(struct model *model, struct strategy_context *context)
{
    const struct candidates *candidates = &model->candidates;
    bool by_bound = random_fraction(&context->random) < bound_rate;
    double width = bound_most * random_fraction(&context->random);
    double lowest = lowest_target(model);
    double most = -INFINITY;
    ptrdiff_t found = POINT_NONE;
    for (size_t i = 0; i < candidates->solved; i++) {
        if (candidates->closed[i])
            continue;
        double mean = model_mean(model, i);
        double deviation = candidates_deviation(candidates, &model->process, i);
        model->scores[i] =
            by_bound ? width * deviation - mean : expected_improvement(lowest, mean, deviation);
        if (model->scores[i] > most) {
            most = model->scores[i];
            found = (ptrdiff_t)i;
        }
    }
    return found;
}

/* The best of the cheap candidates that score about as well as `best`; `best` if there is none. */
static ptrdiff_t prefer_cheap(const struct model *model, const struct strategy_context *context,
                              ptrdiff_t best)
{
    const struct candidates *candidates = &model->candidates;
    double most = model->scores[best];
    double least = most - about * fabs(most);
    ptrdiff_t found = POINT_NONE;
    size_t asked = 1;
    if (context->is_cheap == NULL ||
        context->is_cheap(context->user, point_table_at(&candidates->points, (size_t)best)))
        return best;
    for (size_t i = 0; i < candidates->solved && asked < ASKED; i++) {
        if (candidates->closed[i] || model->scores[i] < least ||
            (found != POINT_NONE && model->scores[i] <= model->scores[found]))
            continue;
        asked++;
        if (context->is_cheap(context->user, point_table_at(&candidates->points, i)))
            found = (ptrdiff_t)i;
    }
    return found != POINT_NONE ? found : best;
}

static int choose(void *state, struct strategy_context *context, uint32_t *point,
                  struct error *error)
{
    struct model *model = state;
    const struct history *history = context->history;
    if (history->points.count < first_points(context)) {
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
    found = prefer_cheap(model, context, found);
    memcpy(point, point_table_at(&model->candidates.points, (size_t)found),
           model->process.dimensions * sizeof *point);
    return 1;
}

const struct search_strategy strategy_model = {
    .name = "model", .new = new_model, .free = free_model, .choose = choose};
