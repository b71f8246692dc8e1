#include "cover/time_model.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A further term must lower the error by this share of it. */
static const double term_worth = 0.01;

/* A size says at most so little about how a fit without it does there. */
static const double least_freedom = 0.05;

/* One configuration's terms at the sizes where it was measured, each over the time measured there:
 * their sum has to be 1 everywhere. */
struct fitting {
    size_t rows, columns;
    double *values;  /* [column * rows + row] */
    double *lengths; /* of the columns, which are scaled by them */
    size_t *sources; /* of the columns: indices of terms */
};

/* --- linear algebra of a few columns --- */

/* Inverts a symmetric positive definite matrix of `count` rows in place. False if it is singular. */
static bool invert(double matrix[TIME_MODEL_TERMS][TIME_MODEL_TERMS], size_t count)
{
    for (size_t pivot = 0; pivot < count; pivot++) {
        double head = matrix[pivot][pivot];
        if (!(head > 1e-10))
            return false;
        matrix[pivot][pivot] = 1;
        for (size_t j = 0; j < count; j++)
            matrix[pivot][j] /= head;
        for (size_t i = 0; i < count; i++) {
            double factor = matrix[i][pivot];
            if (i == pivot)
                continue;
            matrix[i][pivot] = 0;
            for (size_t j = 0; j < count; j++)
                matrix[i][j] -= factor * matrix[pivot][j];
        }
    }
    return true;
}

static const double *column_of(const struct fitting *fitting, size_t column)
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

/* The least-squares factors of some columns, and the mean square error at rows left out. INFINITY if
 * a factor is not positive. */
static double solve(const struct fitting *fitting, const size_t *columns, size_t count,
                    double *factors)
{
    double inverse[TIME_MODEL_TERMS][TIME_MODEL_TERMS];
    double sums[TIME_MODEL_TERMS] = {0};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double *column = column_of(fitting, columns[i]);
        for (size_t j = 0; j < count; j++)
            inverse[i][j] = dot(column, column_of(fitting, columns[j]), fitting->rows);
        for (size_t row = 0; row < fitting->rows; row++)
            sums[i] += column[row];
    }
    if (!invert(inverse, count))
        return INFINITY;
    for (size_t i = 0; i < count; i++) {
        factors[i] = dot(inverse[i], sums, count);
        if (!(factors[i] > 0))
            return INFINITY;
    }
    for (size_t row = 0; row < fitting->rows; row++) {
        double sum = 0;
        double leverage = 0;
        for (size_t i = 0; i < count; i++) {
            double own = column_of(fitting, columns[i])[row];
            sum += factors[i] * own;
            for (size_t j = 0; j < count; j++)
                leverage += own * inverse[i][j] * column_of(fitting, columns[j])[row];
        }
        double error = (1 - sum) / fmax(1 - leverage, least_freedom);
        squares += fmin(error * error, 1);
    }
    return squares / (double)fitting->rows;
}

/* --- terms --- */

static void fitting_init(struct fitting *fitting, const struct time_basis *basis,
                         size_t configuration, const bool *kept)
{
    const double *times_ns = basis->times_ns + configuration * basis->sizes;
    *fitting = (struct fitting){
        .values = alloc_zeroed(basis->terms.count * basis->sizes, sizeof *fitting->values),
        .lengths = alloc_zeroed(basis->terms.count, sizeof *fitting->lengths),
        .sources = alloc_zeroed(basis->terms.count, sizeof *fitting->sources)};
    for (size_t size = 0; size < basis->sizes; size++)
        fitting->rows += kept[size] && times_ns[size] > 0;
    for (size_t i = 0; i < basis->terms.count; i++) {
        double *column = fitting->values + fitting->columns * fitting->rows;
        size_t row = 0;
        if (basis->terms.items[i].configuration != configuration)
            continue;
        for (size_t size = 0; size < basis->sizes; size++)
            if (kept[size] && times_ns[size] > 0)
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

static void fitting_release(struct fitting *fitting)
{
    free(fitting->values);
    free(fitting->lengths);
    free(fitting->sources);
}

double time_model_rounded(double factor)
{
    enum { DIGITS = 4 };
    double exponent = DIGITS - 1 - floor(log10(factor));
    double power = pow(10, fabs(exponent));
    return exponent >= 0 ? round(factor * power) / power : round(factor / power) * power;
}

/* Tries each column as a further one. Returns the least error; chosen[count] and factors are set. */
static double add_column(const struct fitting *fitting, size_t *chosen, size_t count,
                         double *factors)
{
    double least = INFINITY;
    size_t best = 0;
    for (size_t column = 0; column < fitting->columns; column++) {
        double own[TIME_MODEL_TERMS] = {0};
        chosen[count] = column;
        double error = solve(fitting, chosen, count + 1, own);
        if (error >= least)
            continue;
        least = error;
        best = column;
        memcpy(factors, own, sizeof own);
    }
    chosen[count] = best;
    return least;
}

void time_model_fit(struct time_model *model, const struct time_basis *basis, size_t configuration,
                    const bool *kept)
{
    enum { ROWS_PER_TERM = 3 };
    struct fitting fitting;
    size_t chosen[TIME_MODEL_TERMS] = {0};
    double before = INFINITY;
    *model = (struct time_model){0};
    fitting_init(&fitting, basis, configuration, kept);
    while (model->count < TIME_MODEL_TERMS && (model->count + 1) * ROWS_PER_TERM <= fitting.rows) {
        double factors[TIME_MODEL_TERMS] = {0};
        double error = add_column(&fitting, chosen, model->count, factors);
        if (!(error < before * (1 - term_worth)))
            break;
        before = error;
        model->count++;
        for (size_t i = 0; i < model->count; i++) {
            model->terms[i] = fitting.sources[chosen[i]];
            model->factors[i] = time_model_rounded(factors[i] / fitting.lengths[chosen[i]]);
        }
    }
    fitting_release(&fitting);
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
