#include "base/text_table.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct column {
    char *heading;
    enum text_table_alignment alignment;
    size_t cell_width; /* of the widest cell */
};

struct text_table {
    struct column *columns;
    size_t column_count;
    char **cells; /* row by row */
    size_t cell_count;
};

struct text_table *text_table_new(void)
{
    return alloc_zeroed(1, sizeof(struct text_table));
}

void text_table_free(struct text_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->column_count; i++)
        free(table->columns[i].heading);
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->columns);
    free(table->cells);
    free(table);
}

void text_table_column(struct text_table *table, const char *heading,
                       enum text_table_alignment alignment)
{
    struct column *column = ARRAY_APPEND(table->columns, table->column_count);
    column->heading = alloc_string(heading);
    column->alignment = alignment;
}

void text_table_cell(struct text_table *table, const char *text)
{
    struct column *column = &table->columns[table->cell_count % table->column_count];
    size_t width = strlen(text);
    if (width > column->cell_width)
        column->cell_width = width;
    *ARRAY_APPEND(table->cells, table->cell_count) = alloc_string(text);
}

/* The length of the first piece of `text`: up to a space, or up to and including underscores. */
static size_t piece_length(const char *text)
{
    size_t length = strcspn(text, " _");
    while (text[length] == '_')
        length++;
    return length;
}

static size_t column_width(const struct column *column)
{
    size_t width = column->cell_width;
    for (const char *piece = column->heading; *piece != '\0'; piece += strspn(piece, " ")) {
        size_t length = piece_length(piece);
        if (length > width)
            width = length;
        piece += length;
    }
    return width;
}

/* The length of the heading's next line: as many pieces as fit in `width`. */
static size_t line_length(const char *text, size_t width)
{
    size_t length = piece_length(text);
    for (;;) {
        size_t gap = strspn(text + length, " ");
        size_t next = piece_length(text + length + gap);
        if (next == 0 || length + gap + next > width)
            return length;
        length += gap + next;
    }
}

/* The start of line `index` of the heading, and its `*length`: 0 after the last line. */
static const char *heading_line(const struct column *column, size_t index, size_t *length)
{
    const char *line = column->heading;
    size_t width = column_width(column);
    *length = line_length(line, width);
    for (; index > 0; index--) {
        line += *length;
        line += strspn(line, " ");
        *length = line_length(line, width);
    }
    return line;
}

static size_t heading_height(const struct column *column)
{
    size_t height = 0;
    size_t length;
    do
        (void)heading_line(column, height++, &length);
    while (length > 0);
    return height - 1;
}

/*
 * Prints `length` bytes of `text` in a column. `*pending` counts the spaces to print before the
 * next text, so that no line ends in spaces.
 */
static void print_text(const struct column *column, const char *text, size_t length, size_t gap,
                       size_t *pending, FILE *stream)
{
    size_t padding = column_width(column) - length;
    *pending += gap + (column->alignment == TABLE_RIGHT ? padding : 0);
    if (length > 0) {
        fprintf(stream, "%*s%.*s", (int)*pending, "", (int)length, text);
        *pending = 0;
    }
    *pending += column->alignment == TABLE_LEFT ? padding : 0;
}

size_t text_table_width(const struct text_table *table)
{
    size_t total = 0;
    for (size_t i = 0; i < table->column_count; i++)
        total += 1 + column_width(&table->columns[i]);
    return total;
}

static void print_headings(const struct text_table *table, size_t gap, FILE *stream)
{
    size_t height = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        size_t own = heading_height(&table->columns[i]);
        height = own > height ? own : height;
    }
    for (size_t line = 0; line < height; line++) {
        size_t pending = 0;
        for (size_t i = 0; i < table->column_count; i++) {
            const struct column *column = &table->columns[i];
            size_t above = height - heading_height(column);
            size_t length = 0;
            const char *text = "";
            if (line >= above)
                text = heading_line(column, line - above, &length);
            print_text(column, text, length, gap, &pending, stream);
        }
        fputc('\n', stream);
    }
}

void text_table_print(const struct text_table *table, size_t width, FILE *stream)
{
    size_t gap = text_table_width(table) + table->column_count <= width ? 2 : 1;
    print_headings(table, gap, stream);
    size_t pending = 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;
        print_text(&table->columns[column], table->cells[i], strlen(table->cells[i]), gap, &pending,
                   stream);
        if (column + 1 == table->column_count) {
            fputc('\n', stream);
            pending = 0;
        }
    }
}

/* --- CSV --- */

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* "-1", "+2.5e-3": in every locale. */
static bool is_signed_number(const char *text)
{
    const char *end = skip_digits(text + 1);
    if (end == text + 1)
        return false;
    if (*end == '.')
        end = skip_digits(end + 1);
    if (*end == 'e')
        end = skip_digits(end + 1 + (end[1] == '-' || end[1] == '+'));
    return *end == '\0' && (*text == '-' || *text == '+');
}

/* Whether a spreadsheet would compute the cell. */
static bool is_formula(const char *text)
{
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && !is_signed_number(text);
}

void csv_text(FILE *stream, const char *text)
{
    if (text == NULL)
        return;
    const char *mark = is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(mark, stream);
        fputs(text, stream);
        return;
    }
    fprintf(stream, "\"%s", mark);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}
