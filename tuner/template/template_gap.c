#include "template/template_gap.h"

#include "base/read_file.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "; TODO:";

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

static bool is_gap(const char *line)
{
    return strncmp(line, mark, strlen(mark)) == 0;
}

/* The first gap of the section that begins at or before `line`, with its line; NULL if there is none.
 * `*count` is the number of gaps in the text. */
static const char *find_gap(const char *text, int line, int *gap_line, int *count)
{
    const char *gap = NULL;
    bool passed = false; /* the section's end */
    int number = 1;
    *count = 0;
    for (const char *at = text; *at != '\0'; at = next_line(at), number++) {
        *count += is_gap(at);
        passed = passed || (*at == '[' && number > line);
        if (*at == '[' && number <= line)
            gap = NULL;
        if (!passed && gap == NULL && is_gap(at)) {
            gap = at + strlen(mark) + strspn(at + strlen(mark), " \t");
            *gap_line = number;
        }
    }
    return gap;
}

bool template_gap_explain(const char *path, int line, struct error *error)
{
    const struct error reason = *error;
    char *text;
    int gap_line = 0;
    int count;
    if (read_file(path, &text, NULL, NULL) != 0)
        return false;
    const char *gap = find_gap(text, line, &gap_line, &count);
    int length = gap != NULL ? (int)strcspn(gap, "\r\n") : 0;
    if (gap != NULL && count > 1)
        (void)error_set_at(error, ERROR_CONFIG, path, gap_line,
                           "%s; fill in the place marked TODO: %.*s (one of %d in this file)",
                           reason.message, length, gap, count);
    else if (gap != NULL)
        (void)error_set_at(error, ERROR_CONFIG, path, gap_line,
                           "%s; fill in the place marked TODO: %.*s", reason.message, length, gap);
    free(text);
    return gap != NULL;
}
