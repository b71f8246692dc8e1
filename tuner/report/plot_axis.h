/*
 * Axes and texts of gnuplot scripts.
 */
#ifndef AUTOTUNE_PLOT_AXIS_H
#define AUTOTUNE_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct plot_axis {
    double low;
    double high;
    bool log;
    bool binary; /* tics of a logarithmic axis are powers of two */
};

/* Numbers from `low` to `high` with room around them; logarithmic where they are positive and a
 * factor of 4 or more apart. */
struct plot_axis plot_axis_of(double low, double high);

/* The same, logarithmic in any case; `low` must be positive. */
struct plot_axis plot_axis_log(double low, double high);

/* Sets the range of axis 'x' or 'y', its tics and its label. */
void plot_axis_write(const struct plot_axis *axis, char name, const char *label, FILE *script);

/* A key above the plot, in as many columns as texts of `longest` letters leave room for. */
void plot_axis_write_key(size_t longest, FILE *script);

/* Sets tics at 0, 1, 2 … with these texts, and a range around them. Those of 'x' are turned where
 * they have no room side by side. */
void plot_axis_write_words(char name, const char *label, char *const *texts, size_t count,
                           FILE *script);

/* 'text', quoted for gnuplot. */
void plot_quote(const char *text, FILE *script);

#endif
