/*
 * A text table with aligned columns, as narrow as its cells allow: headings break at blanks and
 * behind underscores ("block_size" over "512" becomes "block_" over "size"), and sit on the first
 * row.
 *
 * Calling sequence:
 *     table_new; table_column for each column; for each row table_cell for each column, in order;
 *     table_print; table_free
 * Texts are ASCII: a byte is a place on the terminal.
 */
#ifndef AUTOTUNE_TABLE_H
#define AUTOTUNE_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct table;

enum table_alignment { TABLE_LEFT, TABLE_RIGHT };

struct table *table_new(void);
void table_free(struct table *table); /* NULL is allowed */

/* Before the first cell. */
void table_column(struct table *table, const char *heading, enum table_alignment alignment);

/* The next cell, a copy of `text`; the one behind the last column begins a new row. */
void table_cell(struct table *table, const char *text);

/* The length of the longest line, columns one blank apart: the least that table_print() needs. */
size_t table_width(const struct table *table);

/*
 * Prints headings and rows, columns two blanks apart, or one where lines would be longer than
 * `width`. Look at ferror(stream) for failures.
 */
void table_print(const struct table *table, size_t width, FILE *stream);

#endif
