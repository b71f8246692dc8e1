/*
 * A value as people write it, in templates, sweeps, the tuned INI and on the command line: a whole
 * number (256), a power (2^24), a real number (0.5, 1e-3) or a word (last_block). The same text is
 * the same value in every locale.
 *
 * libtuned has this file inside: nothing here aborts, prints or keeps memory.
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
 * Reads all of `text`. Returns NULL, or what is wrong, to follow the text in a message: "does not
 * fit in 64 bits". A word is `text` itself.
 */
const char *literal_parse(const char *text, struct literal *literal);

/* Whether `text` is a lower-case letter followed by lower-case letters, digits and underscores, at
 * most `letters` in all. */
bool literal_is_name(const char *text, size_t letters);

/* The shortest text that literal_parse() reads as the same number, to the last bit. "2" for 2.0, so
 * its kind may differ. Returns `buffer`. */
char *literal_real_text(double real, char buffer[LITERAL_REAL_BYTES]);

#endif
