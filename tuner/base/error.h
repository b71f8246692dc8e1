/*
 * Error codes and messages.
 *
 * A function that can fail returns 0 on success. On failure it returns a negative enum error_code
 * and fills the caller's struct error, which needs no release. Library code never prints. A command
 * prints the error once, with error_print(), and exits with error_exit_status().
 *
 * A message says what is wrong and then what to do: "unknown key 'blok_size'; did you mean
 * 'block_size'?" It starts in lower case, quotes the subject and has no full stop.
 */
#ifndef AUTOTUNE_ERROR_H
#define AUTOTUNE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* X(name, value, exit status, what it is) */
#define ERROR_CODES(X)                                                                             \
    X(OK, 0, 0, "done")                                                                            \
    X(NOTHING_VALID, -1, 1, "no variant was valid")                                                \
    X(USAGE, -2, 2, "command line")                                                                \
    X(CONFIG, -3, 2, "sweep or template file")                                                     \
    X(DEVICE, -4, 3, "device or driver")                                                           \
    X(WORKER, -5, 4, "worker process")                                                             \
    X(RECORD, -6, 4, "record, cache or output file")                                               \
    X(INTERRUPTED, -7, 130, "interrupted")                                                         \
    X(SLOWER, -8, 1, "slower outside the noise")                                                   \
    X(MEMORY, -9, 3, "a problem that does not fit in the device's memory")

enum error_code {
#define X(name, value, status, text) ERROR_##name = (value),
    ERROR_CODES(X)
#undef X
};

struct error {
    enum error_code code;
    int line;           /* 0: none */
    char file[512];     /* "": none */
    char message[1536]; /* truncated if longer */
};

/* Sets `error` (which may be NULL) and returns `code`, so that callers can write
 * `return error_set(…)`. */
int error_set(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the file and line that caused the error. */
int error_set_at(struct error *error, enum error_code code, const char *file, int line,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for a failed system call: appends error_reason(errno). */
int error_set_errno(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* strerror(number); for a limit on open files, with what to do about it, because that has nothing to do
 * with the file. */
const char *error_reason(int number);
bool error_is_file_limit(int number);

/* Prints "autotune: FILE:LINE: MESSAGE" to `stream`. */
void error_print(const struct error *error, FILE *stream);

/* Writes the error as the reason of an outcome: "FILE:LINE: MESSAGE", the file without its folder; or
 * "MESSAGE" if there is no file. Returns `text`. */
enum { ERROR_TEXT_BYTES = 1024 };
char *error_text(const struct error *error, char text[ERROR_TEXT_BYTES]);

/* The exit status for `code`, as documented in the man page. */
int error_exit_status(int code);

#endif
