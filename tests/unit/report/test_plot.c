#include "report/plot.h"
#include "report/plot_axis.h"
#include "report/plot_svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As gnuplot 5.4 writes it. */
static const char document[] =
    "<svg \n width=\"480\" height=\"320\"\n viewBox=\"0 0 480 320\"\n"
    " xmlns=\"http://www.w3.org/2000/svg\"\n>\n\n<title>Gnuplot</title>\n"
    "<desc>Produced by GNUPLOT 5.4 patchlevel 4 </desc>\n\n<g id=\"gnuplot_canvas\">\n\n"
    "<rect x=\"0\" y=\"0\" width=\"480\" height=\"320\" fill=\"none\"/>\n"
    "<defs>\n\n\t<circle id='gpDot' r='0.5'/>\n</defs>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" "
    "stroke-linecap=\"butt\" stroke-linejoin=\"miter\">\n</g>\n"
    "\t<g id=\"gnuplot_plot_1\" ><title>$plain</title>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" "
    "stroke-linecap=\"butt\" stroke-linejoin=\"miter\">\n"
    "\t<use xlink:href='#gpPt6' transform='translate(148.38,141.34) scale(3.15)' "
    "color='rgb(  1,   0,   4)'/>\n"
    "\t<use xlink:href='#gpPt6' transform='translate(12.00,7.26) scale(3.15)' "
    "color='rgb(  1,   0,   4)'/>\n"
    "\t<use xlink:href='#gpPt6' transform='translate(9.00,8.00) scale(6.00)' "
    "color='rgb(  1,   0,   6)'/>\n"
    "\t<path stroke='rgb(  1,   0,   5)'  d='M1,2 L3,4\n\t\tL5,6  '/>"
    "\t<path stroke='rgb(  1,   0,   3)' class=\"gridline\"  d='M84.63,245.00 L450.62,245.00  '/>\n"
    "</g>\n<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" "
    "stroke-linecap=\"butt\" stroke-linejoin=\"miter\">\n"
    "\t<path stroke='rgb(  1,   0,   2)'  d='M84.63,245.00  '/>\n"
    "\t<g transform=\"translate(74.84,249.55)\" stroke=\"none\" fill=\"rgb(1,0,1)\" "
    "font-family=\"sans-serif\" font-size=\"14.00\"  text-anchor=\"end\">\n"
    "\t\t<text>62.5</text>\n\t</g>\n"
    "\t<g transform=\"translate(9,8)\" stroke=\"none\" fill=\"rgb(1,0,1)\" "
    "font-family=\"sans-serif\" font-size=\"14.00\"  text-anchor=\"end\">\n"
    "\t\t<text><tspan font-family=\"sans-serif\" > 0.5</tspan></text>\n\t</g>\n</g>\n"
    "\t</g>\n</g>\n";

static void test_svg_fits_a_page(void **state)
{
    (void)state;
    char *svg = plot_svg_inline(document, "a < \"b\"");
    assert_string_equal(svg,
                        "<svg class=\"plot\" viewBox=\"0 0 480 320\" role=\"img\" "
                        "aria-label=\"a &#60; &#34;b&#34;\"><g><g><g class=\"g\">"
                        "<path class=\"dots\" stroke-width=\"6.3\" d=\"m148 141h0m-136-134h0\"/>"
                        "<circle class=\"p-winner\" cx=\"9.0\" cy=\"8.0\" r=\"6.0\"/>"
                        "<path stroke='var(--plot-accent)'  d='M1,2 L3,4 L5,6'/>"
                        "<path class=\"p-gridline\" d='M84.6,245.0 L450.6,245.0'/>"
                        "<text class=\"p-end\" x=\"74.8\" y=\"249.6\">62.5</text>"
                        "<g transform=\"translate(9,8)\" stroke=\"none\" "
                        "fill=\"var(--plot-muted)\"  text-anchor=\"end\"><text><tspan > "
                        "0.5</tspan></text></g></g></g></g></svg>");
    free(svg);
}

static void test_svg_that_is_cut_stays_within_its_bytes(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof document; length++) {
        char *cut = strndup(document, length);
        char *svg = plot_svg_inline(cut, "");
        assert_non_null(strstr(svg, "</svg>"));
        free(svg);
        free(cut);
    }
}

static void test_axes(void **state)
{
    (void)state;
    struct plot_axis axis = plot_axis_of(10, 39);
    assert_false(axis.log);
    assert_true(axis.low < 10 && axis.high > 39);
    axis = plot_axis_of(10, 40);
    assert_true(axis.log);
    assert_true(axis.low < 10 && axis.low > 5 && axis.high > 40 && axis.high < 80);
    axis = plot_axis_of(0, 40); /* no logarithm of 0 */
    assert_false(axis.log);
    axis = plot_axis_of(7, 7);
    assert_true(axis.low < 7 && axis.high > 7);
    axis = plot_axis_of(0, 0);
    assert_true(axis.low < axis.high);
}

static char *axis_script(struct plot_axis axis)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    plot_axis_write(&axis, 'x', "it's", stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void test_logarithmic_tics(void **state)
{
    (void)state;
    char *text = axis_script((struct plot_axis){.low = 9, .high = 60, .log = true});
    assert_non_null(strstr(text, "set xtics ('10' 10, '20' 20, '50' 50)\n"));
    assert_non_null(strstr(text, "set xlabel 'it''s' "));
    free(text);
    text = axis_script((struct plot_axis){.low = 30, .high = 300, .log = true, .binary = true});
    assert_non_null(strstr(text, "set xtics ('32' 32, '64' 64, '128' 128, '256' 256)\n"));
    free(text);
    text = axis_script((struct plot_axis){.low = 0.5, .high = 50000, .log = true});
    assert_non_null(strstr(text, "set xtics ('1' 1, '10' 10, '100' 100, '1000' 1000, "
                                 "'10000' 10000)\n"));
    free(text);
    /* as many as have room */
    text = axis_script((struct plot_axis){.low = 900, .high = 6e7, .log = true});
    assert_non_null(strstr(text, "set xtics ('1000' 1000, '10000' 10000, '100000' 100000, "
                                 "'1000000' 1000000, '10000000' 10000000)\n"));
    free(text);
    text = axis_script((struct plot_axis){.low = 1, .high = 1e8, .log = true});
    assert_non_null(strstr(text, "set xtics ('1' 1, '100' 100, '10000' 10000, "
                                 "'1000000' 1000000, '100000000' 100000000)\n"));
    free(text);
}

static void need_gnuplot(void)
{
    if (!plots_possible())
        skip();
}

static void test_plots_are_drawn_in_order(void **state)
{
    (void)state;
    need_gnuplot();
    struct plots plots;
    struct error error;
    plots_init(&plots);
    fputs("plot [0:1] x lc rgb c_winner\n", plots_add(&plots, "one"));
    fputs("plot [0:1] x*x lc rgb c_tie\n", plots_add(&plots, "two"));
    assert_int_equal(plots_draw(&plots, &error), 0);
    assert_int_equal(plots.count, 2);
    assert_non_null(strstr(plots.svgs[0], "aria-label=\"one\""));
    assert_non_null(strstr(plots.svgs[0], "var(--plot-winner)"));
    assert_null(strstr(plots.svgs[0], "var(--plot-tie)"));
    assert_non_null(strstr(plots.svgs[1], "aria-label=\"two\""));
    assert_non_null(strstr(plots.svgs[1], "var(--plot-tie)"));
    plots_release(&plots);
}

static void test_a_wrong_script_is_an_error(void **state)
{
    (void)state;
    need_gnuplot();
    struct plots plots;
    struct error error;
    plots_init(&plots);
    fputs("plot nonsense(\n", plots_add(&plots, "one"));
    assert_int_equal(plots_draw(&plots, &error), ERROR_RECORD);
    assert_non_null(strstr(error.message, "gnuplot failed: "));
    assert_non_null(strstr(error.message, "nonsense"));
    plots_release(&plots);
}

static void test_without_gnuplot(void **state)
{
    (void)state;
    struct plots plots;
    struct error error;
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_false(plots_possible());
    plots_init(&plots);
    fputs("plot x\n", plots_add(&plots, "one"));
    assert_int_equal(plots_draw(&plots, &error), ERROR_RECORD);
    assert_string_equal(error.message, "cannot start gnuplot: No such file or directory");
    plots_release(&plots);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg_fits_a_page),
        cmocka_unit_test(test_svg_that_is_cut_stays_within_its_bytes),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_logarithmic_tics),
        cmocka_unit_test(test_plots_are_drawn_in_order),
        cmocka_unit_test(test_a_wrong_script_is_an_error),
        cmocka_unit_test(test_without_gnuplot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
