/*
 * Memory that is there or the process is not: every function here aborts, with one line on stderr,
 * when memory runs out. The record on disk is crash-safe, so nothing measured is lost by that, and
 * hundreds of untestable branches go. Release with free().
 */
#ifndef AUTOTUNE_ALLOC_H
#define AUTOTUNE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* `count` zeroed elements of `size` bytes; the product is checked. Never NULL, also for 0. */
void *alloc_zeroed(size_t count, size_t size);

/* realloc to `count` elements of `size` bytes, the product checked; new elements are not zeroed. */
void *alloc_resize(void *pointer, size_t count, size_t size);

/* A copy of `text`; of its first `length` bytes. NULL gives NULL. */
char *alloc_string(const char *text);
char *alloc_string_n(const char *text, size_t length);

/* printf into a new string. */
char *alloc_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Appends room for one element to a growing array and returns the pointer to it, zeroed:
 *     struct key *key = ARRAY_APPEND(list->keys, list->key_count);
 * The capacity is the next power of two, so it needs no field of its own.
 */
#define ARRAY_APPEND(array, count)                                                                 \
    ((array) = array_grow((array), (count), sizeof *(array)), &(array)[(count)++])

/* The array with room for element `count`, which is zeroed; use it through ARRAY_APPEND. */
void *array_grow(void *array, size_t count, size_t size);

#endif
