#include "search/covariance.h"

#include "base/alloc.h"
#include "base/value.h"

#include <math.h>
#include <stdlib.h>

/* Of lists up to this length, the factors of all pairs are kept. */
enum { TABLE_VALUES = 64 };

/* The last one is the noise's. */
static const struct covariance_prior priors[COVARIANCE_LEARNT + 1] = {
    [COVARIANCE_RELEVANCE] = {0, 2},                /* w = 0.5 */
    [COVARIANCE_LENGTH] = {0.6931471805599453, 1},  /* l = 2, twice the whole range of values */
    [COVARIANCE_TWOS] = {0, 1},                     /* t = 1 */
    [COVARIANCE_LEARNT] = {-4.6051701859880914, 1}, /* a variance of 0.01 */
};

/* --- where values lie --- */

/* How often 2 divides a whole number above 0; 0 for other numbers. */
static double count_twos(const struct value *value)
{
    int64_t integer;
    if (!number_whole(value, &integer) || integer <= 0)
        return 0;
    return (double)__builtin_ctzll((unsigned long long)integer);
}

static int compare_reals(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Replaces numbers by their ranks. */
static void rank(double *numbers, size_t count)
{
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = numbers[i];
    qsort(sorted, count, sizeof *sorted, compare_reals);
    for (size_t i = 0; i < count; i++) {
        const double *found = bsearch(&numbers[i], sorted, count, sizeof *sorted, compare_reals);
        numbers[i] = found != NULL ? (double)(found - sorted) : 0;
    }
    free(sorted);
}

/* Scales to 0 … 1; equal numbers become 0. */
static void scale(double *numbers, size_t count)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, numbers[i]);
        high = fmax(high, numbers[i]);
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = high > low ? (numbers[i] - low) / (high - low) : 0;
}

static void place_values(struct covariance_parameter *parameter, const struct value_list *list)
{
    bool positive = true;
    for (size_t i = 0; i < list->count; i++) {
        parameter->coordinates[i] = number_real(&list->values[i]);
        positive = positive && parameter->coordinates[i] > 0;
    }
    if (!positive)
        rank(parameter->coordinates, list->count);
    for (size_t i = 0; i < list->count && positive; i++)
        parameter->coordinates[i] = log(parameter->coordinates[i]);
    scale(parameter->coordinates, list->count);
}

/* Where more twos come with larger values only, as in 1, 2, 4, 8, they say nothing new. */
static bool twos_are_news(const struct covariance_parameter *parameter)
{
    for (size_t i = 0; i < parameter->count; i++)
        for (size_t j = 0; j < parameter->count; j++)
            if (parameter->coordinates[i] < parameter->coordinates[j] &&
                parameter->twos[i] > parameter->twos[j])
                return true;
    return false;
}

static void place_twos(struct covariance_parameter *parameter, const struct value_list *list)
{
    double most = 0;
    for (size_t i = 0; i < list->count; i++) {
        parameter->twos[i] = count_twos(&list->values[i]);
        most = fmax(most, parameter->twos[i]);
    }
    bool news = twos_are_news(parameter);
    for (size_t i = 0; i < list->count; i++)
        parameter->twos[i] = news ? parameter->twos[i] / most : 0;
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

void covariance_update(struct covariance *covariance, bool slopes)
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

void covariance_slopes(const struct covariance *covariance, size_t index, const uint32_t *a,
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

size_t covariance_learnt_count(const struct covariance *covariance)
{
    return covariance->count * COVARIANCE_LEARNT + 1;
}

double *covariance_learnt(struct covariance *covariance, size_t index)
{
    size_t parameter = index / COVARIANCE_LEARNT;
    return parameter < covariance->count
               ? &covariance->parameters[parameter].learnt[index % COVARIANCE_LEARNT]
               : &covariance->noise;
}

struct covariance_prior covariance_prior(const struct covariance *covariance, size_t index)
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

void covariance_init(struct covariance *covariance, const struct search_space *space)
{
    *covariance = (struct covariance){0};
    for (size_t i = 0; i < search_space_dimensions(space); i++)
        if (search_space_parameter(space, i)->values->count > 1)
            init_parameter(ARRAY_APPEND(covariance->parameters, covariance->count), i,
                           search_space_parameter(space, i));
    for (size_t i = 0; i < covariance_learnt_count(covariance); i++)
        *covariance_learnt(covariance, i) = covariance_prior(covariance, i).mean;
    covariance_update(covariance, false);
}

void covariance_release(struct covariance *covariance)
{
    for (size_t i = 0; i < covariance->count; i++) {
        struct covariance_parameter *parameter = &covariance->parameters[i];
        free(parameter->coordinates);
        free(parameter->twos);
        free(parameter->factors);
        free(parameter->slopes);
    }
    free(covariance->parameters);
    *covariance = (struct covariance){0};
}
