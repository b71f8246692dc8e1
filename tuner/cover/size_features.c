#include "cover/size_features.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* A feature of two of a size's values. */
struct combination {
    const char *before, *between, *after; /* of its text, around both names */
    double (*value)(double a, double b);
    bool whole;
};

static double product(double a, double b)
{
    return a * b;
}

static double ratio(double a, double b)
{
    return a / b;
}

static const struct combination combinations[] = {
    {"", " * ", "", product, true},
    {"", " / ", "", ratio, false},
    {"min(", ", ", ")", fmin, true},
    {"max(", ", ", ")", fmax, true},
};

static double at(const struct sizes *sizes, size_t size, size_t axis)
{
    return (double)sizes_at(sizes, size)[axis];
}

/* An axis alone, and what it leaves when divided by the numbers that a vector load has. */
static void add_axis(struct features *features, const struct sizes *sizes, const char *name,
                     size_t axis)
{
    enum { VECTOR = 4 };
    struct feature *own = features_add(features, name, sizes->count);
    own->whole = true;
    for (size_t i = 0; i < sizes->count; i++)
        own->values[i] = at(sizes, i, axis);
    char *text = alloc_format("%s %% %d", name, VECTOR);
    struct feature *rest = features_add(features, text, sizes->count);
    free(text);
    rest->whole = true;
    for (size_t i = 0; i < sizes->count; i++)
        rest->values[i] = fmod(at(sizes, i, axis), VECTOR);
}

static void add_pair(struct features *features, const struct problem_range *range,
                     const struct sizes *sizes, size_t a, size_t b)
{
    const struct cover_axis *axes = range->kernel->cover.axes;
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        const struct combination *combination = &combinations[i];
        char *text = alloc_format("%s%s%s%s%s", combination->before, axes[a].name,
                                  combination->between, axes[b].name, combination->after);
        struct feature *feature = features_add(features, text, sizes->count);
        free(text);
        feature->whole = combination->whole;
        for (size_t j = 0; j < sizes->count; j++)
            feature->values[j] = combination->value(at(sizes, j, a), at(sizes, j, b));
    }
}

static void add_product_of_all(struct features *features, const struct problem_range *range,
                               const struct sizes *sizes)
{
    char *text = alloc_string(range->kernel->cover.axes[0].name);
    for (size_t axis = 1; axis < sizes->axes; axis++) {
        char *longer = alloc_format("%s * %s", text, range->kernel->cover.axes[axis].name);
        free(text);
        text = longer;
    }
    struct feature *feature = features_add(features, text, sizes->count);
    free(text);
    feature->whole = true;
    for (size_t i = 0; i < sizes->count; i++) {
        feature->values[i] = 1;
        for (size_t axis = 0; axis < sizes->axes; axis++)
            feature->values[i] *= at(sizes, i, axis);
    }
}

void size_features_add(struct features *features, const struct problem_range *range,
                       const struct sizes *sizes)
{
    for (size_t axis = 0; axis < sizes->axes; axis++)
        add_axis(features, sizes, range->kernel->cover.axes[axis].name, axis);
    for (size_t a = 0; a < sizes->axes; a++)
        for (size_t b = a + 1; b < sizes->axes; b++)
            add_pair(features, range, sizes, a, b);
    if (sizes->axes > 2)
        add_product_of_all(features, range, sizes);
}
