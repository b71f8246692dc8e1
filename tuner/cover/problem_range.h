/*
 * The range of problems that a cover is for, and lists of sizes in it: whole numbers, one for each
 * axis. Distances are those of look-ups (base/cover.h), about an octave for a factor of two.
 */
#ifndef AUTOTUNE_PROBLEM_RANGE_H
#define AUTOTUNE_PROBLEM_RANGE_H

#include "base/error.h"
#include "template/sweep.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct problem_range {
    const struct sweep_kernel *kernel;
    struct bindings fixed; /* the problem values without a range */
};

/*
 * The range that `kernel`, which is borrowed, states; it must state one. Problem values without a
 * range must have one value each. Returns 0 or ERROR_CONFIG at the sweep's line.
 */
int problem_range_init(struct problem_range *range, const struct sweep_kernel *kernel,
                       const char *sweep_path, struct error *error);
void problem_range_release(struct problem_range *range);

/* A size as problem values, in the template's order; and the reverse, which returns false if the
 * problem is outside the range or differs in a fixed value. */
void problem_range_bind(const struct problem_range *range, const int64_t *size,
                        struct bindings *problem);
bool problem_range_size(const struct problem_range *range, const struct bindings *problem,
                        int64_t *size);

/* Whether a size satisfies those constraints of the kernel that depend on problem values alone.
 * Returns 1, 0, or ERROR_CONFIG. */
int problem_range_admits(const struct problem_range *range, const int64_t *size,
                         struct error *error);

/* Those constraints as one condition, "(m * n <= 2^26) and (m % 16 == 0)"; a new string, or NULL if
 * there are none. */
char *problem_range_constraint(const struct problem_range *range);

/* Ordered by the values, the first axis first, if sizes_insert() alone fills it. */
struct sizes {
    int64_t *values; /* [size * axes + axis] */
    size_t axes;
    size_t count;
};

bool sizes_has(const struct sizes *sizes, const int64_t *size);

/* Adds a size unless the list has it; returns whether it did. */
bool sizes_add(struct sizes *sizes, const int64_t *size);
/* Adds a size that an ordered list does not have; returns its place. */
size_t sizes_insert(struct sizes *sizes, const int64_t *size);
const int64_t *sizes_at(const struct sizes *sizes, size_t index);
void sizes_release(struct sizes *sizes);

double sizes_distance(const int64_t *a, const int64_t *b, size_t axes);

/*
 * Which sizes of the range to measure: its corners, and an even spread between them. (To look where neighbours disagree
 * was no better: sgemm's configurations lost 1.9 % either way with 400 sizes, and 2.4 instead of 2.2 % with 200.)
 *
 * Adds sizes to an empty list until it has `count`, or the range has no more; the first ones are spread as
 * evenly as all. Always the same. Returns 0, or ERROR_CONFIG if a constraint cannot be evaluated, or none of
 * the range's sizes satisfies the constraints. */
int size_plan(const struct problem_range *range, size_t count, struct sizes *sizes,
              struct error *error);

#endif
