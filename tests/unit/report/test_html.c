#include "report/plot.h"

#include "unit/comma_locale.h"
#include "unit/printed.h"
#include "unit/study_fixture.h"
#include "unit/test.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

/* --- every element ends, in the right order --- */

static bool has_no_end(const char *name)
{
    static const char *const names[] = {"meta", "link", "!doctype"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* A cell ends where the next one, a row or the table's body does; a row likewise. */
static bool ends_without_tag(const char *open, const char *name, bool closes)
{
    if (strcmp(open, "td") == 0)
        return strcmp(name, "td") == 0 ? !closes : strcmp(name, "tr") == 0 || closes;
    return strcmp(open, "tr") == 0 && (strcmp(name, "tr") == 0) != closes;
}

static void assert_balanced(const char *text)
{
    char open[32][16];
    size_t depth = 0;
    while ((text = strchr(text, '<')) != NULL) {
        char name[16] = "";
        const char *end = strchr(text, '>');
        bool closes = text[1] == '/';
        size_t length = 0;
        assert_non_null(end);
        text += closes ? 2 : 1;
        while (length < sizeof name - 1 && (isalnum((unsigned char)text[length]) || *text == '!') &&
               text[length] != ' ') {
            name[length] = text[length];
            length++;
        }
        assert_int_not_equal(length, 0); /* a '<' that begins no element was not escaped */
        while (depth > 0 && ends_without_tag(open[depth - 1], name, closes))
            depth--;
        if (closes) {
            assert_int_not_equal(depth, 0);
            assert_string_equal(open[--depth], name);
        } else if (end[-1] != '/' && !has_no_end(name)) {
            assert_in_range(depth, 0, 30);
            strcpy(open[depth++], name);
        }
        if (strcmp(name, "script") == 0 && !closes)
            end = strstr(text, "</script>") - 1;
        text = end;
    }
    assert_int_equal(depth, 0);
}

/* --- pages --- */

static struct study study; /* of the test that runs */

static int release_study(void **state)
{
    study_release(&study);
    study = (struct study){0};
    return 0;
}

#define STUDY_TEST(function) UNIT_TEST_WITH(function, NULL, release_study)

static char *page_of(const struct study *studies, size_t count)
{
    return printed(studies, count, REPORT_HTML, 0);
}

/* The page of the first `count` studies has these texts, and not those; unless it is NULL, each list ends with NULL. */
static void assert_page(const struct study *studies, size_t count, const char *const *wanted,
                        const char *const *unwanted)
{
    char *page = page_of(studies, count);
    assert_balanced(page);
    assert_has(page, wanted);
    if (unwanted != NULL)
        assert_lacks(page, unwanted);
    free(page);
}

/* Nothing in it is from elsewhere, so that it can be read offline. */
STUDY_TEST(test_page_of_measurements)
{
    fixture_study(&study);
    assert_page(&study, 1,
                TEXTS("<title>reduce_sum on NVIDIA H200</title>",
                      "autotune 0.1.0, NVRTC 13.0, driver 13.0", "2026-11-21T06:12:00Z",
                      "n = 16777216 (2<sup>24</sup>), tolerance = 0.1",
                      "On the NVIDIA H200, reduce_sum is fastest with "
                      "<code>block_size=512 finish=two_pass</code>: "
                      "<strong>24.10&nbsp;µs</strong> (95&nbsp;% interval 24.10 to "
                      "24.10, 3 samples), 2785 GB/s",
                      "; 1 other variant ties with it", "error: &#34;x&#34; is undefined"),
                TEXTS("http:", "https:", "src=", "@import", "url("));
    char *page = page_of(&study, 1);
    assert_int_equal(count_text(page, "<link "), 1); /* an empty icon, or browsers ask for one */
    assert_int_equal(count_text(page, "<tr class=\"winner-row\">"), 1);
    assert_int_equal(count_text(page, "<tr class=\"tie-row\">"), 1);
    /* in the list of reasons and with the variants */
    assert_int_equal(count_text(page, "no end after 2 s"), 3);
    free(page);
}

/* So that the GPU's roofs are known. */
static void set_clocks(struct study *roof)
{
    int64_t *attributes = roof->environment.gpu.attributes;
    attributes[GPU_memory_clock_khz] = 3000000;
    attributes[GPU_memory_bus_bits] = 6144;
    attributes[GPU_clock_khz] = 2000000;
}

STUDY_TEST(test_text_is_escaped)
{
    fixture_study(&study);
    free(study.description);
    study.description = alloc_string("a < b & \"c\" <script>alert(1)</script>");
    strcpy(study.environment.gpu.name, "<b>GPU</b>");
    free(study.results[4].reason);
    study.results[4].reason = alloc_string("<img src=x onerror=alert(1)>");
    assert_page(&study, 1, TEXTS("a &#60; b &#38; &#34;c&#34; &#60;script&#62;"),
                TEXTS("<script>alert", "<img", "<b>GPU"));
}

STUDY_TEST(test_several_studies_have_an_overview)
{
    struct study studies[2];
    fixture_study(&studies[0]);
    fixture_study(&studies[1]);
    bindings_set(&studies[1].problem, "n", value_integer(4096));
    assert_page(studies, 2,
                TEXTS("<a href=\"#s0\">n = 16777216 (2<sup>24</sup>), tolerance = 0.1</a>",
                      "<a href=\"#s1\">n = 4096 (2<sup>12</sup>)", "<section id=\"s1\">"),
                NULL);
    free(studies[1].kernel); /* both of one template */
    studies[1].kernel = alloc_string("other");
    assert_page(studies, 2, TEXTS("<title>reduce on NVIDIA H200</title>"), NULL);
    free(studies[1].template_name);
    studies[1].template_name = alloc_string("other");
    strcpy(studies[1].environment.gpu.name, "NVIDIA A100");
    assert_page(
        studies, 2,
        TEXTS("<title>Tuned kernels on several GPUs</title>", "<td class=\"l\">NVIDIA A100</td>"),
        NULL);
    studies[1].environment.gpu = studies[0].environment.gpu;
    studies[1].environment.gpu.attributes[GPU_sm_count] = 114; /* another card of that name */
    assert_page(
        studies, 2,
        TEXTS("<title>Tuned kernels on several GPUs</title>", "NVIDIA H200, sm_90, 114 SMs"), NULL);
    study_release(&studies[0]);
    study_release(&studies[1]);
}

STUDY_TEST(test_static_mode_has_no_times)
{
    fixture_subject(&study);
    study.environment.static_mode = true;
    study.complete = true;
    for (int i = 0; i < 4; i++) {
        struct result *result =
            fixture_add(&study, 64 << i, i % 2 ? "atomic" : "two_pass", OUTCOME_COMPILED);
        fixture_figures(result, 32 + 16 * i, 0);
        result->stats.occupancy = 1 - 0.2 * i;
    }
    assert_page(&study, 1,
                TEXTS("<title>reduce_sum compiled for sm_90</title>",
                      "Nothing was run, so there are no times.", "more occupancy with",
                      "<b>Occupancy against block_size</b>"),
                TEXTS("time, µs", "<b>All variants, fastest first</b>"));
}

STUDY_TEST(test_studies_with_little_in_them)
{
    fixture_subject(&study);
    assert_page(&study, 1, TEXTS("No winner yet."), NULL);
    fixture_times(fixture_add(&study, 32, "atomic", OUTCOME_MEASURED), 1000);
    assert_page(&study, 1, TEXTS("1.000"), NULL);
    fixture_add(&study, 64, "atomic", OUTCOME_FAULT);
    study.complete = true;
    assert_page(&study, 1, TEXTS("fault"), NULL);
    assert_page(NULL, 0, TEXTS("nothing to report"), NULL);
}

/* Kernels that move no bytes. */
STUDY_TEST(test_latency)
{
    fixture_study(&study);
    for (size_t i = 0; i < study.result_count; i++) {
        study.results[i].bytes = 0;
        study.results[i].operations = 1000;
        study.results[i].stats.grid_blocks = 132 << (i % 2);
    }
    assert_page(&study, 1,
                TEXTS("<b>Latency against blocks</b> The best time of one operation "
                      "(such as a barrier) at each point, with a line for each finish.",
                      ">time per operation, ns</text>", ">two_pass</text>", ">last_block</text>"),
                TEXTS("<b>Latency against threads</b>", /* all have as many */
                      "<b>Roofline</b>"));
}

STUDY_TEST(test_the_same_in_any_locale)
{
    fixture_study(&study);
    bindings_set(&study.problem, "tolerance",
                 value_real(1)); /* values are not the page's to write */
    char *expected = page_of(&study, 1);
    bool comma = comma_locale_enter();
    char *page = page_of(&study, 1);
    comma_locale_leave();
    assert_string_equal(page, expected);
    free(page);
    free(expected);
    if (!comma)
        skip();
}

/* --- roofs --- */

STUDY_TEST(test_the_winner_is_compared_with_the_roof_that_limits_it)
{
    struct study studies[3];
    for (int i = 0; i < 3; i++) {
        fixture_study(&studies[i]);
        set_clocks(&studies[i]);
    }
    assert_page(studies, 1,
                TEXTS(", 2785 GB/s (60&nbsp;% of the theoretical 4.608 TB/s)",
                      "Roofs: 4.608 TB/s, theoretical; 67.58 TFLOP/s in float32, "
                      "theoretical. <code>autotune --config configs/roofs.ini</code>"),
                NULL);
    studies[0].results[studies[0].winner].operations = 1e9;
    assert_page(studies, 1, TEXTS(", 41501 GFLOP/s (61&nbsp;% of the theoretical 67.58 TFLOP/s)"),
                NULL);
    /* the others on the page are the roofs' */
    free(studies[1].template_name);
    studies[1].template_name = alloc_string("roof_copy");
    free(studies[2].template_name);
    studies[2].template_name = alloc_string("roof_fma");
    studies[2].results[studies[2].winner].operations = 1.5e9;
    assert_page(studies, 3,
                TEXTS(", 2785 GB/s (100&nbsp;% of the measured 2.795 TB/s)",
                      "Roofs: 2.795 TB/s, measured by <code>roof_copy</code>; 62.25 "
                      "TFLOP/s in float32, measured by <code>roof_fma</code>.</p>"),
                NULL);
    for (int i = 0; i < 3; i++)
        study_release(&studies[i]);
}

/* --- plots --- */

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

STUDY_TEST(test_ticks)
{
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

STUDY_TEST(test_numbers_as_text)
{
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

/* Whatever the numbers, all coordinates are numbers. */
STUDY_TEST(test_numbers_at_the_limits)
{
    static const double numbers[] = {0, -1, 1, 1e-320, 1e30, -1e30, 1e300, INFINITY, NAN, DBL_MIN};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            char *text = NULL;
            size_t bytes = 0;
            const struct plot_point points[] = {{numbers[i], numbers[j]}, {1, 1}};
            const struct plot_line_style style = {PLOT_STEPS, COLOUR_accent, 1, 2};
            struct plot plot = {
                .stream = open_memstream(&text, &bytes),
                .x = plot_axis_of(range_of((double[]){numbers[i], 1}, 2)),
                .y = plot_axis_of(range_of((double[]){numbers[j], 1}, 2)),
            };
            plot.x.label = plot.y.label = "n";
            plot_begin(&plot, "");
            plot_dots(&plot, points, 2, COLOUR_dot, 1);
            plot_line(&plot, &style, points, 2);
            plot_end(&plot);
            assert_int_equal(fclose(plot.stream), 0);
            /* 922337…: an integer out of its range */
            assert_lacks(text, TEXTS("nan", "inf", "922337"));
            assert_in_range(bytes, 500, 10000);
            free(text);
        }
    }
}
