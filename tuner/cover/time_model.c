#include "cover/time_model.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A further term must lower the error by this share of it. */
static const double term_worth = 0.01;

/* A size says at most so little about how a fit without it does there. */
static const double least_freedom = 0.05;

/* How often what all configurations share is found, and taken out of the times. */
enum { PASSES = 2 };

/*
 * One configuration's terms at the sizes where it was measured, each over the time measured there: their
 * sum has to be 1 everywhere. Each column that is chosen is taken out of all others (modified
 * Gram-Schmidt), so that a further one changes no share of an earlier one.
 */
struct fitting {
    size_t rows, columns;
    double *values;   /* [column * rows + row] */
    double *lengths;  /* of the columns, which are scaled by them */
    size_t *sources;  /* of the columns: indices of terms */
    double *removed;  /* [step * columns + column]: how much of a chosen column was in another */
    double *errors;   /* of each row: what the chosen columns lack */
    double *leverage; /* of each row */
    size_t chosen[TIME_MODEL_TERMS];
    double shares[TIME_MODEL_TERMS]; /* of the chosen columns, as they are now */
    size_t count;
};

static double *column_of(const struct fitting *fitting, size_t column)
{
    return fitting->values + column * fitting->rows;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* --- columns --- */

static void add_columns(struct fitting *fitting, const struct time_basis *basis,
                        size_t configuration, const double *times_ns)
{
    for (size_t i = 0; i < basis->terms.count; i++) {
        double *column = column_of(fitting, fitting->columns);
        size_t row = 0;
        if (basis->terms.items[i].configuration != configuration)
            continue;
        for (size_t size = 0; size < basis->sizes; size++)
            if (times_ns[size] > 0)
                column[row++] = basis->terms.items[i].values[size] / times_ns[size];
        double length = sqrt(dot(column, column, row));
        if (!(length > 0) || !isfinite(length))
            continue;
        for (size_t j = 0; j < row; j++)
            column[j] /= length;
        fitting->lengths[fitting->columns] = length;
        fitting->sources[fitting->columns++] = i;
    }
}

static void fitting_init(struct fitting *fitting, const struct time_basis *basis,
                         size_t configuration, const double *times_ns)
{
    const size_t terms = basis->terms.count;
    *fitting = (struct fitting){.values = alloc_zeroed(terms * basis->sizes, sizeof(double)),
                                .lengths = alloc_zeroed(terms, sizeof(double)),
                                .sources = alloc_zeroed(terms, sizeof *fitting->sources),
                                .removed = alloc_zeroed(TIME_MODEL_TERMS * terms, sizeof(double)),
                                .errors = alloc_zeroed(basis->sizes, sizeof(double)),
                                .leverage = alloc_zeroed(basis->sizes, sizeof(double))};
    for (size_t size = 0; size < basis->sizes; size++)
        fitting->rows += times_ns[size] > 0;
    for (size_t row = 0; row < fitting->rows; row++)
        fitting->errors[row] = 1;
    add_columns(fitting, basis, configuration, times_ns);
}

static void fitting_release(struct fitting *fitting)
{
    free(fitting->values);
    free(fitting->lengths);
    free(fitting->sources);
    free(fitting->removed);
    free(fitting->errors);
    free(fitting->leverage);
}

/* --- choosing columns --- */

/* The factors of the chosen columns, as these were at first. False unless all are positive. */
static bool find_factors(const struct fitting *fitting, double *factors)
{
    bool positive = true;
    for (size_t i = fitting->count; i-- > 0;) {
        factors[i] = fitting->shares[i];
        for (size_t j = i + 1; j < fitting->count; j++)
            factors[i] -= fitting->removed[i * fitting->columns + fitting->chosen[j]] * factors[j];
        positive = positive && factors[i] > 0;
    }
    return positive;
}

/* The mean square error at rows left out, with a further column that has this share. */
static double error_with(const struct fitting *fitting, const double *column, double length,
                         double share)
{
    double squares = 0;
    for (size_t row = 0; row < fitting->rows; row++) {
        double freedom = 1 - fitting->leverage[row] - column[row] * column[row] / length;
        double error = (fitting->errors[row] - share * column[row]) / fmax(freedom, least_freedom);
        squares += fmin(error * error, 1);
    }
    return squares / (double)fitting->rows;
}

/* Tries a column as a further one. Returns the error, or INFINITY if a factor would not be positive or
 * the column adds nothing to the others; its share is set. */
static double try_column(struct fitting *fitting, size_t index)
{
    double factors[TIME_MODEL_TERMS];
    const double *column = column_of(fitting, index);
    double length = dot(column, column, fitting->rows);
    if (!(length > 1e-10))
        return INFINITY;
    double share = dot(column, fitting->errors, fitting->rows) / length;
    fitting->chosen[fitting->count] = index;
    fitting->shares[fitting->count++] = share;
    bool positive = find_factors(fitting, factors);
    fitting->count--;
    return positive ? error_with(fitting, column, length, share) : INFINITY;
}

/* Takes a column out of all others, and then out of itself, so that it is not tried again. */
static void add_column(struct fitting *fitting, size_t index)
{
    double *column = column_of(fitting, index);
    double length = dot(column, column, fitting->rows);
    double share = dot(column, fitting->errors, fitting->rows) / length;
    for (size_t row = 0; row < fitting->rows; row++) {
        fitting->errors[row] -= share * column[row];
        fitting->leverage[row] += column[row] * column[row] / length;
    }
    for (size_t i = 0; i < fitting->columns; i++) {
        double *other = column_of(fitting, i);
        double removed = dot(column, other, fitting->rows) / length;
        if (i == index)
            continue;
        fitting->removed[fitting->count * fitting->columns + i] = removed;
        for (size_t row = 0; row < fitting->rows; row++)
            other[row] -= removed * column[row];
    }
    memset(column, 0, fitting->rows * sizeof *column);
    fitting->chosen[fitting->count] = index;
    fitting->shares[fitting->count++] = share;
}

/* Adds the column with which the error is least, if it is below `error`. Returns the error. */
static double add_best(struct fitting *fitting, double error)
{
    double least = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < fitting->columns; i++) {
        double own = try_column(fitting, i);
        if (own >= least)
            continue;
        least = own;
        best = i;
    }
    if (least < error)
        add_column(fitting, best);
    return least;
}

/* --- models --- */

double time_model_rounded(double factor)
{
    enum { DIGITS = 4 };
    double exponent = DIGITS - 1 - floor(log10(factor));
    double power = pow(10, fabs(exponent));
    return exponent >= 0 ? round(factor * power) / power : round(factor / power) * power;
}

/* `times_ns` has one for each size, and nothing above 0 for those that are not to be used. */
static void fit(struct time_model *model, const struct time_basis *basis, size_t configuration,
                const double *times_ns)
{
    enum { ROWS_PER_TERM = 3 };
    struct fitting fitting;
    double factors[TIME_MODEL_TERMS];
    double error = INFINITY;
    size_t before = SIZE_MAX;
    *model = (struct time_model){0};
    fitting_init(&fitting, basis, configuration, times_ns);
    while (fitting.count != before && fitting.count < TIME_MODEL_TERMS &&
           (fitting.count + 1) * ROWS_PER_TERM <= fitting.rows) {
        before = fitting.count;
        error = add_best(&fitting, error * (1 - term_worth));
    }
    (void)find_factors(&fitting, factors);
    model->count = fitting.count;
    for (size_t i = 0; i < model->count; i++) {
        size_t column = fitting.chosen[i];
        model->terms[i] = fitting.sources[column];
        model->factors[i] = time_model_rounded(factors[i] / fitting.lengths[column]);
    }
    fitting_release(&fitting);
}

/* --- what all configurations share --- */

/* The times of a configuration without what all share; 0 where it was not measured, or not kept. */
static void adjust_times(const struct time_basis *basis, size_t configuration, const bool *kept,
                         const double *shared, double *times_ns)
{
    const double *measured_ns = basis->times_ns + configuration * basis->sizes;
    for (size_t size = 0; size < basis->sizes; size++)
        times_ns[size] = kept[size] && measured_ns[size] > 0 ? measured_ns[size] / shared[size] : 0;
}

/* How many times longer than their estimates the configurations take at a size, in the geometric mean. */
static double find_shared(const struct time_model *models, const struct time_basis *basis,
                          size_t configurations, size_t size)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < configurations; i++) {
        double time_ns = basis->times_ns[i * basis->sizes + size];
        if (models[i].count == 0 || !(time_ns > 0))
            continue;
        sum += log(time_ns / time_model_estimate(&models[i], basis, size));
        count++;
    }
    return count > 0 ? exp(sum / (double)count) : 1;
}

void time_models_fit(struct time_model *models, const struct time_basis *basis,
                     size_t configurations, const bool *kept)
{
    double *shared = alloc_zeroed(basis->sizes, sizeof *shared);
    double *times_ns = alloc_zeroed(basis->sizes, sizeof *times_ns);
    for (size_t size = 0; size < basis->sizes; size++)
        shared[size] = 1;
    for (size_t pass = 0; pass <= PASSES; pass++) {
        for (size_t size = 0; size < basis->sizes && pass > 0 && configurations > 1; size++)
            if (kept[size])
                shared[size] = find_shared(models, basis, configurations, size);
        for (size_t i = 0; i < configurations; i++) {
            adjust_times(basis, i, kept, shared, times_ns);
            fit(&models[i], basis, i, times_ns);
        }
    }
    free(times_ns);
    free(shared);
}

double time_model_estimate(const struct time_model *model, const struct time_basis *basis,
                           size_t size)
{
    double sum = model->count > 0 ? 0 : INFINITY;
    for (size_t i = 0; i < model->count; i++)
        sum += model->factors[i] * basis->terms.items[model->terms[i]].values[size];
    return sum;
}

char *time_model_text(const struct time_model *model, const struct time_basis *basis, size_t from,
                      size_t to)
{
    char *text = alloc_string(from < to ? "" : "0");
    for (size_t i = from; i < to; i++) {
        char factor[LITERAL_REAL_BYTES];
        const char *term = basis->terms.items[model->terms[i]].text;
        (void)literal_real_text(model->factors[i], factor);
        char *longer = alloc_format(strcmp(term, "1") == 0 ? "%s%s%s" : "%s%s%s * %s", text,
                                    i > from ? " + " : "", factor, term);
        free(text);
        text = longer;
    }
    return text;
}
