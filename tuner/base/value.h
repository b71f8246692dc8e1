/*
 * Values: of parameters, problems, device attributes and expressions. Whole and real numbers are
 * compared exactly, without rounding: 2^53 + 1 is greater than the real number 2^53, although it
 * would be rounded to that.
 *
 * libtuned contains this module: it never aborts or prints, and keeps no memory.
 */
#ifndef AUTOTUNE_BASE_VALUE_H
#define AUTOTUNE_BASE_VALUE_H

#include "base/error.h"
#include "base/literal.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind { VALUE_INTEGER, VALUE_REAL, VALUE_WORD, VALUE_BOOLEAN };

/* A word's text belongs to whoever made the value. */
struct value {
    enum value_kind kind;
    union {
        int64_t integer;
        double real;
        const char *word;
        bool boolean;
    } as;
};

static inline struct value value_integer(int64_t integer)
{
    return (struct value){.kind = VALUE_INTEGER, .as.integer = integer};
}

static inline struct value value_real(double real)
{
    return (struct value){.kind = VALUE_REAL, .as.real = real};
}

static inline struct value value_word(const char *word)
{
    return (struct value){.kind = VALUE_WORD, .as.word = word};
}

static inline struct value value_boolean(bool boolean)
{
    return (struct value){.kind = VALUE_BOOLEAN, .as.boolean = boolean};
}

/* Equal in kind and content; words by their letters. */
bool value_equal(struct value a, struct value b);

/* The same, but a whole number is alike a real one of the same size: 10000 and 1e4. A look-up takes them for
 * one problem; a compiler need not. */
bool value_alike(struct value a, struct value b);

/* "256", "0.5" (shortest that reads back the same), "last_block", "true". Returns `buffer`. */
#define VALUE_TEXT_BYTES (LITERAL_WORD_LETTERS + 1)
char *value_text(struct value value, char buffer[VALUE_TEXT_BYTES]);

/* The same, but a real number never looks like a whole one: 2.0 stays "2.0". */
char *value_exact_text(struct value value, char buffer[VALUE_TEXT_BYTES]);

/* Reads one literal (base/literal.h). `*value`'s word points to `text` itself. Returns 0, or
 * ERROR_CONFIG with a message that has no place. */
int value_parse(const char *text, struct value *value, struct error *error);

/* What was read from `text`, which becomes the value's word if it is one. */
struct value value_from_literal(const struct literal *literal, const char *text);

/* --- numbers --- */

/* 2^63: the least real number that is too large for 64 bits. */
#define NUMBER_INTEGER_LIMIT 0x1p63

static inline bool number_is(const struct value *value)
{
    return value->kind == VALUE_INTEGER || value->kind == VALUE_REAL;
}

/* The number as a real one, rounded to the nearest. */
static inline double number_real(const struct value *number)
{
    return number->kind == VALUE_INTEGER ? (double)number->as.integer : number->as.real;
}

/* Whether `value` is a whole number that fits in 64 bits, possibly written as a real one (4.0);
 * sets `*integer` to it. */
static inline bool number_whole(const struct value *value, int64_t *integer)
{
    if (value->kind == VALUE_INTEGER) {
        *integer = value->as.integer;
        return true;
    }
    if (value->kind != VALUE_REAL || value->as.real != floor(value->as.real) ||
        value->as.real < -NUMBER_INTEGER_LIMIT || value->as.real >= NUMBER_INTEGER_LIMIT)
        return false;
    *integer = (int64_t)value->as.real;
    return true;
}

/* s(x) = sign(x) log2(1 + |x|), by which sizes are compared; finite for any number. */
double value_scale(double number);

/* How two numbers compare; bits, so that they can form sets. */
enum order { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4, ORDER_NONE = 8 };

/* ORDER_NONE if one of them is not a number (NaN). */
enum order number_order(const struct value *left, const struct value *right);

#endif
