#include "cover/problem_range.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cover_axis *axis_of(const struct problem_range *range, const char *name)
{
    const struct sweep_cover *cover = &range->kernel->cover;
    for (size_t i = 0; i < cover->axis_count; i++)
        if (strcmp(cover->axes[i].name, name) == 0)
            return &cover->axes[i];
    return NULL;
}

int problem_range_init(struct problem_range *range, const struct sweep_kernel *kernel,
                       const char *sweep_path, struct error *error)
{
    *range = (struct problem_range){.kernel = kernel};
    for (size_t i = 0; i < kernel->template.problem_count; i++) {
        const char *name = kernel->template.problem[i].name;
        const struct value_list *values = &kernel->problem_values[i];
        if (axis_of(range, name) != NULL)
            continue;
        if (values->count != 1)
            return error_set_at(error, ERROR_CONFIG, sweep_path, kernel->cover.line,
                                "'%s' has %zu values; give it one, or a range in 'cover'", name,
                                values->count);
        bindings_set(&range->fixed, name, values->values[0]);
    }
    return 0;
}

void problem_range_release(struct problem_range *range)
{
    bindings_release(&range->fixed);
}

void problem_range_bind(const struct problem_range *range, const int64_t *size,
                        struct bindings *problem)
{
    const struct template *template = &range->kernel->template;
    for (size_t i = 0; i < template->problem_count; i++) {
        const char *name = template->problem[i].name;
        const struct cover_axis *axis = axis_of(range, name);
        bindings_set(problem, name,
                     axis != NULL ? value_integer(size[axis - range->kernel->cover.axes])
                                  : *bindings_find(&range->fixed, name));
    }
}

/* The size that a value is on an axis, 9001 or 9.001e3; false if it is outside, or not whole. */
static bool take_size(const struct cover_axis *axis, const struct value *value, int64_t *size)
{
    double real = value->kind == VALUE_REAL ? value->as.real : (double)value->as.integer;
    if ((value->kind != VALUE_INTEGER && value->kind != VALUE_REAL) ||
        !(real >= (double)axis->low && real <= (double)axis->high))
        return false;
    *size = value->kind == VALUE_REAL ? (int64_t)real : value->as.integer;
    return value_alike(*value, value_integer(*size));
}

bool problem_range_size(const struct problem_range *range, const struct bindings *problem,
                        int64_t *size)
{
    const struct template *template = &range->kernel->template;
    for (size_t i = 0; i < template->problem_count; i++) {
        const char *name = template->problem[i].name;
        const struct cover_axis *axis = axis_of(range, name);
        const struct value *value = bindings_find(problem, name);
        if (value == NULL)
            return false;
        if (axis == NULL) {
            if (!value_alike(*value, *bindings_find(&range->fixed, name)))
                return false;
            continue;
        }
        if (!take_size(axis, value, &size[axis - range->kernel->cover.axes]))
            return false;
    }
    return true;
}

/* Whether a constraint names problem values and nothing else. */
static bool is_of_problem(const struct template *template, const struct expression *constraint)
{
    bool own = expression_name_count(constraint) > 0;
    for (size_t i = 0; i < expression_name_count(constraint); i++)
        own = own && template_problem_value(template, expression_name(constraint, i)) != NULL;
    return own;
}

int problem_range_admits(const struct problem_range *range, const int64_t *size,
                         struct error *error)
{
    const struct sweep_kernel *kernel = range->kernel;
    struct bindings problem = {0};
    bool holds = true;
    int status = 0;
    problem_range_bind(range, size, &problem);
    const struct scope scope = {.bindings = &problem};
    for (size_t i = 0; i < kernel->constraint_count && status == 0 && holds; i++)
        if (is_of_problem(&kernel->template, kernel->constraints[i]))
            status = expression_boolean(kernel->constraints[i], &scope, &holds, error);
    bindings_release(&problem);
    return status != 0 ? status : holds;
}

char *problem_range_constraint(const struct problem_range *range)
{
    const struct sweep_kernel *kernel = range->kernel;
    char *text = NULL;
    for (size_t i = 0; i < kernel->constraint_count; i++) {
        const char *own = expression_expanded(kernel->constraints[i]);
        if (!is_of_problem(&kernel->template, kernel->constraints[i]))
            continue;
        alloc_append(&text, "%s(%s)", text != NULL ? " and " : "", own);
    }
    return text;
}

/* --- lists --- */

const int64_t *sizes_at(const struct sizes *sizes, size_t index)
{
    return sizes->values + index * sizes->axes;
}

bool sizes_has(const struct sizes *sizes, const int64_t *size)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (memcmp(sizes_at(sizes, i), size, sizes->axes * sizeof *size) == 0)
            return true;
    return false;
}

bool sizes_add(struct sizes *sizes, const int64_t *size)
{
    const size_t bytes = sizes->axes * sizeof *size;
    if (sizes_has(sizes, size))
        return false;
    sizes->values = alloc_resize(sizes->values, (sizes->count + 1) * sizes->axes, sizeof *size);
    memcpy(sizes->values + sizes->count++ * sizes->axes, size, bytes);
    return true;
}

void sizes_release(struct sizes *sizes)
{
    free(sizes->values);
    sizes->values = NULL;
    sizes->count = 0;
}

double sizes_distance(const int64_t *a, const int64_t *b, size_t axes)
{
    double sum = 0;
    for (size_t i = 0; i < axes; i++)
        sum += fabs(value_scale((double)a[i]) - value_scale((double)b[i]));
    return sum;
}

static int compare_sizes(const int64_t *left, const int64_t *right, size_t axes)
{
    for (size_t i = 0; i < axes; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

size_t sizes_insert(struct sizes *sizes, const int64_t *size)
{
    size_t place = sizes->count;
    sizes->values = alloc_resize(sizes->values, (sizes->count + 1) * sizes->axes, sizeof *size);
    while (place > 0 && compare_sizes(size, sizes_at(sizes, place - 1), sizes->axes) < 0)
        place--;
    int64_t *at = sizes->values + place * sizes->axes;
    memmove(at + sizes->axes, at, (sizes->count - place) * sizes->axes * sizeof *size);
    memcpy(at, size, sizes->axes * sizeof *size);
    sizes->count++;
    return place;
}

/* --- the plan --- */

enum { TRIES = 16384 /* of which constraints may reject most */ };

/* Element `index` of the van der Corput sequence of this base, 0 < result < 1 from index 1 on; for
 * several prime bases they make a Halton sequence (Halton 1960). */
static double halton(size_t index, size_t base)
{
    double result = 0;
    double digit = 1;
    for (; index > 0; index /= base) {
        digit /= (double)base;
        result += digit * (double)(index % base);
    }
    return result;
}

/* `value` with its leading bits only, `bits` of them; 0: all. Applications' sizes are round more
 * often than not. */
static int64_t keep_bits(int64_t value, int bits)
{
    int64_t unit = 1;
    while (bits > 0 && value / unit >= (int64_t)1 << bits)
        unit *= 2;
    return (value + unit / 2) / unit * unit;
}

static int64_t within(int64_t value, const struct cover_axis *axis)
{
    if (value < axis->low)
        return axis->low;
    return value > axis->high ? axis->high : value;
}

static void spread_size(const struct problem_range *range, size_t index, int64_t *size)
{
    static const size_t bases[SWEEP_COVER_AXES] = {2, 3, 5, 7, 11, 13};
    static const int bits[] = {3, 0, 6};
    for (size_t i = 0; i < range->kernel->cover.axis_count; i++) {
        const struct cover_axis *axis = &range->kernel->cover.axes[i];
        double octaves = log2((double)axis->high / (double)axis->low);
        double value = (double)axis->low * exp2(octaves * halton(index, bases[i]));
        size[i] = within(keep_bits(llround(value), bits[index % 3]), axis);
    }
}

/* Adds the size if the range admits it. */
static int add_admitted(const struct problem_range *range, const int64_t *size, struct sizes *sizes,
                        struct error *error)
{
    int admitted = problem_range_admits(range, size, error);
    if (admitted > 0)
        (void)sizes_add(sizes, size);
    return admitted < 0 ? admitted : 0;
}

/* Adds sizes from the sequence until there are `count`. */
static int add_spread(const struct problem_range *range, size_t count, struct sizes *sizes,
                      struct error *error)
{
    int64_t size[SWEEP_COVER_AXES];
    int status = 0;
    for (size_t index = 1; index < TRIES && sizes->count < count && status == 0; index++) {
        spread_size(range, index, size);
        status = add_admitted(range, size, sizes, error);
    }
    return status;
}

static int add_corners(const struct problem_range *range, size_t count, struct sizes *sizes,
                       struct error *error)
{
    const size_t axes = range->kernel->cover.axis_count;
    int64_t size[SWEEP_COVER_AXES];
    int status = 0;
    for (size_t corner = 0; corner < (size_t)1 << axes && sizes->count < count && status == 0;
         corner++) {
        for (size_t i = 0; i < axes; i++) {
            const struct cover_axis *axis = &range->kernel->cover.axes[i];
            size[i] = corner >> i & 1 ? axis->high : axis->low;
        }
        status = add_admitted(range, size, sizes, error);
    }
    return status;
}

int size_plan(const struct problem_range *range, size_t count, struct sizes *sizes,
              struct error *error)
{
    int status = add_corners(range, count, sizes, error);
    if (status == 0)
        status = add_spread(range, count, sizes, error);
    if (status == 0 && sizes->count == 0)
        status = error_set(error, ERROR_CONFIG,
                           "no size in the range of 'cover' was found that satisfies the "
                           "constraints of '%s'",
                           range->kernel->label);
    return status;
}
