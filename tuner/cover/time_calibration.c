#include "cover/time_calibration.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 200 };

/* How far apart estimates are, as a share, before only the lower one counts: the choice is made
 * smooth. */
static const double softness = 0.02; /* 1 / 50: sharpened() knows it */

/* What it costs to change a factor by e times. */
static const double change_cost = 0.0005;

/* A failure is the worst. If it counted for more, it would hide all other losses. */
static const double most_lost = 1;

/* Of Adam (Kingma and Ba, 2015). */
static const double step_length = 0.02;
static const double mean_share = 0.9;
static const double square_share = 0.99;

/* A factor: how much it and its logarithm have changed, and its gradient with running means. */
struct knob {
    double times, change;
    double gradient, mean, square;
};

struct calibration {
    size_t count, sizes;
    const struct time_model *models;
    struct knob *knobs; /* [model * TIME_MODEL_TERMS + term] */
    double *parts;      /* of the estimates: [(size * count + model) * TIME_MODEL_TERMS + term] */
    double *lost;       /* [size * count + model] */
    double *weights;    /* of the sizes */
};

static void calibration_init(struct calibration *calibration, const struct time_model *models,
                             const size_t *chosen, size_t count, const struct time_basis *basis,
                             const struct losses *losses, const bool *kept)
{
    size_t most = basis->sizes * count;
    *calibration =
        (struct calibration){.count = count,
                             .models = models,
                             .knobs = alloc_zeroed(count * TIME_MODEL_TERMS, sizeof(struct knob)),
                             .parts = alloc_zeroed(most * TIME_MODEL_TERMS, sizeof(double)),
                             .lost = alloc_zeroed(most, sizeof(double)),
                             .weights = alloc_zeroed(basis->sizes, sizeof(double))};
    for (size_t i = 0; i < count * TIME_MODEL_TERMS; i++)
        calibration->knobs[i].times = 1;
    for (size_t size = 0; size < basis->sizes; size++) {
        if (!kept[size])
            continue;
        size_t row = calibration->sizes++;
        calibration->weights[row] = losses->weights[size];
        for (size_t i = 0; i < count; i++) {
            double *parts = calibration->parts + (row * count + i) * TIME_MODEL_TERMS;
            calibration->lost[row * count + i] =
                fmin(losses_of(losses, chosen[i], size), most_lost);
            for (size_t term = 0; term < models[i].count; term++)
                parts[term] = models[i].factors[term] *
                              basis->terms.items[models[i].terms[term]].values[size];
        }
    }
}

static void calibration_release(struct calibration *calibration)
{
    free(calibration->knobs);
    free(calibration->parts);
    free(calibration->lost);
    free(calibration->weights);
}

/* The estimates at a size, as their parts are now. */
static void estimate(const struct calibration *calibration, size_t row, double *estimates)
{
    for (size_t i = 0; i < calibration->count; i++) {
        const double *parts =
            calibration->parts + (row * calibration->count + i) * TIME_MODEL_TERMS;
        const struct knob *knobs = calibration->knobs + i * TIME_MODEL_TERMS;
        estimates[i] = 0;
        for (size_t term = 0; term < calibration->models[i].count; term++)
            estimates[i] += parts[term] * knobs[term].times;
    }
}

/* ratio^(1 / softness), without pow(), which would take most of the time. */
static double sharpened(double ratio)
{
    double squared = ratio * ratio;
    double fourth = squared * squared;
    double eighth = fourth * fourth;
    double sixteenth = eighth * eighth;
    return sixteenth * sixteenth * sixteenth * squared;
}

/* How likely each is chosen: the lower its estimate, the more. */
static void choose_softly(const double *estimates, size_t count, double *shares)
{
    double least = INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, estimates[i]);
    for (size_t i = 0; i < count; i++) {
        shares[i] = sharpened(least / estimates[i]);
        sum += shares[i];
    }
    for (size_t i = 0; i < count; i++)
        shares[i] /= sum;
}

/* Adds to the gradients what a size says. */
static void add_gradients(struct calibration *calibration, size_t row, double *estimates,
                          double *shares)
{
    const double *lost = calibration->lost + row * calibration->count;
    double expected = 0;
    estimate(calibration, row, estimates);
    choose_softly(estimates, calibration->count, shares);
    for (size_t i = 0; i < calibration->count; i++)
        expected += shares[i] * lost[i];
    for (size_t i = 0; i < calibration->count; i++) {
        const double *parts =
            calibration->parts + (row * calibration->count + i) * TIME_MODEL_TERMS;
        struct knob *knobs = calibration->knobs + i * TIME_MODEL_TERMS;
        double slope = calibration->weights[row] * shares[i] * (expected - lost[i]) /
                       (softness * estimates[i]);
        for (size_t term = 0; term < calibration->models[i].count; term++)
            knobs[term].gradient += slope * parts[term] * knobs[term].times;
    }
}

/* What choosing the least estimate loses in the mean. */
static double loss_of_choice(const struct calibration *calibration, double *estimates)
{
    double mean = 0;
    for (size_t row = 0; row < calibration->sizes; row++) {
        size_t least = 0;
        estimate(calibration, row, estimates);
        for (size_t i = 1; i < calibration->count; i++)
            if (estimates[i] < estimates[least])
                least = i;
        mean += calibration->weights[row] * calibration->lost[row * calibration->count + least];
    }
    return mean;
}

static void turn(struct knob *knob, size_t step)
{
    double gradient = knob->gradient + 2 * change_cost * knob->change;
    knob->mean = mean_share * knob->mean + (1 - mean_share) * gradient;
    knob->square = square_share * knob->square + (1 - square_share) * gradient * gradient;
    double mean = knob->mean / (1 - pow(mean_share, (double)step));
    double square = knob->square / (1 - pow(square_share, (double)step));
    knob->change -= step_length * mean / (sqrt(square) + 1e-8);
    knob->times = exp(knob->change);
    knob->gradient = 0;
}

void time_calibration_make(struct time_model *models, const size_t *chosen, size_t count,
                           const struct time_basis *basis, const struct losses *losses,
                           const bool *kept)
{
    struct calibration calibration;
    double *estimates = alloc_zeroed(count, sizeof *estimates);
    double *shares = alloc_zeroed(count, sizeof *shares);
    calibration_init(&calibration, models, chosen, count, basis, losses, kept);
    double before = loss_of_choice(&calibration, estimates);
    for (size_t step = 1; step <= STEPS; step++) {
        for (size_t row = 0; row < calibration.sizes; row++)
            add_gradients(&calibration, row, estimates, shares);
        for (size_t i = 0; i < count * TIME_MODEL_TERMS; i++)
            turn(&calibration.knobs[i], step);
    }
    bool better = loss_of_choice(&calibration, estimates) < before;
    for (size_t i = 0; i < count && better; i++)
        for (size_t term = 0; term < models[i].count; term++) {
            double times = calibration.knobs[i * TIME_MODEL_TERMS + term].times;
            models[i].factors[term] = time_model_rounded(models[i].factors[term] * times);
        }
    calibration_release(&calibration);
    free(estimates);
    free(shares);
}
