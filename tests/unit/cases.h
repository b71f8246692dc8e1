/*
 * Tables of cases: MODULE.cases beside test_MODULE.c has one case per line, its fields separated by " => ".
 * Empty lines and lines that begin with "# " are left out; \n, \t, \r, \\, \s (a blank) and \xNN stand for
 * characters. CMake defines CASES as the file's path.
 */
#ifndef AUTOTUNE_TESTS_CASES_H
#define AUTOTUNE_TESTS_CASES_H

#include "unit/test.h"

enum { CASE_FIELDS = 5 };

struct test_case {
    const char *path;
    int line;
    size_t count;
    char *fields[CASE_FIELDS];
};

/* Fails the test, at the case. */
#define case_fail(test, format, ...)                                                               \
    fail_msg("%s:%d: " format, (test)->path, (test)->line, __VA_ARGS__)

/* "…" at an end of `expected` stands for any text. */
static inline void case_assert_text(const struct test_case *test, const char *actual,
                                    const char *expected)
{
    static const char any[] = "…";
    const size_t mark = sizeof any - 1;
    char text[2048];
    (void)snprintf(text, sizeof text, "%s", expected);
    size_t length = strlen(text);
    bool open_end = length >= mark && strcmp(text + length - mark, any) == 0;
    if (open_end)
        text[length - mark] = '\0';
    bool open_start = strncmp(text, any, mark) == 0;
    const char *at = open_start ? strstr(actual, text + mark) : actual;
    const char *part = open_start ? text + mark : text;
    if (at == NULL || (open_end ? strncmp(at, part, strlen(part)) : strcmp(at, part)) != 0)
        case_fail(test, "'%s' instead of '%s'", actual, expected);
}

/* Turns escapes in `text` into what they stand for. */
static inline void case_unescape(char *text)
{
    static const char letters[] = "ntrs\\", characters[] = "\n\t\r \\";
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        const char *letter = from[0] == '\\' && from[1] != '\0' ? strchr(letters, from[1]) : NULL;
        if (letter != NULL) {
            *to = characters[letter - letters];
            from += 2;
        } else if (strncmp(from, "\\x", 2) == 0) {
            const char digits[] = {from[2], from[3], '\0'};
            *to = (char)strtol(digits, NULL, 16);
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Calls `check` with each case of the table. */
static inline void cases_run(const char *path,
                             void (*check)(void *user, const struct test_case *test), void *user)
{
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    char *line = NULL;
    size_t room = 0;
    struct test_case test = {.path = path};
    size_t run = 0;
    while (getline(&line, &room, stream) > 0) {
        line[strcspn(line, "\n")] = '\0';
        test.line++;
        if (line[0] == '\0' || strcmp(line, "#") == 0 || strncmp(line, "# ", 2) == 0)
            continue;
        test.count = 0;
        for (char *field = line; field != NULL;) {
            char *end = strstr(field, " => ");
            if (end != NULL)
                *end = '\0';
            assert_true(test.count < CASE_FIELDS);
            test.fields[test.count++] = field;
            field = end != NULL ? end + strlen(" => ") : NULL;
        }
        for (size_t i = 0; i < test.count; i++)
            case_unescape(test.fields[i]);
        check(user, &test);
        run++;
    }
    assert_true(run > 0);
    free(line);
    assert_int_equal(fclose(stream), 0);
}

#endif
