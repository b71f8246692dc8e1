/* What reports print of studies, for the tests of the formats. */
#ifndef AUTOTUNE_TESTS_PRINTED_H
#define AUTOTUNE_TESTS_PRINTED_H

#include "report/report.h"

#include "unit/test.h"

/* A new string. */
static inline char *printed(const struct study *studies, size_t count, enum report_format format,
                            size_t top)
{
    char *text = NULL;
    size_t size = 0;
    struct error error;
    const struct report_options options = {.format = format, .top = top};
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(report_print(stream, studies, count, &options, &error), 0);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static inline size_t count_text(const char *text, const char *wanted)
{
    size_t count = 0;
    for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted))
        count++;
    return count;
}

/* `wanted` ends with NULL. */
static inline void assert_has(const char *text, const char *const *wanted)
{
    for (; *wanted != NULL; wanted++)
        if (strstr(text, *wanted) == NULL)
            fail_msg("no '%s' in\n%s", *wanted, text);
}

static inline void assert_lacks(const char *text, const char *const *unwanted)
{
    for (; *unwanted != NULL; unwanted++)
        if (strstr(text, *unwanted) != NULL)
            fail_msg("'%s' in\n%s", *unwanted, text);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
