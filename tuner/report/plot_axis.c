#include "report/plot_axis.h"

#include <math.h>
#include <string.h>

static const double LOG_FROM =
    4; /* the factor between the ends from which on an axis is logarithmic */
static const double AXIS_LETTERS = 50; /* that fit below a plot */
static const double AXIS_LINES = 11;   /* that fit beside it */

struct plot_axis plot_axis_log(double low, double high)
{
    double room = pow(fmax(high / low, 2), 0.06);
    return (struct plot_axis){.low = low / room, .high = high * room, .log = true};
}

struct plot_axis plot_axis_of(double low, double high)
{
    if (low > 0 && high / low >= LOG_FROM)
        return plot_axis_log(low, high);
    double room = 0.06 * (high - low);
    if (room <= 0)
        room = high != 0 ? 0.06 * fabs(high) : 1;
    return (struct plot_axis){.low = low - room, .high = high + room};
}

void plot_quote(const char *text, FILE *script)
{
    fputc('\'', script);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', script);
        fputc(*text >= ' ' || *text < 0 ? *text : ' ', script);
    }
    fputc('\'', script);
}

static void write_label(char name, const char *label, FILE *script)
{
    fprintf(script, "set %clabel ", name);
    plot_quote(label, script);
    fputs(" textcolor rgb c_muted\n", script);
}

/* Whether an axis has room for `count` tics a decade: one above the other, or side by side, as long
 * as the longest number. */
static bool has_room(const struct plot_axis *axis, char name, size_t count)
{
    int longest = snprintf(NULL, 0, "%.10g", pow(10, floor(log10(axis->high))));
    int least = snprintf(NULL, 0, "%.10g", pow(10, floor(log10(axis->low))));
    double tics = (double)count * log10(axis->high / axis->low);
    if (name == 'y')
        return tics < AXIS_LINES;
    return tics * (1 + (longest > least ? longest : least)) < AXIS_LETTERS;
}

/* 1, 2, 5, 10, 20 …; over many decades 1, 10, 100 …, or every second of them; or powers of two. */
static void write_log_tics(const struct plot_axis *axis, char name, FILE *script)
{
    static const double digits[] = {1, 2, 5};
    double base = axis->binary ? 2 : 10;
    size_t count = axis->binary || !has_room(axis, name, 3) ? 1 : 3;
    if (!axis->binary && count == 1 && !has_room(axis, name, 1))
        base = 100;
    const char *separator = "";
    fprintf(script, "set logscale %c\nset %ctics (", name, name);
    int last = (int)floor(log(axis->high) / log(base));
    for (int decade = (int)floor(log(axis->low) / log(base)); decade <= last; decade++)
        for (size_t i = 0; i < count; i++) {
            double tic = digits[i] * pow(base, decade);
            if (tic < axis->low || tic > axis->high)
                continue;
            fprintf(script, "%s'%.10g' %.10g", separator, tic, tic);
            separator = ", ";
        }
    fputs(")\n", script);
}

void plot_axis_write(const struct plot_axis *axis, char name, const char *label, FILE *script)
{
    fprintf(script, "set %crange [%.10g:%.10g]\n", name, axis->low, axis->high);
    if (axis->log)
        write_log_tics(axis, name, script);
    else
        fprintf(script, "set format %c '%%.10g'\n", name);
    write_label(name, label, script);
}

void plot_axis_write_key(size_t longest, FILE *script)
{
    size_t columns = (size_t)AXIS_LETTERS / (longest + 6);
    fprintf(script,
            "set key above left horizontal maxcols %zu Left reverse textcolor rgb c_muted "
            "samplen 1.5 font ',12'\n",
            columns > 0 ? columns : 1);
}

void plot_axis_write_words(char name, const char *label, char *const *texts, size_t count,
                           FILE *script)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = strlen(texts[i]) > longest ? strlen(texts[i]) : longest;
    bool turned = name == 'x' && (double)(count * (longest + 1)) > AXIS_LETTERS;
    fprintf(script, "set %crange [-0.5:%zu.5]\nset %ctics scale 0 %s(", name, count - 1, name,
            turned ? "rotate by 30 right " : "");
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", script);
        plot_quote(texts[i], script);
        fprintf(script, " %zu", i);
    }
    fputs(")\n", script);
    write_label(name, label, script);
}
