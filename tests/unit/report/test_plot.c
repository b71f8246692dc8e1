#include "report/html.h"
#include "report/plot.h"
#include "unit/comma_locale.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double number, double expected)
{
    if (!(fabs(number - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", number, expected);
}

/* --- axes --- */

static struct plot_range range_of(const double *numbers, size_t count)
{
    struct plot_range range = PLOT_RANGE_EMPTY;
    for (size_t i = 0; i < count; i++)
        plot_range_add(&range, numbers[i]);
    return range;
}

static void test_ranges_of_axes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double numbers[4];
        size_t count;
        enum plot_scale scale;
        double low, high; /* of the axis; NAN: only that it has room around the numbers */
    } cases[] = {
        {"less than a factor of 4", {10, 39}, 2, PLOT_LINEAR, NAN, NAN},
        {"a factor of 4", {40, 10}, 2, PLOT_LOG10, NAN, NAN},
        {"no logarithm of 0", {0, 40}, 2, PLOT_LINEAR, NAN, NAN},
        {"nor of negative numbers", {-5, 40, 3}, 3, PLOT_LINEAR, NAN, NAN},
        {"all negative", {-5, -40}, 2, PLOT_LINEAR, NAN, NAN},
        {"one point", {7}, 1, PLOT_LINEAR, 7 * 0.94, 7 * 1.06},
        {"all equal", {7, 7, 7}, 3, PLOT_LINEAR, 7 * 0.94, 7 * 1.06},
        {"equal but for rounding", {7, 7 * (1 + 1e-15)}, 2, PLOT_LINEAR, NAN, NAN},
        {"one negative point", {-100}, 1, PLOT_LINEAR, -106, -94},
        {"one zero", {0}, 1, PLOT_LINEAR, -1, 1},
        {"nothing", {0}, 0, PLOT_LINEAR, 0, 1},
        {"nothing that is a number", {NAN, INFINITY, -INFINITY, 1e31}, 4, PLOT_LINEAR, 0, 1},
        {"no NaN, no infinity", {10, NAN, 39, INFINITY}, 4, PLOT_LINEAR, NAN, NAN},
        {"the smallest number", {1e-30, 1e30}, 2, PLOT_LOG10, NAN, NAN},
        {"as good as 0", {1e-31, 1}, 2, PLOT_LINEAR, -0.06, 1.06},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plot_range range = range_of(cases[i].numbers, cases[i].count);
        struct plot_axis axis = plot_axis_of(range);
        if (axis.scale != cases[i].scale || !(axis.low < axis.high))
            fail_msg("%s: scale %d from %g to %g", cases[i].name, axis.scale, axis.low, axis.high);
        if (!isnan(cases[i].low)) {
            assert_near(axis.low, cases[i].low);
            assert_near(axis.high, cases[i].high);
        } else if (range.low > DBL_MIN) {
            assert_true(axis.low < range.low && range.high < axis.high);
        }
    }
}

/* The texts of the ticks, separated by blanks. */
static char *tick_texts(const struct plot_axis *axis, struct plot_room room)
{
    static char texts[PLOT_MAX_TICKS * (PLOT_TICK_BYTES + 1)];
    struct plot_tick ticks[PLOT_MAX_TICKS];
    size_t count = plot_axis_ticks(axis, room, ticks);
    texts[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(texts, i > 0 ? " " : "");
        strcat(texts, ticks[i].text);
        assert_true(i == 0 || ticks[i - 1].at < ticks[i].at);
        if (axis->scale == PLOT_LINEAR) /* what stands there is what it says */
            assert_near(ticks[i].at, strtod(ticks[i].text, NULL));
    }
    return texts;
}

static void test_ticks(void **state)
{
    (void)state;
    static const struct {
        enum plot_scale scale;
        double low, high;
        const char *texts;
    } cases[] = {
        /* linear: 1, 2 or 5 times a power of ten */
        {PLOT_LINEAR, 0, 1, "0 0.2 0.4 0.6 0.8 1"},
        {PLOT_LINEAR, 19.2, 25.3, "20 21 22 23 24 25"},
        {PLOT_LINEAR, 0, 104, "0 20 40 60 80 100"},
        {PLOT_LINEAR, 780, 1210, "800 850 900 950 1000 1050 1100 1150 1200"},
        {PLOT_LINEAR, -0.35, 0.31, "-0.3 -0.2 -0.1 0 0.1 0.2 0.3"},
        {PLOT_LINEAR, -106, -94, "-106 -104 -102 -100 -98 -96 -94"},
        {PLOT_LINEAR, 0.00012, 0.00019, "0.00012 0.00014 0.00016 0.00018"},
        {PLOT_LINEAR, 2e6, 9e6, "2000000 4000000 6000000 8000000"},
        {PLOT_LINEAR, 2e9, 9e9, "2e9 3e9 4e9 5e9 6e9 7e9 8e9 9e9"},
        {PLOT_LINEAR, 0, 2e-20, "0 5e-21 1e-20 15e-21 2e-20"},
        {PLOT_LINEAR, -1e30, 1e30, "-1e30 -5e29 0 5e29 1e30"},
        {PLOT_LINEAR, 1e9, 1e9 + 4, "1e9 1000000001 1000000002 1000000003 1000000004"},
        /* logarithmic: the same, and a few more where there is room */
        {PLOT_LOG10, 9, 60, "10 15 20 30 50"},
        {PLOT_LOG10, 18, 90, "20 30 50 70"},
        {PLOT_LOG10, 0.9, 560, "1 2 5 10 20 50 100 200 500"},
        {PLOT_LOG10, 0.02, 0.3, "0.02 0.03 0.05 0.07 0.1 0.15 0.2 0.3"},
        {PLOT_LOG10, 0.5, 50000, "1 10 100 1000 10000"},
        {PLOT_LOG10, 900, 6e7, "10³ 10⁴ 10⁵ 10⁶ 10⁷"},
        {PLOT_LOG10, 1, 1e12, "10⁰ 10² 10⁴ 10⁶ 10⁸ 10¹⁰ 10¹²"},
        {PLOT_LOG10, 1e-7, 10, "10⁻⁷ 10⁻⁶ 10⁻⁵ 10⁻⁴ 10⁻³ 10⁻² 10⁻¹ 10⁰ 10¹"},
        {PLOT_LOG10, 1e-30, 1e30, "10⁻²⁸ 10⁻²¹ 10⁻¹⁴ 10⁻⁷ 10⁰ 10⁷ 10¹⁴ 10²¹ 10²⁸"},
        {PLOT_LOG10, 101, 104, "101 101.5 102 102.5 103 103.5 104"}, /* less than a power */
        /* powers of two */
        {PLOT_LOG2, 30, 300, "32 64 128 256"},
        {PLOT_LOG2, 0.9, 1100, "1 4 16 64 256 1024"},
        {PLOT_LOG2, 1000, 1.1e6, "2¹⁰ 2¹² 2¹⁴ 2¹⁶ 2¹⁸ 2²⁰"},
        {PLOT_LOG2, 0.2, 5, "2⁻² 2⁻¹ 2⁰ 2¹ 2²"},
        {PLOT_LOG2, 127, 132, "127 128 129 130 131 132"},
        /* none */
        {PLOT_LINEAR, 1, 1, ""},
        {PLOT_LINEAR, 2, 1, ""},
        {PLOT_LINEAR, NAN, 1, ""},
        {PLOT_LINEAR, 0, INFINITY, ""},
        {PLOT_LOG10, 0, 10, ""},
        {PLOT_LOG2, -1, 10, ""},
        {PLOT_WORDS, -0.5, 2.5, ""},
    };
    const struct plot_room room = {.length = 360, .text = 10, .letter = 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plot_axis axis = {
            .scale = cases[i].scale, .low = cases[i].low, .high = cases[i].high};
        assert_string_equal(tick_texts(&axis, room), cases[i].texts);
    }
}

static void test_as_many_ticks_as_have_room(void **state)
{
    (void)state;
    struct plot_axis axis = {.scale = PLOT_LINEAR, .low = 0, .high = 100};
    static const struct {
        double length;
        const char *texts;
    } linear[] = {{200, "0 20 40 60 80 100"},
                  {80, "0 50 100"},
                  {30, "0 100"},
                  {10, "0"},
                  {0, "0"},
                  {-1, "0"}};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        assert_string_equal(tick_texts(&axis, (struct plot_room){linear[i].length, 10, 6}),
                            linear[i].texts);
    /* one above the other, the length of their texts does not matter */
    axis = (struct plot_axis){.scale = PLOT_LOG10, .low = 900, .high = 60000};
    assert_string_equal(tick_texts(&axis, (struct plot_room){200, 20, 0}),
                        "1000 2000 5000 10000 20000 50000");
    assert_string_equal(tick_texts(&axis, (struct plot_room){200, 20, 10}), "1000 10000");
    axis = (struct plot_axis){.scale = PLOT_LOG2, .low = 1, .high = 1024};
    assert_string_equal(tick_texts(&axis, (struct plot_room){100, 20, 0}), "1 8 64 512");
}

static void test_whole_numbers_only(void **state)
{
    (void)state;
    const struct plot_room room = {.length = 360, .text = 10, .letter = 6};
    struct plot_axis axis = {.scale = PLOT_LINEAR, .low = 0.5, .high = 3.5};
    assert_string_equal(tick_texts(&axis, room), "0.5 1 1.5 2 2.5 3 3.5");
    axis.whole = true;
    assert_string_equal(tick_texts(&axis, room), "1 2 3");
}

static void test_places(void **state)
{
    (void)state;
    struct plot_axis axis = {.scale = PLOT_LINEAR, .low = -10, .high = 30};
    assert_near(plot_axis_place(&axis, -10), 0);
    assert_near(plot_axis_place(&axis, 0), 0.25);
    assert_near(plot_axis_place(&axis, 30), 1);
    assert_true(isnan(plot_axis_place(&axis, NAN)));
    assert_true(isnan(plot_axis_place(&axis, INFINITY)));
    assert_near(plot_axis_place(&axis, 31), 1.025); /* just outside */
    assert_true(isnan(plot_axis_place(&axis, 1000)));
    assert_true(isnan(plot_axis_place(&axis, -1000)));
    axis = (struct plot_axis){.scale = PLOT_LOG10, .low = 1, .high = 100};
    assert_near(plot_axis_place(&axis, 10), 0.5);
    assert_true(isnan(plot_axis_place(&axis, 0)));
    assert_true(isnan(plot_axis_place(&axis, -1)));
    char *words[] = {(char[]){"a"}, (char[]){"b"}};
    axis = plot_axis_words(words, 2);
    assert_near(plot_axis_place(&axis, 0), 0.25);
    assert_near(plot_axis_place(&axis, 1), 0.75);
}

static void test_numbers_as_text(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0, "0"},         {20.674, "20.67"}, {20, "20"},          {0.000123456, "0.0001235"},
        {9.99996, "10"},  {65536, "65536"},  {-1.5, "-1.5"},      {16777216, "16777216"},
        {1234.4, "1234"}, {1e12, "1e12"},    {-0.25, "-0.25"},    {1.0 / 3, "0.3333"},
        {1e-12, "1e-12"}, {1e30, "1e30"},    {DBL_TRUE_MIN, "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PLOT_TICK_BYTES];
        assert_string_equal(plot_number_text(cases[i].number, text), cases[i].text);
    }
}

/* --- drawing --- */

struct drawing {
    struct plot plot;
    char *text;
    size_t bytes;
};

static void drawing_init(struct drawing *drawing)
{
    *drawing = (struct drawing){.text = NULL};
    drawing->plot.stream = open_memstream(&drawing->text, &drawing->bytes);
    assert_non_null(drawing->plot.stream);
    drawing->plot.x = (struct plot_axis){.label = "rank", .low = 0, .high = 10};
    drawing->plot.y = (struct plot_axis){.label = "time, µs", .low = 0, .high = 10};
}

/* Ends the plot; its text is the drawing's. */
static const char *drawing_text(struct drawing *drawing)
{
    plot_end(&drawing->plot);
    assert_int_equal(fclose(drawing->plot.stream), 0);
    return drawing->text;
}

static size_t count_text(const char *text, const char *wanted)
{
    size_t count = 0;
    for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted))
        count++;
    return count;
}

static void test_an_empty_plot_has_axes(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing);
    plot_begin(&drawing.plot, "Time");
    const char *text = drawing_text(&drawing);
    assert_ptr_equal(strstr(text, "<svg class=\"plot\" viewBox=\"0 0 420 290\" role=\"img\" "
                                  "aria-label=\"Time\">"),
                     text);
    assert_non_null(strstr(text, ">time, µs</text>"));
    assert_non_null(strstr(text, ">rank</text>"));
    assert_int_equal(count_text(text, "class=\"p-grid\""), 12); /* 0, 2 … 10, twice */
    assert_int_equal(count_text(text, ">10</text>"), 2);
    assert_int_equal(count_text(text, "class=\"p-axis\""), 1);
    assert_string_equal(text + strlen(text) - 6, "</svg>");
    free(drawing.text);
}

static void test_text_is_escaped(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing);
    char *words[] = {(char[]){"a<b>"}, (char[]){"\"c\" & 'd'\a"}};
    drawing.plot.x = plot_axis_words(words, 2);
    drawing.plot.x.label = "</text><script>";
    const struct plot_key keys[] = {{"k<1", {.width = 1}}};
    drawing.plot.keys = keys;
    drawing.plot.key_count = 1;
    plot_begin(&drawing.plot, "\"><script>");
    plot_note(&drawing.plot, (struct plot_point){1, 1}, PLOT_RIGHT_BELOW, COLOUR_limit, "1 < 2");
    plot_dot(&drawing.plot, (struct plot_point){0, 5}, COLOUR_winner, 4);
    const char *text = drawing_text(&drawing);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "aria-label=\"&#34;&#62;&#60;script&#62;\""));
    assert_non_null(strstr(text, ">a&#60;b&#62;</text>"));
    assert_non_null(strstr(text, "&#34;c&#34; &#38; &#39;d&#39; </text>"));
    assert_non_null(strstr(text, "&#60;/text&#62;&#60;script&#62;"));
    assert_non_null(strstr(text, ">k&#60;1</text>"));
    assert_non_null(strstr(text, ">1 &#60; 2</text>"));
    assert_non_null(strstr(text, "<title>a&#60;b&#62;: 5</title>"));
    free(drawing.text);
}

static void test_dots_are_one_path_without_repetitions(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing);
    plot_begin(&drawing.plot, "");
    drawing.plot.left = drawing.plot.top = 0;
    drawing.plot.right = drawing.plot.bottom = 100;
    const struct plot_point points[] = {{5, 5},   {1, 9},        {5, 5.001},   {NAN, 5},
                                        {5, NAN}, {INFINITY, 1}, {1, 9.00001}, {1, 8}};
    plot_dots(&drawing.plot, points, 8, COLOUR_dot, 1.75);
    plot_dots(&drawing.plot, points + 3, 3, COLOUR_tie, 1); /* none has a place */
    const char *text = drawing_text(&drawing);
    /* in half pixels, each relative to the one before it */
    assert_non_null(strstr(text, "<path class=\"p-dot dots\" stroke-width=\"7\" "
                                 "transform=\"scale(.5)\" d=\"m20 20h0m0 20h0m80 60h0\"/>"));
    assert_null(strstr(text, "p-tie"));
    free(drawing.text);
}

static void test_lines(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing);
    plot_begin(&drawing.plot, "");
    drawing.plot.left = drawing.plot.top = 0;
    drawing.plot.right = drawing.plot.bottom = 100;
    const struct plot_point points[] = {{1, 1}, {2, NAN}, {3, 2.25}, {4, 8}};
    struct plot_line_style style = {PLOT_STRAIGHT, COLOUR_accent, 1.5, 2};
    plot_line(&drawing.plot, &style, points, 4);
    style = (struct plot_line_style){PLOT_STEPS, COLOUR_series3, 2, 0};
    plot_line(&drawing.plot, &style, points, 4);
    style = (struct plot_line_style){PLOT_DASHED, COLOUR_limit, 2, 0};
    plot_line(&drawing.plot, &style, points, 1);
    plot_interval(&drawing.plot, 5, 2, 4, COLOUR_tie);
    plot_dot(&drawing.plot, (struct plot_point){NAN, 1}, COLOUR_winner, 1);
    const char *text = drawing_text(&drawing);
    assert_non_null(strstr(text, "<path class=\"p-accent\" stroke-width=\"1.5\" "
                                 "d=\"M10 90L30 77.5L40 20\"/>"));
    assert_non_null(strstr(text, "<circle class=\"p-accent\" cx=\"30\" cy=\"77.5\" r=\"2\">"
                                 "<title>3: 2.25</title></circle>"));
    assert_int_equal(count_text(text, "<circle"), 3);
    assert_non_null(strstr(text, "<path class=\"p-series3\" stroke-width=\"2\" "
                                 "d=\"M10 90L30 90L30 77.5L40 77.5L40 20\"/>"));
    assert_non_null(strstr(text, "<path class=\"p-limit\" stroke-width=\"2\" "
                                 "stroke-dasharray=\"6 4\" d=\"M10 90\"/>"));
    assert_non_null(strstr(text, "<path class=\"p-tie\" stroke-width=\"2\" d=\"M50 80L50 60\"/>"));
    free(drawing.text);
}

/* A plot of cells; the text is the caller's to free. */
static char *table_of(char *const *columns, size_t column_count, char *const *rows,
                      size_t row_count)
{
    struct drawing drawing;
    drawing_init(&drawing);
    drawing.plot.x = plot_axis_words(columns, column_count);
    drawing.plot.y = plot_axis_words(rows, row_count);
    plot_begin(&drawing.plot, "");
    plot_cell(&drawing.plot, 0, 0, COLOUR_heat0, COLOUR_heattextbest, "123.4");
    plot_frame(&drawing.plot, 0, 0, COLOUR_winner);
    (void)drawing_text(&drawing);
    return drawing.text;
}

static void test_words_and_cells_have_room(void **state)
{
    (void)state;
    char *words[] = {(char[]){"cooperative"}, (char[]){"lock_free_parallel"},
                     (char[]){"a_word_much_longer_than_there_is_room"}};
    char number[] = "128";
    char *numbers[24];
    for (int i = 0; i < 24; i++)
        numbers[i] = number;
    char *text = table_of(numbers, 3, words, 1); /* with room */
    assert_null(strstr(text, "rotate"));
    assert_null(strstr(text, "small"));
    assert_null(strstr(text, "p-axis"));
    assert_non_null(strstr(text, "viewBox=\"0 0 420 290\""));
    free(text);
    text = table_of(numbers, 7, words, 1); /* smaller text in cells */
    assert_null(strstr(text, "rotate"));
    assert_non_null(strstr(text, "class=\"p-heattextbest middle small\""));
    free(text);
    text = table_of(words, 3, numbers, 1); /* words turned, one of them cut, and a higher plot */
    assert_int_equal(count_text(text, "rotate(-35 "), 3);
    assert_non_null(strstr(text, "><title>a_word_much_longer_than_there_is_room</title>"
                                 "a_word_much_longer_…</text>"));
    assert_null(strstr(text, "viewBox=\"0 0 420 290\""));
    free(text);
    text = table_of(numbers, 24, words, 3); /* text upright in cells, and rows cut */
    assert_int_equal(count_text(text, "rotate(-90 "), 1);
    assert_int_equal(count_text(text, "rotate(-35 "), 24);
    assert_non_null(strstr(text, "</title>a_word_much_lon…</text>"));
    assert_int_equal(count_text(text, "<rect class=\"p-winner frame\""), 1);
    free(text);
}

static void test_keys_stand_side_by_side_and_in_rows(void **state)
{
    (void)state;
    struct drawing drawing;
    struct plot_key keys[6];
    for (size_t i = 0; i < 6; i++)
        keys[i] = (struct plot_key){"lock_free", {PLOT_STRAIGHT, (enum colour)i, 2, 0}};
    for (size_t count = 0; count <= 6; count++) {
        drawing_init(&drawing);
        drawing.plot.keys = keys;
        drawing.plot.key_count = count;
        plot_begin(&drawing.plot, "");
        size_t rows = (count + 2) / 3; /* three have room */
        assert_near(drawing.plot.height, 290 + (double)rows * PLOT_LINE);
        const char *text = drawing_text(&drawing);
        assert_int_equal(count_text(text, ">lock_free</text>"), count);
        free(drawing.text);
    }
}

/* Whatever the numbers, all coordinates are numbers. */
static void test_numbers_at_the_limits(void **state)
{
    (void)state;
    static const double numbers[] = {0, -1, 1, 1e-320, 1e30, -1e30, 1e300, INFINITY, NAN, DBL_MIN};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            struct drawing drawing;
            drawing_init(&drawing);
            const struct plot_point points[] = {{numbers[i], numbers[j]}, {1, 1}};
            drawing.plot.x = plot_axis_of(range_of((double[]){numbers[i], 1}, 2));
            drawing.plot.y = plot_axis_of(range_of((double[]){numbers[j], 1}, 2));
            drawing.plot.x.label = drawing.plot.y.label = "n";
            plot_begin(&drawing.plot, "");
            const struct plot_line_style style = {PLOT_STEPS, COLOUR_accent, 1, 2};
            plot_dots(&drawing.plot, points, 2, COLOUR_dot, 1);
            plot_line(&drawing.plot, &style, points, 2);
            const char *text = drawing_text(&drawing);
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
            assert_null(strstr(text, "922337")); /* an integer out of its range */
            assert_in_range(drawing.bytes, 500, 10000);
            free(drawing.text);
        }
    }
}

/* With numbers that have decimals. */
static char *draw_anywhere(void)
{
    struct drawing drawing;
    drawing_init(&drawing);
    drawing.plot.x = plot_axis_of((struct plot_range){0.5, 1.25});
    drawing.plot.x.label = "x";
    plot_begin(&drawing.plot, "");
    plot_dot(&drawing.plot, (struct plot_point){0.75, 2.5}, COLOUR_winner, 4.2);
    (void)drawing_text(&drawing);
    return drawing.text;
}

static void test_the_same_in_any_locale(void **state)
{
    (void)state;
    char *expected = draw_anywhere();
    bool comma = comma_locale_enter();
    char *text = draw_anywhere();
    comma_locale_leave();
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    if (!comma)
        skip();
}

static void test_style_has_every_colour(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    svg_write_style(stream);
    assert_int_equal(fclose(stream), 0);
#define X(name) assert_int_equal(count_text(text, ".p-" #name "{color:var(--" #name ")}"), 1);
    SVG_COLOURS(X)
#undef X
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_of_axes),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_as_many_ticks_as_have_room),
        cmocka_unit_test(test_whole_numbers_only),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_numbers_as_text),
        cmocka_unit_test(test_an_empty_plot_has_axes),
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_dots_are_one_path_without_repetitions),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_words_and_cells_have_room),
        cmocka_unit_test(test_keys_stand_side_by_side_and_in_rows),
        cmocka_unit_test(test_numbers_at_the_limits),
        cmocka_unit_test(test_the_same_in_any_locale),
        cmocka_unit_test(test_style_has_every_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
