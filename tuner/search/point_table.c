#include "search/point_table.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void point_table_release(struct point_table *table)
{
    free(table->points);
    free(table->slots);
    *table = (struct point_table){.dimensions = table->dimensions};
}

static size_t point_bytes(const struct point_table *table)
{
    return table->dimensions * sizeof *table->points;
}

const uint32_t *point_table_at(const struct point_table *table, size_t position)
{
    return table->points + position * table->dimensions;
}

/* The slot that has the point, or the free one where it would go. */
static size_t *find_slot(const struct point_table *table, const uint32_t *point)
{
    size_t mask = table->slot_count - 1; /* the number of slots is a power of two */
    size_t slot = (size_t)XXH3_64bits(point, point_bytes(table)) & mask;
    while (table->slots[slot] != 0 &&
           memcmp(point_table_at(table, table->slots[slot] - 1), point, point_bytes(table)) != 0)
        slot = (slot + 1) & mask;
    return &table->slots[slot];
}

ptrdiff_t point_table_find(const struct point_table *table, const uint32_t *point)
{
    return table->count == 0 ? POINT_NONE : (ptrdiff_t)*find_slot(table, point) - 1;
}

/* Doubles the slots and the room for points; at most half of the slots are ever used. */
static void grow(struct point_table *table)
{
    table->slot_count = table->slot_count == 0 ? 16 : table->slot_count * 2;
    free(table->slots);
    table->slots = alloc_zeroed(table->slot_count, sizeof *table->slots);
    table->points = alloc_resize(table->points, table->slot_count / 2, point_bytes(table));
    for (size_t i = 0; i < table->count; i++)
        *find_slot(table, point_table_at(table, i)) = i + 1;
}

size_t point_table_add(struct point_table *table, const uint32_t *point)
{
    if (table->count * 2 == table->slot_count)
        grow(table);
    *find_slot(table, point) = table->count + 1;
    if (table->dimensions > 0)
        memcpy(table->points + table->count * table->dimensions, point, point_bytes(table));
    return table->count++;
}
