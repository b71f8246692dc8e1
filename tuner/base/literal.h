/*
 * Parses values as people write them in templates, sweeps, the tuned INI and on the command line: a
 * whole number (256), a power (2^24), a real number (0.5, 1e-3) or a word (last_block). The result
 * does not depend on the locale.
 *
 * libtuned contains this module: it never aborts or prints, and keeps no memory.
 */
#ifndef AUTOTUNE_LITERAL_H
#define AUTOTUNE_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum literal_kind { LITERAL_INTEGER, LITERAL_REAL, LITERAL_WORD };

enum { LITERAL_NAME_LETTERS = 31, LITERAL_WORD_LETTERS = 63, LITERAL_REAL_BYTES = 32 };

struct literal {
    enum literal_kind kind;
    int64_t integer; /* of LITERAL_INTEGER; otherwise 0 */
    double real;     /* of LITERAL_INTEGER and LITERAL_REAL; otherwise 0 */
};

/*
 * Parses all of `text`. Returns NULL, or what is wrong with it as the end of a message: "does not
 * fit in 64 bits". For a word, the value is `text` itself.
 */
const char *literal_parse(const char *text, struct literal *literal);

/* True if `text` is a lower-case letter followed by lower-case letters, digits and underscores, and
 * has at most `letters` characters. */
bool literal_is_name(const char *text, size_t letters);

/* Writes the shortest text that literal_parse() reads as exactly the same number. Its kind may
 * differ: 2.0 becomes "2". Returns `buffer`. */
char *literal_real_text(double real, char buffer[LITERAL_REAL_BYTES]);

/*
 * Durations as people write them: "90s", "10m", "1.5h", or a number of seconds.
 */

enum { DURATION_BYTES = 32 };

/* Reads all of `text`. False unless it is a number above 0, with s, m or h or without a unit, and no
 * longer than a year. */
bool duration_parse(const char *text, double *seconds);

/* The duration in two or three digits and the largest unit that fits: "40 s", "6.5 minutes". Returns
 * `buffer`. */
char *duration_text(double seconds, char buffer[DURATION_BYTES]);

#endif
