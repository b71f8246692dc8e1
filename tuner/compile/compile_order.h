/*
 * Estimates how long a job will take, from how long others with the same options took, so that the
 * longest of those that are left can be compiled first: then all workers end at nearly the same time.
 * Pure arithmetic.
 *
 * An option's effect is by how much jobs with it differ from the average of their source, and a job's
 * estimate is that average plus the effects of its options. With loops that are unrolled, one parameter
 * may triple the time, while most have no effect.
 */
#ifndef AUTOTUNE_COMPILE_ORDER_H
#define AUTOTUNE_COMPILE_ORDER_H

#include "template/variant.h"

#include <stddef.h>

/* Zeroed is empty. */
struct compile_order {
    void *times; /* tsearch's tree: of a source, and of each option with it */
};

void compile_order_release(struct compile_order *order);

/* Notes how long a job of a source, by its hash, took. */
void compile_order_note(struct compile_order *order, const char *source_hash,
                        const struct options *options, double seconds);

/* 0 if no job of that source is known. */
double compile_order_expect(const struct compile_order *order, const char *source_hash,
                            const struct options *options);

#endif
