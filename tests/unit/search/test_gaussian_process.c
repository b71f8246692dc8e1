#include "search/gaussian_process.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include "unit/search_field.h"
#include "unit/test.h"

#include <math.h>

enum { DIMENSIONS = 3, ROWS = 40, POINTS = 30 };

/* A space of three parameters: of numbers, of words, and of many numbers; and some of its points. */
struct bench {
    struct field field;
    struct gaussian_process process;
    uint32_t points[POINTS * DIMENSIONS];
};

static int make_bench(void **state)
{
    struct bench *bench = alloc_zeroed(1, sizeof *bench);
    uint64_t random = 1;
    add_parameter(&bench->field, "16..256 step 16");
    add_parameter(&bench->field, "red, green, blue");
    add_parameter(&bench->field, "1..200");
    for (size_t i = 0; i < (size_t)POINTS * DIMENSIONS; i++)
        bench->points[i] = (uint32_t)((statistics_random(&random) >> 8) %
                                      bench->field.values[i % DIMENSIONS].count);
    gaussian_process_init(&bench->process, open_space(&bench->field), ROWS);
    *state = bench;
    return 0;
}

static int free_bench(void **state)
{
    struct bench *bench = *state;
    gaussian_process_release(&bench->process);
    field_release(&bench->field);
    free(bench);
    return 0;
}

static const uint32_t *point(const struct bench *bench, size_t index)
{
    return bench->points + index * DIMENSIONS;
}

UNIT_TEST_WITH(a_covariance_is_1_for_equal_points_and_less_for_others, make_bench, free_bench)
{
    struct bench *bench = *state;
    const struct covariance *covariance = &bench->process.covariance;
    const uint32_t near[] = {3, 1, 99};
    const uint32_t same[] = {3, 1, 99};
    const uint32_t neighbour[] = {3, 1, 98};
    const uint32_t far[] = {12, 0, 5};
    assert_true(fabs(covariance_of(covariance, near, same) - 1) < 1e-6);
    assert_true(covariance_of(covariance, near, neighbour) < 1);
    assert_true(covariance_of(covariance, near, far) < covariance_of(covariance, near, neighbour));
    assert_true(fabs(covariance_of(covariance, near, far) - covariance_of(covariance, far, near)) <
                1e-9);
}

/* Solves the rows' equations without any of the process's shortcuts: mean and variance of a
 * prediction, by Gauss's elimination. */
static void predict_directly(const struct bench *bench, const double *targets, size_t count,
                             const uint32_t *where, double *mean, double *variance)
{
    const struct covariance *covariance = &bench->process.covariance;
    double matrix[POINTS][POINTS + 2];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++)
            matrix[i][j] = covariance_of(covariance, point(bench, i), point(bench, j)) +
                           (i == j ? exp(covariance->noise) : 0);
        matrix[i][count] = targets[i];
        matrix[i][count + 1] = covariance_of(covariance, point(bench, i), where);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            double factor = k == i ? 0 : matrix[k][i] / matrix[i][i];
            for (size_t j = i; j < count + 2 && k != i; j++)
                matrix[k][j] -= factor * matrix[i][j];
        }
    *mean = 0;
    *variance = 1;
    for (size_t i = 0; i < count; i++) {
        double shared = covariance_of(covariance, point(bench, i), where);
        *mean += shared * matrix[i][count] / matrix[i][i];
        *variance -= shared * matrix[i][count + 1] / matrix[i][i];
    }
}

/* Candidates before and after rows, rows before and after targets: the order does not matter. */
UNIT_TEST_WITH(predictions_are_right_in_whatever_order_things_come, make_bench, free_bench)
{
    struct bench *bench = *state;
    struct candidates candidates;
    double targets[20];
    candidates_init(&candidates, DIMENSIONS, 10, ROWS);
    for (size_t i = 0; i < 20; i++)
        targets[i] = sin((double)i);
    candidates_add(&candidates, point(bench, 25));
    for (size_t i = 0; i < 20; i++) {
        gaussian_process_add(&bench->process, point(bench, i));
        if (i == 7 || i == 13)
            candidates_predict(&candidates, &bench->process);
        if (i == 10)
            candidates_add(&candidates, point(bench, 26));
    }
    (void)gaussian_process_tell(&bench->process, targets, NULL);
    candidates_predict(&candidates, &bench->process);
    candidates_weigh(&candidates, &bench->process);
    candidates_add(&candidates, point(bench, 27));
    candidates_predict(&candidates, &bench->process);
    for (size_t i = 0; i < 3; i++) {
        double mean;
        double variance;
        predict_directly(bench, targets, 20, point(bench, 25 + i), &mean, &variance);
        assert_true(fabs((double)candidates.means[i] - mean) < 1e-3);
        assert_true(fabs((double)candidates.variances[i] - variance) < 1e-3);
    }
    candidates_release(&candidates);
}

/* Only the first parameter matters: its relevance grows, the others' shrinks. */
UNIT_TEST_WITH(learning_tells_what_matters, make_bench, free_bench)
{
    struct bench *bench = *state;
    struct covariance *covariance = &bench->process.covariance;
    const uint32_t *points[POINTS];
    double targets[POINTS];
    for (size_t i = 0; i < POINTS; i++) {
        points[i] = point(bench, i);
        targets[i] = ((double)points[i][0] - 7.5) / 4.5;
    }
    likelihood_learn(covariance, points, targets, POINTS);
    assert_true(covariance->parameters[0].learnt[COVARIANCE_RELEVANCE] > 0.5);
    assert_true(covariance->parameters[1].learnt[COVARIANCE_RELEVANCE] < -0.5);
    assert_true(covariance->parameters[2].learnt[COVARIANCE_RELEVANCE] < -0.5);
}
