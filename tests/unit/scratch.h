/*
 * A new folder for each test, which is the current one while it runs. Use with
 * SCRATCH_TEST(function).
 */
#ifndef AUTOTUNE_TESTS_SCRATCH_H
#define AUTOTUNE_TESTS_SCRATCH_H

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCRATCH_TEST(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, scratch_enter, scratch_leave)

static inline int scratch_enter(void **state)
{
    char *folder = alloc_string("/tmp/autotune-test-XXXXXX");
    *state = folder;
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static inline int scratch_leave(void **state)
{
    char *command = alloc_format("rm -rf '%s'", (char *)*state);
    int result = chdir("/") != 0 || system(command) != 0;
    free(command);
    free(*state);
    return result;
}

/* The whole file, as a new string; NULL where it cannot be read. */
static inline char *scratch_read(const char *path)
{
    FILE *stream = fopen(path, "r");
    if (stream == NULL)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    ssize_t length = getdelim(&text, &room, '\0', stream);
    if (length < 0) {
        free(text);
        text = alloc_string("");
    }
    return fclose(stream) == 0 ? text : NULL;
}

/* 0 on success. */
static inline int scratch_write(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    if (stream == NULL)
        return -1;
    int written = fputs(text, stream);
    return fclose(stream) == 0 && written >= 0 ? 0 : -1;
}

#endif
