#include "cover/time_calibration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIZES = 24, CONFIGURATIONS = 2, TERMS = 4 };

/* Two configurations, whose models have a term for a constant and one for n each. */
struct scene {
    double times_ns[CONFIGURATIONS * SIZES];
    struct time_basis basis;
    struct losses losses;
    struct time_model models[CONFIGURATIONS];
    bool kept[SIZES];
};

static const size_t chosen[CONFIGURATIONS] = {0, 1};

static double n_of(size_t size)
{
    return 1000 * pow(1.3, (double)size);
}

/* The second is faster from n = 30000 on. The models know that each has a constant and a slope, but
 * `bias` times too much of the second one's slope. */
static void scene_init(struct scene *scene, double bias)
{
    static const double factors[CONFIGURATIONS][2] = {{2000, 0.2}, {5000, 0.1}};
    *scene = (struct scene){.basis = {.sizes = SIZES}};
    for (size_t i = 0; i < TERMS; i++) {
        struct feature *term = features_add(&scene->basis.terms, i % 2 == 0 ? "1" : "n", SIZES);
        term->configuration = i / 2;
        for (size_t size = 0; size < SIZES; size++)
            term->values[size] = i % 2 == 0 ? 1 : n_of(size);
    }
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        scene->models[i] = (struct time_model){
            .terms = {2 * i, 2 * i + 1}, .factors = {factors[i][0], factors[i][1]}, .count = 2};
        for (size_t size = 0; size < SIZES; size++)
            scene->times_ns[i * SIZES + size] = factors[i][0] + factors[i][1] * n_of(size);
    }
    scene->models[1].factors[1] *= bias;
    scene->basis.times_ns = scene->times_ns;
    losses_init(&scene->losses, scene->times_ns, CONFIGURATIONS, SIZES, NULL);
    for (size_t size = 0; size < SIZES; size++)
        scene->kept[size] = true;
}

static void scene_release(struct scene *scene)
{
    features_release(&scene->basis.terms);
    losses_release(&scene->losses);
}

/* What choosing the least estimate loses, over all sizes. */
static double loss_of(const struct scene *scene)
{
    double sum = 0;
    for (size_t size = 0; size < SIZES; size++) {
        double first = time_model_estimate(&scene->models[0], &scene->basis, size);
        double second = time_model_estimate(&scene->models[1], &scene->basis, size);
        sum += losses_of(&scene->losses, second < first ? 1 : 0, size) / SIZES;
    }
    return sum;
}

static void calibrate(struct scene *scene)
{
    time_calibration_make(scene->models, chosen, CONFIGURATIONS, &scene->basis, &scene->losses,
                          scene->kept);
}

static void test_estimates_that_are_biased_choose_rightly_afterwards(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, 2.5); /* the second is never the faster one */
    double before = loss_of(&scene);
    calibrate(&scene);
    assert_true(before > 0.1);
    assert_true(loss_of(&scene) < before / 10);
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        assert_true(scene.models[i].factors[0] > 0 && scene.models[i].factors[1] > 0);
    scene_release(&scene);
}

static void test_estimates_that_choose_rightly_stay(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, 1);
    const struct time_model before = scene.models[1];
    calibrate(&scene);
    assert_true(fabs(scene.models[1].factors[0] - before.factors[0]) <= 0);
    assert_true(fabs(scene.models[1].factors[1] - before.factors[1]) <= 0);
    scene_release(&scene);
}

static void test_only_the_sizes_that_are_kept_are_looked_at(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, 2.5);
    const struct time_model before = scene.models[1];
    for (size_t size = 0; size < SIZES; size++)
        scene.kept[size] = n_of(size) < 20000; /* where the bias does no harm */
    calibrate(&scene);
    assert_true(fabs(scene.models[1].factors[1] - before.factors[1]) <= 0);
    scene_release(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_that_are_biased_choose_rightly_afterwards),
        cmocka_unit_test(test_estimates_that_choose_rightly_stay),
        cmocka_unit_test(test_only_the_sizes_that_are_kept_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
