#include "report/html.h"
#include "report/plot.h"
#include "unit/comma_locale.h"
#include "unit/study_fixture.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *page_of(const struct study *studies, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    html_print(stream, studies, count, studies, count);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static size_t count_text(const char *text, const char *wanted)
{
    size_t count = 0;
    for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted))
        count++;
    return count;
}

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

static void test_page_of_measurements(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    char *page = page_of(&study, 1);
    assert_balanced(page);
    assert_non_null(strstr(page, "<title>reduce_sum on NVIDIA H200</title>"));
    assert_non_null(strstr(page, "autotune 0.1.0, NVRTC 13.0, driver 13.0"));
    assert_non_null(strstr(page, "2026-11-21T06:12:00Z"));
    assert_non_null(strstr(page, "n = 16777216 (2<sup>24</sup>), tolerance = 0.1"));
    assert_non_null(strstr(page, "On the NVIDIA H200, reduce_sum is fastest with "
                                 "<code>block_size=512 finish=two_pass</code>: "
                                 "<strong>24.10&nbsp;µs</strong> (95&nbsp;% interval 24.10 to "
                                 "24.10, 3 samples), 2785 GB/s"));
    assert_non_null(strstr(page, "; 1 other variant ties with it"));
    assert_int_equal(count_text(page, "<tr class=\"winner-row\">"), 1);
    assert_int_equal(count_text(page, "<tr class=\"tie-row\">"), 1);
    /* failures with their reasons, in the list of reasons and with the variant */
    assert_non_null(strstr(page, "error: &#34;x&#34; is undefined"));
    assert_int_equal(count_text(page, "no end after 2 s"), 3);
    free(page);
    study_release(&study);
}

/* Nothing from elsewhere, so that it can be read offline. */
static void test_page_needs_nothing_else(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    char *page = page_of(&study, 1);
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "url("));
    assert_int_equal(count_text(page, "<link "), 1); /* an empty icon, or browsers ask for one */
    free(page);
    study_release(&study);
}

static void test_every_chart_has_its_plot(void **state)
{
    (void)state;
    static const char *const titles[] = {
        "All variants, fastest first",
        "Best time for each block_size and finish",
        "Time against block_size",
        "Time against finish",
        "Roofline",
        "Time against occupancy",
        "Occupancy against registers",
    };
    enum { CHARTS = sizeof titles / sizeof *titles };
    struct study study;
    fixture_study(&study);
    study.results[0].stats.occupancy = 0.5;
    study.environment.gpu.attributes[GPU_memory_clock_khz] = 3000000;
    study.environment.gpu.attributes[GPU_memory_bus_bits] = 6144;
    study.environment.gpu.attributes[GPU_clock_khz] = 2000000;
    char *page = page_of(&study, 1);
    assert_int_equal(count_text(page, "<figure>"), CHARTS);
    assert_int_equal(count_text(page, "</figcaption><div class=\"plot-box\"><svg class=\"plot\""),
                     CHARTS);
    assert_int_equal(count_text(page, "</svg></div></figure>"), CHARTS);
    for (size_t i = 0; i < CHARTS; i++) {
        char *title = alloc_format("<b>%s</b>", titles[i]);
        char *label = alloc_format("role=\"img\" aria-label=\"%s\"", titles[i]);
        assert_int_equal(count_text(page, title), 1);
        assert_int_equal(count_text(page, label), 1);
        free(title);
        free(label);
    }
    free(page);
    study_release(&study);
}

static void test_text_is_escaped(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    free(study.description);
    study.description = alloc_string("a < b & \"c\" <script>alert(1)</script>");
    strcpy(study.environment.gpu.name, "<b>GPU</b>");
    free(study.results[4].reason);
    study.results[4].reason = alloc_string("<img src=x onerror=alert(1)>");
    char *page = page_of(&study, 1);
    assert_balanced(page);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<b>GPU"));
    assert_non_null(strstr(page, "a &#60; b &#38; &#34;c&#34; &#60;script&#62;"));
    free(page);
    study_release(&study);
}

static void test_several_studies_have_an_overview(void **state)
{
    (void)state;
    struct study studies[2];
    fixture_study(&studies[0]);
    fixture_study(&studies[1]);
    bindings_set(&studies[1].problem, "n", value_integer(4096));
    char *page = page_of(studies, 2);
    assert_balanced(page);
    assert_non_null(
        strstr(page, "<a href=\"#s0\">n = 16777216 (2<sup>24</sup>), tolerance = 0.1</a>"));
    assert_non_null(strstr(page, "<a href=\"#s1\">n = 4096 (2<sup>12</sup>)"));
    assert_int_equal(count_text(page, "<section id="), 2);
    free(page);
    free(studies[1].kernel);
    studies[1].kernel = alloc_string("other");
    char *title = alloc_format("<title>%s on NVIDIA H200</title>", studies[0].template_name);
    page = page_of(studies, 2); /* both of one template */
    assert_non_null(strstr(page, title));
    free(page);
    free(title);
    free(studies[1].template_name);
    studies[1].template_name = alloc_string("other");
    strcpy(studies[1].environment.gpu.name, "NVIDIA A100");
    page = page_of(studies, 2);
    assert_balanced(page);
    assert_non_null(strstr(page, "<title>Tuned kernels on several GPUs</title>"));
    assert_non_null(strstr(page, "<td class=\"l\">NVIDIA A100</td>"));
    free(page);
    studies[1].environment.gpu = studies[0].environment.gpu;
    studies[1].environment.gpu.attributes[GPU_sm_count] = 114; /* another card of that name */
    page = page_of(studies, 2);
    assert_non_null(strstr(page, "<title>Tuned kernels on several GPUs</title>"));
    assert_non_null(strstr(page, "NVIDIA H200, sm_90, 114 SMs"));
    free(page);
    study_release(&studies[0]);
    study_release(&studies[1]);
}

static void test_static_mode_has_no_times(void **state)
{
    (void)state;
    struct study study;
    fixture_subject(&study);
    study.environment.static_mode = true;
    study.complete = true;
    for (int i = 0; i < 4; i++) {
        struct result *result =
            fixture_add(&study, 64 << i, i % 2 ? "atomic" : "two_pass", OUTCOME_COMPILED);
        fixture_figures(result, 32 + 16 * i, 0);
        result->stats.occupancy = 1 - 0.2 * i;
    }
    char *page = page_of(&study, 1);
    assert_balanced(page);
    assert_non_null(strstr(page, "<title>reduce_sum compiled for sm_90</title>"));
    assert_non_null(strstr(page, "Nothing was run, so there are no times."));
    assert_null(strstr(page, "time, µs"));
    assert_non_null(strstr(page, "more occupancy with"));
    assert_non_null(strstr(page, "<b>Occupancy against block_size</b>"));
    assert_null(strstr(page, "<b>All variants, fastest first</b>"));
    free(page);
    study_release(&study);
}

static void test_studies_with_little_in_them(void **state)
{
    (void)state;
    struct study study;
    fixture_subject(&study);
    char *page = page_of(&study, 1);
    assert_balanced(page);
    assert_non_null(strstr(page, "No winner yet."));
    free(page);
    fixture_times(fixture_add(&study, 32, "atomic", OUTCOME_MEASURED), 1000);
    page = page_of(&study, 1);
    assert_balanced(page);
    free(page);
    fixture_add(&study, 64, "atomic", OUTCOME_FAULT);
    study.complete = true;
    page = page_of(&study, 1);
    assert_balanced(page);
    free(page);
    page = page_of(NULL, 0);
    assert_balanced(page);
    free(page);
    study_release(&study);
}

/* Kernels that move no bytes. */
static void test_latency(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    for (size_t i = 0; i < study.result_count; i++) {
        study.results[i].bytes = 0;
        study.results[i].operations = 1000;
        study.results[i].stats.grid_blocks = 132 << (i % 2);
    }
    char *page = page_of(&study, 1);
    assert_balanced(page);
    assert_non_null(strstr(page,
                           "<b>Latency against blocks</b> The best time of one operation "
                           "(such as a barrier) at each point, with a line for each finish."));
    assert_null(strstr(page, "<b>Latency against threads</b>")); /* all have as many */
    assert_null(strstr(page, "<b>Roofline</b>"));
    assert_non_null(strstr(page, ">time per operation, ns</text>"));
    assert_non_null(strstr(page, ">two_pass</text>"));
    assert_non_null(strstr(page, ">last_block</text>"));
    free(page);
    study_release(&study);
}

static char *page_without_programs(const struct study *study)
{
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", "", 1), 0);
    char *page = page_of(study, 1);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    return page;
}

static void test_charts_need_no_other_program(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    char *expected = page_of(&study, 1);
    char *page = page_without_programs(&study);
    assert_string_equal(page, expected);
    free(page);
    free(expected);
    study_release(&study);
}

static void test_the_same_in_any_locale(void **state)
{
    (void)state;
    struct study study;
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
    study_release(&study);
    if (!comma)
        skip();
}

/* Light and dark, each colour that charts use. */
static void test_style_has_every_colour(void **state)
{
    (void)state;
    char *page = page_of(NULL, 0);
    static const char *const names[] = {
#define X(name) "--" #name ":",
        SVG_COLOURS(X)
#undef X
            "--muted:",
        "--card:"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (count_text(page, names[i]) != 2)
            fail_msg("%s %zu times", names[i], count_text(page, names[i]));
    free(page);
}

/* --- roofs --- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void test_the_winner_is_compared_with_the_roof_that_limits_it(void **state)
{
    (void)state;
    struct study studies[3];
    for (int i = 0; i < 3; i++) {
        fixture_study(&studies[i]);
        studies[i].environment.gpu.attributes[GPU_memory_clock_khz] = 3000000;
        studies[i].environment.gpu.attributes[GPU_memory_bus_bits] = 6144;
        studies[i].environment.gpu.attributes[GPU_clock_khz] = 2000000;
    }
    char *page = page_of(studies, 1);
    assert_non_null(strstr(page, ", 2785 GB/s (60&nbsp;% of the theoretical 4.608 TB/s)"));
    assert_non_null(strstr(page, "Roofs: 4.608 TB/s, theoretical; 67.58 TFLOP/s in float32, "
                                 "theoretical. <code>autotune --config configs/roofs.ini</code>"));
    free(page);
    studies[0].results[studies[0].winner].operations = 1e9;
    page = page_of(studies, 1);
    assert_non_null(strstr(page, ", 41501 GFLOP/s (61&nbsp;% of the theoretical 67.58 TFLOP/s)"));
    free(page);
    /* the others on the page are the roofs' */
    free(studies[1].template_name);
    studies[1].template_name = alloc_string("roof_copy");
    free(studies[2].template_name);
    studies[2].template_name = alloc_string("roof_fma");
    studies[2].results[studies[2].winner].operations = 1.5e9;
    page = page_of(studies, 3);
    assert_non_null(strstr(page, ", 2785 GB/s (100&nbsp;% of the measured 2.795 TB/s)"));
    assert_non_null(strstr(page, "Roofs: 2.795 TB/s, measured by <code>roof_copy</code>; 62.25 "
                                 "TFLOP/s in float32, measured by <code>roof_fma</code>.</p>"));
    free(page);
    for (int i = 0; i < 3; i++)
        study_release(&studies[i]);
}

static void test_roofs_are_theoretical_until_they_are_measured(void **state)
{
    (void)state;
    struct study studies[3];
    struct roofs roofs;
    for (int i = 0; i < 3; i++)
        fixture_study(&studies[i]);
    for (int i = 0; i < 3; i++) {
        studies[i].environment.gpu.attributes[GPU_memory_clock_khz] = 3000000;
        studies[i].environment.gpu.attributes[GPU_memory_bus_bits] = 6144;
        studies[i].environment.gpu.attributes[GPU_clock_khz] = 2000000;
    }
    roofs_find(&studies[0], studies, 3, &roofs);
    assert_false(roofs.bytes_measured || roofs.operations_measured);
    assert_true(is_near(roofs.bytes_per_ns, 3e9 * 2 * 6144 / 8 * 1e-9));
    assert_true(is_near(roofs.operations_per_ns, 132 * 128 * 2 * 2.0));
    /* the best of the kernel on the same GPU; its fastest run took 24,010 ns */
    free(studies[1].template_name);
    studies[1].template_name = alloc_string("roof_copy");
    free(studies[2].template_name);
    studies[2].template_name = alloc_string("roof_fma");
    strcpy(studies[2].environment.gpu.name, "NVIDIA A100");
    roofs_find(&studies[0], studies, 3, &roofs);
    assert_true(roofs.bytes_measured);
    assert_true(is_near(roofs.bytes_per_ns, 67108864 / 24010.0));
    assert_false(roofs.operations_measured); /* another GPU's */
    studies[1].environment.gpu.attributes[GPU_sm_count] = 114;
    roofs_find(&studies[0], studies, 3, &roofs);
    assert_false(roofs.bytes_measured); /* another card's of that name */
    for (int i = 0; i < 3; i++)
        study_release(&studies[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_of_measurements),
        cmocka_unit_test(test_page_needs_nothing_else),
        cmocka_unit_test(test_every_chart_has_its_plot),
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_several_studies_have_an_overview),
        cmocka_unit_test(test_static_mode_has_no_times),
        cmocka_unit_test(test_studies_with_little_in_them),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_charts_need_no_other_program),
        cmocka_unit_test(test_the_same_in_any_locale),
        cmocka_unit_test(test_style_has_every_colour),
        cmocka_unit_test(test_the_winner_is_compared_with_the_roof_that_limits_it),
        cmocka_unit_test(test_roofs_are_theoretical_until_they_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
