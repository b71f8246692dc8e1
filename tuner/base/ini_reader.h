/*
 * INI text through inih, one line at a time: the one place that knows inih. What inih would cut,
 * split or drop in silence (a line over 197 bytes, a section name over 49, a line that is nothing)
 * is an error with its line instead.
 *
 *     struct ini_reader reader = {.section = …, .entry = …, .user = …};
 *     int status = ini_reader_load(&reader, path, &text, &length);
 *     if (status == 0)
 *         status = ini_reader_read(&reader, text, length);
 *     free(text);
 *     if (status != 0)
 *         …path, reader.line, reader.message…
 *
 * libtuned has this file inside: nothing here aborts or prints, and every allocation is checked.
 */
#ifndef AUTOTUNE_INI_READER_H
#define AUTOTUNE_INI_READER_H

#include <stdbool.h>
#include <stddef.h>

enum ini_reader_status {
    INI_READER_OK = 0,
    INI_READER_BAD_FILE = -1,
    INI_READER_NO_MEMORY = -2,
};

enum { INI_READER_NAME_BYTES = 49 }; /* of a section or key, at most */

/* Zeroed, but for the callbacks and `user`. Each callback returns 0 or what ends the reading: that
 * of ini_reader_fail(), say. What its arguments point to is gone after the call. */
struct ini_reader {
    int (*section)(struct ini_reader *reader, const char *name);
    int (*entry)(struct ini_reader *reader, const char *key, const char *value);
    /* A line that begins with white space continues the value above it. NULL: such a line is an
     * error. */
    int (*more)(struct ini_reader *reader, const char *text);
    void *user;

    int line;           /* the current one, from 1; of a failure the one at fault, or 0 */
    char message[1024]; /* of a failure; cut, never overrun */

    /* private */
    const char *next, *end;
    bool has_value; /* for the next line to continue */
    int status;
};

/* Reads the file into a new string of `length` bytes and a final zero, at most TUNED_FILE_BYTES
 * (autotune/tuned.h). On failure `*text` is NULL. */
int ini_reader_load(struct ini_reader *reader, const char *path, char **text, size_t *length);

/* Reads the text, which need not end with a zero. Returns what ended the reading: 0 at its end. */
int ini_reader_read(struct ini_reader *reader, const char *text, size_t length);

/* Sets the message and returns INI_READER_BAD_FILE. */
int ini_reader_fail(struct ini_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the message "out of memory" and returns INI_READER_NO_MEMORY. */
int ini_reader_no_memory(struct ini_reader *reader);

#endif
