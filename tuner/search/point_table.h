/*
 * Distinct points in the order they were added, each found by its content. A point is an array of
 * value indices, one per parameter of a space. An empty table takes no memory; a full one, about
 * 8 bytes per point more than the points themselves.
 */
#ifndef AUTOTUNE_POINT_TABLE_H
#define AUTOTUNE_POINT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Initialise with the number of indices per point and zeros: {.dimensions = 5}. */
struct point_table {
    size_t dimensions;
    uint32_t *points; /* `dimensions` indices per point */
    size_t count;
    size_t *slots; /* open addressing: position + 1, 0 if free */
    size_t slot_count;
};

enum { POINT_NONE = -1 };

void point_table_release(struct point_table *table);

/* The point at a position; borrowed until the next addition. */
const uint32_t *point_table_at(const struct point_table *table, size_t position);

/* The position of a point, or POINT_NONE. */
ptrdiff_t point_table_find(const struct point_table *table, const uint32_t *point);

/* Adds a copy of a point that the table does not have, and returns its position. */
size_t point_table_add(struct point_table *table, const uint32_t *point);

#endif
