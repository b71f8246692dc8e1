/*
 * Allocate or abort: every function here prints one line to stderr and aborts if memory runs out.
 * The record on disk is crash-safe, so no measurement is lost, and callers need no untestable error
 * branches. Release with free().
 */
#ifndef AUTOTUNE_ALLOC_H
#define AUTOTUNE_ALLOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* In a handler of SIGABRT: whether the process aborts because memory ran out here. */
bool alloc_has_failed(void);

/* `count` zeroed elements of `size` bytes. Never NULL, even for 0. */
void *alloc_zeroed(size_t count, size_t size);

/* realloc() to `count` elements of `size` bytes; aborts if the product overflows. New elements are
 * not zeroed. */
void *alloc_resize(void *pointer, size_t count, size_t size);

/* A copy of `text`, or of at most its first `length` bytes. NULL gives NULL. */
char *alloc_string(const char *text);
char *alloc_string_n(const char *text, size_t length);

/* A stream whose fclose() makes `*text` a new string of `*length` bytes. */
FILE *alloc_stream(char **text, size_t *length);

/* printf() into a new string. */
char *alloc_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf() behind the end of `*text`, a string of these functions or NULL, which counts as empty:
 *     char *list = NULL;
 *     for (…)
 *         alloc_append(&list, "%s%s", i > 0 ? ", " : "", names[i]);
 * The arguments must not be parts of `*text`. */
void alloc_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends a zeroed element to a growing array and returns a pointer to it:
 *     struct key *key = ARRAY_APPEND(list->keys, list->key_count);
 * The capacity follows from the count (the next power of two), so it needs no field.
 */
#define ARRAY_APPEND(array, count)                                                                 \
    ((array) = array_grow((array), (count), sizeof *(array)), &(array)[(count)++])

/* Grows the array if necessary and zeroes element `count`. Use ARRAY_APPEND instead. */
void *array_grow(void *array, size_t count, size_t size);

#endif
