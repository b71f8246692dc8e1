#include "search/gaussian_process.h"

#include "base/alloc.h"
#include "base/value.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- covariance --- */

/* Of lists up to this length, the factors of all pairs are kept. */
enum { TABLE_VALUES = 64 };

/* What is likely before anything is measured: normal distributions. The last one is the noise's. */
static const struct prior {
    double mean;
    double deviation;
} priors[COVARIANCE_LEARNT + 1] = {
    [COVARIANCE_RELEVANCE] = {0, 2},                /* w = 0.5 */
    [COVARIANCE_LENGTH] = {0.6931471805599453, 1},  /* l = 2, twice the whole range of values */
    [COVARIANCE_TWOS] = {0, 1},                     /* t = 1 */
    [COVARIANCE_LEARNT] = {-4.6051701859880914, 1}, /* a variance of 0.01 */
};

/* --- where values lie --- */

static int compare_reals(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Where values lie, by their logarithms, or by their ranks unless all are above 0; scaled to 0 … 1, or all 0. */
static void place_values(struct covariance_parameter *parameter, const struct value_list *list)
{
    double *places = parameter->coordinates;
    double *sorted = alloc_zeroed(list->count, sizeof *sorted);
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = places[i] = number_real(&list->values[i]);
    qsort(sorted, list->count, sizeof *sorted, compare_reals);
    bool positive = sorted[0] > 0;
    for (size_t i = 0; i < list->count; i++) {
        const double *found =
            bsearch(&places[i], sorted, list->count, sizeof *sorted, compare_reals);
        places[i] = positive ? log(places[i]) : found != NULL ? (double)(found - sorted) : 0;
    }
    free(sorted);
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < list->count; i++) {
        low = fmin(low, places[i]);
        high = fmax(high, places[i]);
    }
    for (size_t i = 0; i < list->count; i++)
        places[i] = high > low ? (places[i] - low) / (high - low) : 0;
}

/* How often 2 divides each whole number above 0, scaled to 0 … 1. Where more twos come with larger values only, as in 1,
 * 2, 4, 8, they say nothing new: all are 0. */
static void place_twos(struct covariance_parameter *parameter, const struct value_list *list)
{
    double *twos = parameter->twos;
    double most = 0;
    bool news = false;
    for (size_t i = 0; i < list->count; i++) {
        int64_t integer;
        bool counts = number_whole(&list->values[i], &integer) && integer > 0;
        twos[i] = counts ? (double)__builtin_ctzll((unsigned long long)integer) : 0;
        most = fmax(most, twos[i]);
    }
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < list->count; j++)
            news = news ||
                   (parameter->coordinates[i] < parameter->coordinates[j] && twos[i] > twos[j]);
    for (size_t i = 0; i < list->count; i++)
        twos[i] = news ? twos[i] / most : 0;
}

/* --- factors --- */

static double value_distance(const struct covariance_parameter *parameter, size_t a, size_t b)
{
    if (!parameter->ordered)
        return a == b ? 0 : 1;
    return fabs(parameter->coordinates[a] - parameter->coordinates[b]);
}

/* The factor for two values. If `slopes` is not NULL, also its logarithm's derivatives with respect
 * to what was learnt. */
static double factor_of(const struct covariance_parameter *parameter, size_t a, size_t b,
                        double slopes[COVARIANCE_LEARNT])
{
    double w = 1 / (1 + exp(-parameter->learnt[COVARIANCE_RELEVANCE]));
    double d = value_distance(parameter, a, b) * exp(-parameter->learnt[COVARIANCE_LENGTH]);
    double u =
        fabs(parameter->twos[a] - parameter->twos[b]) * exp(parameter->learnt[COVARIANCE_TWOS]);
    double likeness = exp(-d - u);
    double factor = 1 - w + w * likeness;
    if (slopes != NULL) {
        slopes[COVARIANCE_RELEVANCE] = (likeness - 1) * w * (1 - w) / factor;
        slopes[COVARIANCE_LENGTH] = w * likeness * d / factor;
        slopes[COVARIANCE_TWOS] = -w * likeness * u / factor;
    }
    return factor;
}

static void update_tables(struct covariance_parameter *parameter, bool slopes)
{
    for (size_t a = 0; a < parameter->count; a++)
        for (size_t b = 0; b < parameter->count; b++) {
            double slope[COVARIANCE_LEARNT];
            size_t pair = a * parameter->count + b;
            parameter->factors[pair] = (float)factor_of(parameter, a, b, slopes ? slope : NULL);
            for (int i = 0; slopes && i < COVARIANCE_LEARNT; i++)
                parameter->slopes[pair][i] = (float)slope[i];
        }
}

/* To be called after each change of what was learnt; with `slopes`, also for find_slopes(). */
static void update(struct covariance *covariance, bool slopes)
{
    for (size_t i = 0; i < covariance->count; i++)
        if (covariance->parameters[i].factors != NULL)
            update_tables(&covariance->parameters[i], slopes);
}

double covariance_of(const struct covariance *covariance, const uint32_t *a, const uint32_t *b)
{
    double product = 1;
    for (size_t i = 0; i < covariance->count; i++) {
        const struct covariance_parameter *parameter = &covariance->parameters[i];
        size_t left = a[parameter->index];
        size_t right = b[parameter->index];
        product *= parameter->factors != NULL
                       ? (double)parameter->factors[left * parameter->count + right]
                       : factor_of(parameter, left, right, NULL);
    }
    return product;
}

/* The derivatives of the covariance's logarithm with respect to what was learnt about parameter `index`. */
static void find_slopes(const struct covariance *covariance, size_t index, const uint32_t *a,
                        const uint32_t *b, double slopes[COVARIANCE_LEARNT])
{
    const struct covariance_parameter *parameter = &covariance->parameters[index];
    size_t left = a[parameter->index];
    size_t right = b[parameter->index];
    if (parameter->factors == NULL) {
        (void)factor_of(parameter, left, right, slopes);
        return;
    }
    const float *kept = parameter->slopes[left * parameter->count + right];
    for (int i = 0; i < COVARIANCE_LEARNT; i++)
        slopes[i] = (double)kept[i];
}

double covariance_distance(const struct covariance *covariance, const uint32_t *a,
                           const uint32_t *b)
{
    double sum = 0;
    for (size_t i = 0; i < covariance->count; i++) {
        const struct covariance_parameter *parameter = &covariance->parameters[i];
        sum += value_distance(parameter, a[parameter->index], b[parameter->index]);
    }
    return sum;
}

/* --- what is learnt --- */

/* Everything learnt, one by one. */
static size_t learnt_count(const struct covariance *covariance)
{
    return covariance->count * COVARIANCE_LEARNT + 1;
}

static double *learnt_at(struct covariance *covariance, size_t index)
{
    size_t parameter = index / COVARIANCE_LEARNT;
    return parameter < covariance->count
               ? &covariance->parameters[parameter].learnt[index % COVARIANCE_LEARNT]
               : &covariance->noise;
}

static struct prior prior_of(const struct covariance *covariance, size_t index)
{
    return priors[index / COVARIANCE_LEARNT < covariance->count ? index % COVARIANCE_LEARNT
                                                                : COVARIANCE_LEARNT];
}

/* --- making and releasing --- */

static void init_parameter(struct covariance_parameter *parameter, size_t index,
                           const struct search_parameter *described)
{
    size_t count = described->values->count;
    *parameter = (struct covariance_parameter){
        .index = index, .count = count, .ordered = described->ordered};
    parameter->coordinates = alloc_zeroed(count, sizeof *parameter->coordinates);
    parameter->twos = alloc_zeroed(count, sizeof *parameter->twos);
    if (described->ordered) {
        place_values(parameter, described->values);
        place_twos(parameter, described->values);
    }
    if (count > TABLE_VALUES)
        return;
    parameter->factors = alloc_zeroed(count * count, sizeof *parameter->factors);
    parameter->slopes = alloc_zeroed(count * count, sizeof *parameter->slopes);
}

/* --- the process --- */

void gaussian_process_init(struct gaussian_process *process, const struct search_space *space,
                           size_t capacity)
{
    *process = (struct gaussian_process){
        .dimensions = search_space_dimensions(space), .capacity = capacity, .variance = 1};
    struct covariance *covariance = &process->covariance;
    for (size_t i = 0; i < process->dimensions; i++)
        if (search_space_parameter(space, i)->values->count > 1)
            init_parameter(ARRAY_APPEND(covariance->parameters, covariance->count), i,
                           search_space_parameter(space, i));
    for (size_t i = 0; i < learnt_count(covariance);
         i++) /* what is likely before anything is measured */
        *learnt_at(covariance, i) = prior_of(covariance, i).mean;
    update(covariance, false);
    process->points = alloc_zeroed(capacity * process->dimensions, sizeof *process->points);
    process->factor = alloc_zeroed(capacity * capacity, sizeof *process->factor);
    process->weights = alloc_zeroed(capacity, sizeof *process->weights);
}

void gaussian_process_release(struct gaussian_process *process)
{
    for (size_t i = 0; i < process->covariance.count; i++) {
        struct covariance_parameter *parameter = &process->covariance.parameters[i];
        free(parameter->coordinates);
        free(parameter->twos);
        free(parameter->factors);
        free(parameter->slopes);
    }
    free(process->covariance.parameters);
    free(process->points);
    free(process->factor);
    free(process->weights);
    *process = (struct gaussian_process){0};
}

void gaussian_process_clear(struct gaussian_process *process)
{
    process->count = 0;
    update(&process->covariance, false);
}

static const uint32_t *point_of(const struct gaussian_process *process, size_t index)
{
    return process->points + index * process->dimensions;
}

const double *gaussian_process_row(const struct gaussian_process *process, size_t index)
{
    return process->factor + index * process->capacity;
}

/* Cholesky's decomposition of a positive definite matrix, row by row: `row` of the factor has the row of the
 * matrix. The square of a diagonal element is at least `least`, despite rounding. */
static void decompose_row(double *factor, size_t stride, size_t row, double least)
{
    double *own = factor + row * stride;
    for (size_t j = 0; j <= row; j++) {
        const double *other = factor + j * stride;
        double sum = own[j];
        for (size_t k = 0; k < j; k++)
            sum -= own[k] * other[k];
        own[j] = j == row ? sqrt(fmax(sum, least)) : sum / other[j];
    }
}

void gaussian_process_add(struct gaussian_process *process, const uint32_t *point)
{
    size_t last = process->count++;
    process->weights[last] = 0;
    if (process->dimensions > 0)
        memcpy(process->points + last * process->dimensions, point,
               process->dimensions * sizeof *point);
    double *row = process->factor + last * process->capacity;
    for (size_t j = 0; j < last; j++)
        row[j] = covariance_of(&process->covariance, point, point_of(process, j));
    row[last] = 1 + exp(process->covariance.noise);
    decompose_row(process->factor, process->capacity, last, 1e-6);
}

/* The factor's inverse times `values`; 0 where the target is not known. */
static void solve_forward(const struct gaussian_process *process, const double *targets,
                          const double *values, double *solution)
{
    for (size_t i = 0; i < process->count; i++) {
        solution[i] = 0;
        if (isnan(targets[i]))
            continue;
        const double *row = gaussian_process_row(process, i);
        double sum = values[i];
        for (size_t j = 0; j < i; j++)
            sum -= row[j] * solution[j];
        solution[i] = sum / row[i];
    }
}

double gaussian_process_tell(struct gaussian_process *process, const double *targets,
                             const double *drift)
{
    double products = 0;
    double squares = 1; /* a slope of 0 is likely, too */
    double *weights = alloc_zeroed(process->count, sizeof *weights);
    solve_forward(process, targets, targets, process->weights);
    if (drift != NULL)
        solve_forward(process, targets, drift, weights);
    for (size_t i = 0; i < process->count; i++) {
        products += weights[i] * process->weights[i];
        squares += weights[i] * weights[i];
    }
    double slope = fmax(products / squares, 0);
    for (size_t i = 0; i < process->count; i++)
        process->weights[i] -= slope * weights[i];
    double square = 1; /* as if there were one more target, of 1 */
    size_t known = 0;
    for (size_t i = 0; i < process->count; i++) {
        square += process->weights[i] * process->weights[i];
        known += isnan(targets[i]) ? 0 : 1;
    }
    process->variance = square / (double)(known + 1);
    free(weights);
    return slope;
}

void gaussian_process_solve(const struct gaussian_process *process, double *solution)
{
    for (size_t i = process->count; i-- > 0;) {
        double sum = process->weights[i];
        for (size_t j = i + 1; j < process->count; j++)
            sum -= gaussian_process_row(process, j)[i] * solution[j];
        solution[i] = sum / gaussian_process_row(process, i)[i];
    }
}

double gaussian_process_mean(const struct gaussian_process *process, const double *solution,
                             const uint32_t *point)
{
    double mean = 0;
    for (size_t i = 0; i < process->count; i++)
        mean += solution[i] * covariance_of(&process->covariance, point, point_of(process, i));
    return mean;
}

/* --- learning --- */

enum { ITERATIONS = 12 };

/* Square matrices are stored in rows, of which only the lower triangle is used. */
struct work {
    size_t count;
    double *covariance; /* without the noise */
    double *factor;     /* L of LL' = covariance and noise */
    double *inverse;    /* of L */
    double *precision;  /* inverse of LL' */
    double *weights;    /* precision times the targets */
    double variance;    /* of the targets; the covariance is relative to it */
};

/* The inverse of L, and from it the precision. */
static void invert(struct work *work)
{
    size_t n = work->count;
    for (size_t i = 0; i < n; i++) {
        double *row = work->inverse + i * n;
        double diagonal = 1 / work->factor[i * n + i];
        for (size_t j = 0; j <= i; j++) {
            row[j] = i == j ? diagonal : 0;
            work->precision[i * n + j] = 0;
        }
        for (size_t k = 0; k < i; k++) {
            const double *other = work->inverse + k * n;
            double scaled = work->factor[i * n + k] * diagonal;
            for (size_t j = 0; j <= k; j++)
                row[j] -= scaled * other[j];
        }
    }
    for (size_t k = 0; k < n; k++) {
        const double *row = work->inverse + k * n;
        for (size_t i = 0; i <= k; i++)
            for (size_t j = 0; j <= i; j++)
                work->precision[i * n + j] += row[i] * row[j];
    }
}

/* The targets' weights and variance; the latter as if there were one more target, of 1. */
static void weigh(struct work *work, const double *targets)
{
    size_t n = work->count;
    double square = 1;
    for (size_t i = 0; i < n; i++)
        work->weights[i] = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = work->inverse + i * n;
        double sum = 0;
        for (size_t j = 0; j <= i; j++)
            sum += row[j] * targets[j];
        square += sum * sum;
        for (size_t j = 0; j <= i; j++)
            work->weights[j] += row[j] * sum;
    }
    work->variance = square / (double)(n + 1);
}

/* The derivatives of minus the logarithm of the posterior density, up to a constant (Rasmussen and
 * Williams 2006, equation 5.9). */
static void find_gradient(const struct work *work, struct covariance *covariance,
                          const uint32_t *const *points, double *gradient)
{
    size_t n = work->count;
    size_t learnt = learnt_count(covariance);
    double noise = exp(covariance->noise);
    for (size_t i = 0; i < learnt; i++) {
        struct prior prior = prior_of(covariance, i);
        gradient[i] =
            (*learnt_at(covariance, i) - prior.mean) / (prior.deviation * prior.deviation);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double part =
                work->precision[i * n + j] - work->weights[i] * work->weights[j] / work->variance;
            if (i == j)
                gradient[learnt - 1] += 0.5 * part * noise;
            for (size_t p = 0; p < covariance->count && i != j; p++) {
                double slopes[COVARIANCE_LEARNT];
                find_slopes(covariance, p, points[i], points[j], slopes);
                for (size_t s = 0; s < COVARIANCE_LEARNT; s++)
                    gradient[p * COVARIANCE_LEARNT + s] +=
                        part * work->covariance[i * n + j] * slopes[s];
            }
        }
    }
}

/* One step downhill, of a length that each coordinate learns from the signs of its slopes: Riedmiller
 * and Braun, A direct adaptive method for faster backpropagation learning: the RPROP algorithm,
 * 1993. Far from what was expected nothing is believed. */
static void descend(struct covariance *covariance, const double *gradient, double *previous,
                    double *steps)
{
    for (size_t i = 0; i < learnt_count(covariance); i++) {
        struct prior prior = prior_of(covariance, i);
        double *value = learnt_at(covariance, i);
        double sign = gradient[i] * previous[i];
        if (sign != 0)
            steps[i] = sign > 0 ? fmin(steps[i] * 1.3, 1) : steps[i] * 0.5;
        if (gradient[i] != 0)
            *value += gradient[i] > 0 ? -steps[i] : steps[i];
        *value =
            fmin(fmax(*value, prior.mean - 4 * prior.deviation), prior.mean + 4 * prior.deviation);
        previous[i] = gradient[i];
    }
}

void likelihood_learn(struct covariance *covariance, const uint32_t *const *points,
                      const double *targets, size_t count)
{
    struct work work = {
        .count = count,
        .covariance = alloc_zeroed(count * count, sizeof(double)),
        .factor = alloc_zeroed(count * count, sizeof(double)),
        .inverse = alloc_zeroed(count * count, sizeof(double)),
        .precision = alloc_zeroed(count * count, sizeof(double)),
        .weights = alloc_zeroed(count, sizeof(double)),
    };
    size_t learnt = learnt_count(covariance);
    double *gradient = alloc_zeroed(learnt, sizeof *gradient);
    double *previous = alloc_zeroed(learnt, sizeof *previous);
    double *steps = alloc_zeroed(learnt, sizeof *steps);
    for (size_t i = 0; i < learnt; i++)
        steps[i] = 0.3;
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        update(covariance, true);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++)
                work.covariance[i * count + j] = covariance_of(covariance, points[i], points[j]);
        for (size_t i = 0; i < count; i++) {
            double *row = work.factor + i * count;
            memcpy(row, work.covariance + i * count, (i + 1) * sizeof *row);
            row[i] += exp(covariance->noise);
            decompose_row(work.factor, count, i, 1e-9);
        }
        invert(&work);
        weigh(&work, targets);
        find_gradient(&work, covariance, points, gradient);
        descend(covariance, gradient, previous, steps);
    }
    free(gradient);
    free(previous);
    free(steps);
    free(work.covariance);
    free(work.factor);
    free(work.inverse);
    free(work.precision);
    free(work.weights);
}
