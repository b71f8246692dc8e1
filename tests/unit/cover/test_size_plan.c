#include "cover/problem_range.h"

#include "base/alloc.h"

#include "unit/test.h"

#include <math.h>

/* A kernel with problem values m, n, k of 2^low … 2^high; `constraint` may be NULL. */
struct scene {
    struct parameter values[3];
    struct value_list lists[3];
    struct expression *expression;
    const struct expression *constraints[1];
    struct sweep_kernel kernel;
    struct problem_range range;
    struct sizes sizes;
};

static void scene_init(struct scene *scene, size_t axes, int low, int high, const char *constraint)
{
    static const char *const names[] = {"m", "n", "k"};
    *scene = (struct scene){.kernel = {.label = "test"}};
    scene->kernel.template.problem = scene->values;
    scene->kernel.template.problem_count = axes;
    scene->kernel.problem_values = scene->lists;
    scene->kernel.cover.axis_count = axes;
    for (size_t i = 0; i < axes; i++) {
        scene->values[i] = (struct parameter){.name = names[i]};
        scene->kernel.cover.axes[i] =
            (struct cover_axis){names[i], (int64_t)1 << low, (int64_t)1 << high};
    }
    if (constraint != NULL) {
        assert_int_equal(expression_new(&scene->expression, constraint, "test", 1, NULL), 0);
        scene->constraints[0] = scene->expression;
        scene->kernel.constraints = scene->constraints;
        scene->kernel.constraint_count = 1;
    }
    assert_int_equal(problem_range_init(&scene->range, &scene->kernel, "test", NULL), 0);
    scene->sizes.axes = axes;
}

static void scene_release(struct scene *scene)
{
    sizes_release(&scene->sizes);
    problem_range_release(&scene->range);
    expression_free(scene->expression);
}

static bool has(const struct sizes *sizes, int64_t value)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->values[i] == value)
            return true;
    return false;
}

UNIT_TEST(test_the_first_sizes_have_both_ends_and_spread_evenly)
{
    struct scene scene;
    scene_init(&scene, 1, 10, 26, NULL);
    assert_int_equal(size_plan(&scene.range, 9, &scene.sizes, NULL), 0);
    assert_int_equal(scene.sizes.count, 9);
    assert_true(has(&scene.sizes, 1 << 10));
    assert_true(has(&scene.sizes, 1 << 26));
    for (int64_t size = 1 << 10; size <= 1 << 26; size *= 2) {
        double nearest = INFINITY;
        for (size_t i = 0; i < scene.sizes.count; i++)
            nearest = fmin(nearest, sizes_distance(sizes_at(&scene.sizes, i), &size, 1));
        assert_true(nearest < 1.6);
    }
    scene_release(&scene);
}

UNIT_TEST(test_constraints_on_the_problem_limit_the_range)
{
    struct scene scene;
    scene_init(&scene, 3, 4, 13, "m * n * k <= 2^30 and m % 16 == 0");
    assert_int_equal(size_plan(&scene.range, 40, &scene.sizes, NULL), 0);
    assert_int_equal(scene.sizes.count, 40);
    for (size_t i = 0; i < scene.sizes.count; i++) {
        const int64_t *size = sizes_at(&scene.sizes, i);
        assert_true(size[0] * size[1] * size[2] <= 1 << 30);
        assert_true(size[0] % 16 == 0 && size[1] >= 16 && size[2] <= 8192);
    }
    scene_release(&scene);
}

UNIT_TEST(test_a_range_that_constraints_leave_empty_is_an_error)
{
    struct scene scene;
    struct error error;
    scene_init(&scene, 1, 4, 8, "m > 2^20");
    assert_int_equal(size_plan(&scene.range, 5, &scene.sizes, &error), ERROR_CONFIG);
    assert_non_null(strstr(error.message, "no size in the range"));
    scene_release(&scene);
}

UNIT_TEST(test_a_range_of_one_size_has_one)
{
    struct scene scene;
    scene_init(&scene, 2, 8, 8, NULL);
    assert_int_equal(size_plan(&scene.range, 10, &scene.sizes, NULL), 0);
    assert_int_equal(scene.sizes.count, 1);
    scene_release(&scene);
}

UNIT_TEST(test_problems_become_sizes_only_within_the_range)
{
    struct scene scene;
    struct bindings problem = {0};
    int64_t size[] = {64, 256};
    int64_t back[2];
    scene_init(&scene, 2, 5, 8, NULL);
    problem_range_bind(&scene.range, size, &problem);
    assert_true(problem_range_size(&scene.range, &problem, back));
    assert_memory_equal(size, back, sizeof size);
    bindings_set(&problem, "n", value_integer(257));
    assert_false(problem_range_size(&scene.range, &problem, back));
    bindings_set(&problem, "n", value_real(256));
    assert_true(problem_range_size(&scene.range, &problem, back));
    assert_memory_equal(size, back, sizeof size);
    bindings_set(&problem, "n", value_real(255.5));
    assert_false(problem_range_size(&scene.range, &problem, back));
    bindings_release(&problem);
    scene_release(&scene);
}
