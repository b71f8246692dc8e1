#include "report/plot.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LARGEST = 1e30; /* number on an axis; its inverse counts as 0 */
static const double LOG_FROM = 4;   /* the factor between its ends that makes an axis logarithmic */
static const double MARGIN = 0.06;  /* at each end, as a share of the range */

/* --- ranges and scales --- */

void plot_range_add(struct plot_range *range, double number)
{
    if (!(fabs(number) <= LARGEST))
        return;
    if (fabs(number) < 1 / LARGEST)
        number = 0;
    range->low = fmin(range->low, number);
    range->high = fmax(range->high, number);
}

struct plot_axis plot_axis_log(struct plot_range range, enum plot_scale scale)
{
    double room = exp(MARGIN * fmax(log(range.high) - log(range.low), log(2)));
    return (struct plot_axis){.scale = scale, .low = range.low / room, .high = range.high * room};
}

struct plot_axis plot_axis_of(struct plot_range range)
{
    if (!(range.low <= range.high))
        return (struct plot_axis){.scale = PLOT_LINEAR, .low = 0, .high = 1};
    if (range.low > 0 && range.high / range.low >= LOG_FROM)
        return plot_axis_log(range, PLOT_LOG10);
    double magnitude = fmax(fabs(range.low), fabs(range.high));
    double room = MARGIN * (range.high - range.low);
    if (room <= 1e-9 * magnitude) /* all equal, or as good as */
        room = MARGIN * magnitude;
    if (room <= 1 / LARGEST)
        room = 1;
    return (struct plot_axis){
        .scale = PLOT_LINEAR, .low = range.low - room, .high = range.high + room};
}

struct plot_axis plot_axis_words(char *const *words, size_t count)
{
    return (struct plot_axis){.scale = PLOT_WORDS,
                              .low = -0.5,
                              .high = (double)count - 0.5,
                              .words = words,
                              .word_count = count};
}

static bool is_log(const struct plot_axis *axis)
{
    return axis->scale == PLOT_LOG10 || axis->scale == PLOT_LOG2;
}

double plot_axis_place(const struct plot_axis *axis, double number)
{
    double place = is_log(axis)
                       ? (log(number) - log(axis->low)) / (log(axis->high) - log(axis->low))
                       : (number - axis->low) / (axis->high - axis->low);
    return fabs(place) <= 2 ? place : NAN;
}

/* --- the texts of ticks --- */

size_t plot_letters_bytes(const char *text, size_t letters)
{
    size_t bytes = 0;
    for (; text[bytes] != '\0'; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && letters-- == 0)
            break;
    return bytes;
}

size_t plot_letters(const char *text)
{
    size_t letters = 0;
    for (; *text != '\0'; text++)
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    return letters;
}

/* `digits` times ten to the power of `exponent`, written exactly. */
static void decimal_text(int64_t digits, int exponent, char text[PLOT_TICK_BYTES])
{
    enum { MAX_BEFORE = 9, MAX_ZEROS = 6 }; /* digits before the point, and zeros behind it */
    const char *sign = digits < 0 ? "-" : "";
    for (digits = llabs(digits); digits != 0 && digits % 10 == 0; digits /= 10)
        exponent++;
    char plain[24];
    int length = snprintf(plain, sizeof plain, "%" PRId64, digits);
    int before = length + exponent; /* the point */
    if (digits == 0)
        (void)snprintf(text, PLOT_TICK_BYTES, "0");
    else if ((exponent > 0 && before > MAX_BEFORE) || before < -MAX_ZEROS)
        (void)snprintf(text, PLOT_TICK_BYTES, "%s%se%d", sign, plain, exponent);
    else if (exponent >= 0)
        (void)snprintf(text, PLOT_TICK_BYTES, "%s%s%.*s", sign, plain, exponent, "000000000");
    else if (before > 0)
        (void)snprintf(text, PLOT_TICK_BYTES, "%s%.*s.%s", sign, before, plain, plain + before);
    else
        (void)snprintf(text, PLOT_TICK_BYTES, "%s0.%.*s%s", sign, -before, "000000", plain);
}

char *plot_number_text(double number, char text[PLOT_TICK_BYTES])
{
    int exponent = number != 0 ? (int)floor(log10(fabs(number))) - 3 : 0;
    if (exponent > 0 && exponent < 12)
        exponent = 0;
    exponent = exponent < -300 ? -300 : exponent; /* 0 to four digits */
    decimal_text(llround(number * pow(10, -exponent)), exponent, text);
    return text;
}

/* "10⁶", "2²⁰". */
static void power_text(int base, int exponent, char text[PLOT_TICK_BYTES])
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[12];
    int length = snprintf(text, PLOT_TICK_BYTES, "%d%s", base, exponent < 0 ? "⁻" : "");
    (void)snprintf(plain, sizeof plain, "%d", abs(exponent));
    for (const char *digit = plain; *digit != '\0'; digit++)
        length +=
            snprintf(text + length, PLOT_TICK_BYTES - (size_t)length, "%s", digits[*digit - '0']);
}

/* --- candidates for ticks --- */

struct ticks {
    struct plot_tick items[PLOT_MAX_TICKS];
    size_t count;
    bool too_many;
};

/* If the number is on the axis, adds a tick and returns it for its text; otherwise NULL. */
static struct plot_tick *add_tick(struct ticks *ticks, const struct plot_axis *axis, double at)
{
    double place = plot_axis_place(axis, at);
    if (!(place >= -1e-9 && place <= 1 + 1e-9))
        return NULL;
    if (ticks->count == PLOT_MAX_TICKS) {
        ticks->too_many = true;
        return NULL;
    }
    struct plot_tick *tick = &ticks->items[ticks->count++];
    tick->at = at;
    return tick;
}

/* Multiples of `digit` times ten to the power of `exponent`. */
static struct ticks linear_ticks(const struct plot_axis *axis, int digit, int exponent)
{
    struct ticks ticks = {.count = 0};
    double scale = pow(10, abs(exponent)); /* exact up to 10^22, unlike its inverse */
    double step = exponent < 0 ? digit / scale : digit * scale;
    if ((axis->high - axis->low) / step > PLOT_MAX_TICKS + 1)
        return (struct ticks){.too_many = true};
    int64_t last = (int64_t)floor(axis->high / step) + 1;
    for (int64_t i = (int64_t)ceil(axis->low / step) - 1; i <= last; i++) {
        int64_t digits = i * digit;
        double at = exponent < 0 ? (double)digits / scale : (double)digits * scale;
        struct plot_tick *tick = add_tick(&ticks, axis, at);
        if (tick != NULL)
            decimal_text(digits, exponent, tick->text);
    }
    return ticks;
}

/* Every `stride`th power of ten, times each of `tenths` over 10. Powers alone are written as such
 * once they are long. */
static struct ticks decade_ticks(const struct plot_axis *axis, const int *tenths, int stride)
{
    struct ticks ticks = {.count = 0};
    bool powers = tenths[1] == 0 && (axis->high >= 1e6 || axis->low <= 1e-5);
    int last = (int)floor(log10(axis->high));
    int first = (int)floor(log10(axis->low));
    first -= ((first % stride) + stride) % stride;
    for (int exponent = first; exponent <= last && !ticks.too_many; exponent += stride)
        for (size_t i = 0; tenths[i] != 0; i++) {
            struct plot_tick *tick = add_tick(&ticks, axis, tenths[i] * pow(10, exponent) / 10);
            if (tick != NULL && powers)
                power_text(10, exponent, tick->text);
            else if (tick != NULL)
                decimal_text(tenths[i], exponent - 1, tick->text);
        }
    return ticks;
}

/* Every `stride`th power of two; the same about long ones. */
static struct ticks binary_ticks(const struct plot_axis *axis, int stride)
{
    struct ticks ticks = {.count = 0};
    bool powers = axis->high >= 1 << 17 || axis->low <= 0.5;
    int last = (int)floor(log2(axis->high));
    int first = (int)floor(log2(axis->low));
    first -= ((first % stride) + stride) % stride;
    for (int exponent = first; exponent <= last && !ticks.too_many; exponent += stride) {
        struct plot_tick *tick = add_tick(&ticks, axis, exp2(exponent));
        if (tick != NULL && powers)
            power_text(2, exponent, tick->text);
        else if (tick != NULL)
            decimal_text(INT64_C(1) << exponent, 0, tick->text);
    }
    return ticks;
}

/* --- the choice among them --- */

static bool has_room(const struct plot_axis *axis, struct plot_room room, const struct ticks *ticks)
{
    for (size_t i = 1; i < ticks->count; i++) {
        const struct plot_tick *before = &ticks->items[i - 1];
        const struct plot_tick *tick = &ticks->items[i];
        double letters = (double)(plot_letters(before->text) + plot_letters(tick->text)) / 2;
        double apart = plot_axis_place(axis, tick->at) - plot_axis_place(axis, before->at);
        if (apart * room.length < room.text + letters * room.letter)
            return false;
    }
    return !ticks->too_many;
}

static struct ticks choose_linear(const struct plot_axis *axis, struct plot_room room)
{
    static const int digits[] = {1, 2, 5};
    int exponent = (int)floor(log10((axis->high - axis->low) / PLOT_MAX_TICKS));
    if (axis->whole && exponent < 0)
        exponent = 0;
    for (int i = 0;; i++) {
        struct ticks ticks = linear_ticks(axis, digits[i % 3], exponent + i / 3);
        if (has_room(axis, room, &ticks)) /* one alone has */
            return ticks;
    }
}

static struct ticks choose_log(const struct plot_axis *axis, struct plot_room room)
{
    static const int tenths[][7] = {{10, 15, 20, 30, 50, 70}, {10, 20, 50}, {10, 30}, {10}};
    enum { SETS = sizeof tenths / sizeof *tenths };
    for (int i = 0;; i++) {
        int stride = i < SETS ? 1 : i - SETS + 2;
        struct ticks ticks = axis->scale == PLOT_LOG2
                                 ? binary_ticks(axis, i + 1)
                                 : decade_ticks(axis, tenths[i < SETS ? i : SETS - 1], stride);
        if (has_room(axis, room, &ticks))
            return ticks;
    }
}

size_t plot_axis_ticks(const struct plot_axis *axis, struct plot_room room,
                       struct plot_tick ticks[PLOT_MAX_TICKS])
{
    if (axis->scale == PLOT_WORDS || !(axis->low < axis->high) || !isfinite(axis->low) ||
        !isfinite(axis->high) || (is_log(axis) && axis->low <= 0))
        return 0;
    struct ticks chosen = {.count = 0};
    if (is_log(axis))
        chosen = choose_log(axis, room);
    if (chosen.count < 2) /* too short for powers */
        chosen = choose_linear(axis, room);
    memcpy(ticks, chosen.items, chosen.count * sizeof *ticks);
    return chosen.count;
}
