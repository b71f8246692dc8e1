/*
 * Axes of plots: the numbers they span, where a number lies on them, and where their ticks are.
 * Pure functions that give the same in every locale.
 *
 * Calling sequence:
 *     struct plot_range range = PLOT_RANGE_EMPTY;
 *     plot_range_add(&range, number);   (for each number)
 *     struct plot_axis axis = plot_axis_of(range);
 *     plot_axis_place(&axis, number)
 *     plot_axis_ticks(&axis, room, ticks)
 */
#ifndef AUTOTUNE_PLOT_AXIS_H
#define AUTOTUNE_PLOT_AXIS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What the numbers of an axis span; low > high if there are none. */
struct plot_range {
    double low;
    double high;
};

#define PLOT_RANGE_EMPTY                                                                           \
    {                                                                                              \
        .low = INFINITY, .high = -INFINITY                                                         \
    }

/* Widens the range to `number`. NaN, infinities and numbers beyond 1e30 are ignored, and those
 * below 1e-30 count as 0. */
void plot_range_add(struct plot_range *range, double number);

enum plot_scale { PLOT_LINEAR, PLOT_LOG10, PLOT_LOG2, PLOT_WORDS };

struct plot_axis {
    const char *label;
    enum plot_scale scale;
    double low;
    double high;
    bool whole;         /* ticks of PLOT_LINEAR are whole numbers */
    char *const *words; /* of PLOT_WORDS: the texts at 0, 1, 2, …; borrowed */
    size_t word_count;
};

/*
 * An axis over `range` with a margin at both ends: logarithmic if all numbers are positive and span
 * a factor of 4 or more, otherwise linear. An empty range counts as 0 to 1.
 */
struct plot_axis plot_axis_of(struct plot_range range);

/* A logarithmic axis over `range`, which must be positive, with ticks of base 10 or 2 as `scale`
 * says. */
struct plot_axis plot_axis_log(struct plot_range range, enum plot_scale scale);

/* An axis with `words`, evenly spaced; they stay the caller's. */
struct plot_axis plot_axis_words(char *const *words, size_t count);

/* Where `number` lies: 0 at the low end of the axis, 1 at its high end; NaN if it has no place, or
 * one far outside. */
double plot_axis_place(const struct plot_axis *axis, double number);

enum { PLOT_MAX_TICKS = 9, PLOT_TICK_BYTES = 48 };

struct plot_tick {
    double at;
    char text[PLOT_TICK_BYTES]; /* "0.25", "2000", "10⁶", "2²⁰" */
};

/* The space for the texts of ticks, in any unit. */
struct plot_room {
    double length; /* of the axis */
    double text;   /* taken by any text, with the gap to the next one */
    double letter; /* taken by each of its letters in addition; 0 if texts are stacked */
};

/*
 * As many ticks as fit, at round numbers: multiples of 1, 2 or 5 times a power of ten; powers
 * of the base on a logarithmic axis, and some between them if they are few. Returns how many; 0 for
 * an axis of words or one without a length.
 */
size_t plot_axis_ticks(const struct plot_axis *axis, struct plot_room room,
                       struct plot_tick ticks[PLOT_MAX_TICKS]);

/* `number` with four significant digits, or as a whole number from 1000 on; returns `text`. */
char *plot_number_text(double number, char text[PLOT_TICK_BYTES]);

/* The letters of `text`, which is UTF-8, and the bytes of its first `letters`. */
size_t plot_letters(const char *text);
size_t plot_letters_bytes(const char *text, size_t letters);

#endif
