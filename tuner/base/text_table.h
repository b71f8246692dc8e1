/*
 * Prints a text table with aligned columns, each as narrow as its cells allow. Headings wrap at
 * spaces and after underscores (over "512", "block_size" becomes "block_" and "size") and are
 * aligned at the bottom.
 *
 * Calling sequence:
 *     text_table_new
 *     text_table_column for each column
 *     text_table_cell for each cell, row by row
 *     text_table_print, text_table_free
 * Text must be ASCII, because one byte counts as one character.
 */
#ifndef AUTOTUNE_TEXT_TABLE_H
#define AUTOTUNE_TEXT_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct text_table;

enum text_table_alignment { TABLE_LEFT, TABLE_RIGHT };

struct text_table *text_table_new(void);
void text_table_free(struct text_table *table); /* NULL is allowed */

/* Adds a column. Add all columns before the first cell. */
void text_table_column(struct text_table *table, const char *heading,
                       enum text_table_alignment alignment);

/* Adds a cell with a copy of `text`. Cells fill the table row by row. */
void text_table_cell(struct text_table *table, const char *text);

/* The narrowest width that text_table_print() can use: columns one space apart. */
size_t text_table_width(const struct text_table *table);

/*
 * Prints headings and rows with two spaces between columns, or one if lines would exceed `width`.
 * Check ferror(stream) for failures.
 */
void text_table_print(const struct text_table *table, size_t width, FILE *stream);

/* CSV output. */

/* Prints a field, quoted if RFC 4180 requires it. Text that a spreadsheet would take for a formula
 * gets an apostrophe before it. Prints nothing if `text` is NULL. */
void csv_text(FILE *stream, const char *text);

#endif
