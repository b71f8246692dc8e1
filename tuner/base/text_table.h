/*
 * A text table with aligned columns, as narrow as its cells allow: headings break at blanks and
 * behind underscores ("block_size" over "512" becomes "block_" over "size"), and sit on the first
 * row.
 *
 * Calling sequence:
 *     text_table_new; text_table_column for each column; for each row text_table_cell for each column, in order;
 *     text_table_print; text_table_free
 * Texts are ASCII: a byte is a place on the terminal.
 */
#ifndef AUTOTUNE_TEXT_TABLE_H
#define AUTOTUNE_TEXT_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct text_table;

enum text_table_alignment { TABLE_LEFT, TABLE_RIGHT };

struct text_table *text_table_new(void);
void text_table_free(struct text_table *table); /* NULL is allowed */

/* Before the first cell. */
void text_table_column(struct text_table *table, const char *heading,
                       enum text_table_alignment alignment);

/* The next cell, a copy of `text`; the one behind the last column begins a new row. */
void text_table_cell(struct text_table *table, const char *text);

/* The length of the longest line, columns one blank apart: the least that text_table_print() needs. */
size_t text_table_width(const struct text_table *table);

/*
 * Prints headings and rows, columns two blanks apart, or one where lines would be longer than
 * `width`. Look at ferror(stream) for failures.
 */
void text_table_print(const struct text_table *table, size_t width, FILE *stream);

#endif
