#include "base/alloc.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t has_failed;

bool alloc_has_failed(void)
{
    return has_failed != 0;
}

static void *require(void *pointer)
{
    if (pointer == NULL) {
        has_failed = 1;
        fputs("autotune: out of memory\n", stderr);
        abort();
    }
    return pointer;
}

void *alloc_zeroed(size_t count, size_t size)
{
    return require(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *alloc_resize(void *pointer, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return require(NULL);
    size_t bytes = count * size;
    return require(realloc(pointer, bytes > 0 ? bytes : 1));
}

char *alloc_string(const char *text)
{
    return text != NULL ? require(strdup(text)) : NULL;
}

char *alloc_string_n(const char *text, size_t length)
{
    return text != NULL ? require(strndup(text, length)) : NULL;
}

FILE *alloc_stream(char **text, size_t *length)
{
    return require(open_memstream(text, length));
}

char *alloc_format(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return require(length >= 0 ? text : NULL);
}

void alloc_append(char **text, const char *format, ...)
{
    size_t length = *text != NULL ? strlen(*text) : 0;
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int more = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (more < 0)
        (void)require(NULL);
    *text = alloc_resize(*text, length + (size_t)more + 1, 1);
    (void)vsnprintf(*text + length, (size_t)more + 1, format, again);
    va_end(again);
}

void *array_grow(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0) /* 0 or a power of two: full */
        array = alloc_resize(array, count > 0 ? count * 2 : 1, size);
    memset((char *)array + count * size, 0, size);
    return array;
}
