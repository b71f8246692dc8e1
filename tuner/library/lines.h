/*
 * An INI text, handed to inih line by line, so that whatever inih would cut, split or drop in
 * silence is an error with its line. Headings are told of as well.
 */
#ifndef TUNED_LIBRARY_LINES_H
#define TUNED_LIBRARY_LINES_H

#include "lookup.h"

struct lines {
    const char *name; /* of the file, for messages */
    const char *next, *end;
    int line;
    bool continuation; /* the line begins with white space */
    int status;
    struct tuned_error *error;
    void *user;
    /* Both return 0, or what lines_fail() returned. `section` is not ended by a zero. */
    int (*heading)(struct lines *lines, const char *section, size_t length);
    int (*entry)(struct lines *lines, const char *key, const char *value);
};

/* Reads the text from `next` to `end`. Returns 0 or a code. */
int lines_read(struct lines *lines);

/* TUNED_BAD_FILE at the current line; only the first one counts. */
int lines_fail(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whole numbers, base^exponent, real numbers and words. `value->text` becomes `text` itself; the
 * name is left alone. False where it is none of them. */
bool lines_value(const char *text, struct tuned_value *value);

/* Whole numbers from 0 on; finite real numbers from 0 on, in any locale. */
bool lines_whole(const char *text, int64_t highest, int64_t *number);
bool lines_real(const char *text, double *real);

/* A whole file (at most TUNED_FILE_BYTES) into new memory with a zero behind it. Returns 0, TUNED_BAD_FILE or
 * TUNED_NO_MEMORY. */
int lines_file(const char *path, char **text, size_t *length, struct tuned_error *error);

#endif
