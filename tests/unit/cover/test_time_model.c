#include "cover/time_model.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIZES = 30, TERMS = 4 };

/* A kernel whose blocks run in waves: 3000 ns, and 40 ns for each wave and step of a block. */
struct scene {
    struct time_basis basis;
    double times_ns[SIZES];
    bool kept[SIZES];
};

static double random_share(uint64_t *seed)
{
    return (double)(statistics_random(seed) >> 11) * 0x1p-53;
}

static void scene_init(struct scene *scene, double noise)
{
    static const char *const texts[TERMS] = {"1", "k", "n", "waves * k"};
    uint64_t seed = 1;
    *scene = (struct scene){.basis = {.sizes = SIZES}};
    scene->basis.times_ns = scene->times_ns;
    for (size_t i = 0; i < TERMS; i++)
        features_add(&scene->basis.terms, texts[i], SIZES)->configuration = 0;
    for (size_t size = 0; size < SIZES; size++) {
        double k = exp2(6 + 7 * random_share(&seed));
        double n = exp2(6 + 7 * random_share(&seed));
        double waves = ceil(n / 700);
        const double values[TERMS] = {1, k, n, waves * k};
        for (size_t i = 0; i < TERMS; i++)
            scene->basis.terms.items[i].values[size] = values[i];
        scene->times_ns[size] =
            (3000 + 40 * waves * k) * (1 + noise * (2 * random_share(&seed) - 1));
        scene->kept[size] = true;
    }
}

static void scene_release(struct scene *scene)
{
    features_release(&scene->basis.terms);
}

static void test_finds_what_a_time_is_made_of(void **state)
{
    struct scene scene;
    struct time_model model;
    (void)state;
    scene_init(&scene, 0);
    time_models_fit(&model, &scene.basis, 1, scene.kept);
    char *text = time_model_text(&model, &scene.basis, 0, model.count);
    assert_string_equal(text, "40 * waves * k + 3000");
    for (size_t size = 0; size < SIZES; size++)
        assert_true(fabs(time_model_estimate(&model, &scene.basis, size) / scene.times_ns[size] -
                         1) < 1e-3);
    free(text);
    scene_release(&scene);
}

static void test_estimates_sizes_that_were_left_out_despite_noise(void **state)
{
    struct scene scene;
    struct time_model model;
    (void)state;
    scene_init(&scene, 0.02);
    for (size_t size = 0; size < SIZES; size += 3)
        scene.kept[size] = false;
    time_models_fit(&model, &scene.basis, 1, scene.kept);
    for (size_t size = 0; size < SIZES; size += 3)
        assert_true(fabs(time_model_estimate(&model, &scene.basis, size) / scene.times_ns[size] -
                         1) < 0.05);
    scene_release(&scene);
}

/* A tiled kernel has a time for each wave, each step, each tile and each part of its memory. */
static void test_a_time_may_have_many_terms(void **state)
{
    enum { MANY = 7, ROWS = 64 };
    static const char *const texts[MANY] = {"1", "m", "n", "k", "m * n", "n * k", "waves * k"};
    double times_ns[ROWS] = {0};
    bool kept[ROWS];
    struct time_basis basis = {.sizes = ROWS, .times_ns = times_ns};
    struct time_model model;
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        features_add(&basis.terms, texts[i], ROWS)->configuration = 0;
    for (size_t size = 0; size < ROWS; size++) {
        double m = exp2(6 + 7 * random_share(&seed));
        double n = exp2(6 + 7 * random_share(&seed));
        double k = exp2(6 + 7 * random_share(&seed));
        const double values[MANY] = {1, m, n, k, m * n, n * k, ceil(m * n / 70000) * k};
        const double factors[MANY] = {3000, 2, 1, 5, 0.01, 0.02, 40};
        kept[size] = true;
        for (size_t i = 0; i < MANY; i++) {
            basis.terms.items[i].values[size] = values[i];
            times_ns[size] += factors[i] * values[i];
        }
    }
    time_models_fit(&model, &basis, 1, kept);
    assert_int_equal(model.count, MANY);
    for (size_t size = 0; size < ROWS; size++)
        assert_true(fabs(time_model_estimate(&model, &basis, size) / times_ns[size] - 1) < 2e-3);
    features_release(&basis.terms);
}

/* Each size is slower by a factor that no term knows, such as for what its data do to a cache, and for both
 * configurations alike. */
static void test_what_all_configurations_share_does_not_hide_where_they_differ(void **state)
{
    enum { BOTH = 2, ROWS = 64 };
    static const char *const texts[] = {"1", "m", "n", "waves * k"};
    enum { COUNT = sizeof texts / sizeof *texts };
    double times_ns[BOTH * ROWS];
    bool kept[ROWS];
    struct time_basis basis = {.sizes = ROWS, .times_ns = times_ns};
    struct time_model models[BOTH];
    uint64_t seed = 3;
    (void)state;
    for (size_t i = 0; i < BOTH * COUNT; i++)
        features_add(&basis.terms, texts[i % COUNT], ROWS)->configuration = i / COUNT;
    for (size_t size = 0; size < ROWS; size++) {
        double m = exp2(6 + 7 * random_share(&seed));
        double n = exp2(6 + 7 * random_share(&seed));
        double waves = ceil(m * n / 70000);
        double factor = exp2(2 * random_share(&seed) - 1);
        kept[size] = true;
        for (size_t i = 0; i < BOTH; i++) {
            const double values[COUNT] = {1, m, n, waves * 512};
            for (size_t term = 0; term < COUNT; term++)
                basis.terms.items[i * COUNT + term].values[size] = values[term];
            times_ns[i * ROWS + size] =
                factor * (i == 0 ? 3000 + 40 * values[3] : 9000 + 5 * m + 30 * values[3]);
        }
    }
    time_models_fit(models, &basis, BOTH, kept);
    for (size_t size = 0; size < ROWS; size++) {
        double estimated = time_model_estimate(&models[0], &basis, size) /
                           time_model_estimate(&models[1], &basis, size);
        assert_true(fabs(estimated / (times_ns[size] / times_ns[ROWS + size]) - 1) < 0.1);
    }
    features_release(&basis.terms);
}

static void test_failures_are_not_times(void **state)
{
    struct scene scene;
    struct time_model model;
    (void)state;
    scene_init(&scene, 0);
    scene.times_ns[3] = TIME_FAILED;
    scene.times_ns[7] = TIME_MISSING;
    time_models_fit(&model, &scene.basis, 1, scene.kept);
    assert_true(fabs(time_model_estimate(&model, &scene.basis, 4) / scene.times_ns[4] - 1) < 1e-3);
    scene_release(&scene);
}

static void test_too_few_times_estimate_nothing(void **state)
{
    struct scene scene;
    struct time_model model;
    (void)state;
    scene_init(&scene, 0);
    for (size_t size = 2; size < SIZES; size++)
        scene.times_ns[size] = TIME_FAILED;
    time_models_fit(&model, &scene.basis, 1, scene.kept);
    assert_int_equal(model.count, 0);
    assert_true(isinf(time_model_estimate(&model, &scene.basis, 0)));
    scene_release(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_a_time_is_made_of),
        cmocka_unit_test(test_estimates_sizes_that_were_left_out_despite_noise),
        cmocka_unit_test(test_a_time_may_have_many_terms),
        cmocka_unit_test(test_what_all_configurations_share_does_not_hide_where_they_differ),
        cmocka_unit_test(test_failures_are_not_times),
        cmocka_unit_test(test_too_few_times_estimate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
