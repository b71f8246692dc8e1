/*
 * Reads INI text with inih; no other module uses inih. Reports an error, with its line, where inih
 * would silently truncate, split or drop input: lines over 197 bytes, section names over 49 bytes,
 * lines that are not INI.
 *
 *     struct ini_reader reader = {.section = …, .entry = …, .user = …};
 *     int status = ini_reader_load(&reader, path, &text, &length);
 *     if (status == 0)
 *         status = ini_reader_read(&reader, text, length);
 *     free(text);
 *     if (status != 0)
 *         …path, reader.line, reader.message…
 *
 * libtuned contains this module: it never aborts or prints, and checks every allocation.
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

enum { INI_READER_NAME_BYTES = 49 }; /* longest name of a section */

/* Initialise to zero, except the callbacks and `user`. A callback returns 0, or an error that stops
 * reading, for example from ini_reader_fail(). Its arguments are valid only during the call. */
struct ini_reader {
    int (*section)(struct ini_reader *reader, const char *name);
    int (*entry)(struct ini_reader *reader, const char *key, const char *value);
    /* Called for a line that starts with white space and so continues the value above. NULL: such
     * a line is an error. */
    int (*more)(struct ini_reader *reader, const char *text);
    void *user;

    int line;           /* the current line, from 1; after a failure the line at fault, or 0 */
    char message[1024]; /* of a failure; truncated if longer */

    /* private */
    const char *next, *end;
    bool has_value; /* the next line may continue it */
    int status;
};

/* Reads a file of at most TUNED_FILE_BYTES (autotune/tuned.h) into a new null-terminated string of
 * `length` bytes. On failure `*text` is NULL. */
int ini_reader_load(struct ini_reader *reader, const char *path, char **text, size_t *length);

/* Reads the text, which need not be null-terminated. Returns 0 or the first error. */
int ini_reader_read(struct ini_reader *reader, const char *text, size_t length);

/* Sets the message and returns INI_READER_BAD_FILE. */
int ini_reader_fail(struct ini_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the message "out of memory" and returns INI_READER_NO_MEMORY. */
int ini_reader_no_memory(struct ini_reader *reader);

#endif
