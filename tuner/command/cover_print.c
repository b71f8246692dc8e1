#include "command/cover_print.h"

#include "base/alloc.h"
#include "base/text_table.h"
#include "template/value_list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 120 };

static void __attribute__((format(printf, 2, 3)))
add_cell(struct text_table *table, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_table_cell(table, text);
}

static void add_columns(struct text_table *table, const char *const *headings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_table_column(table, headings[i], TABLE_RIGHT);
}

char *cover_print_range(const struct cover_session *session)
{
    const struct sweep_cover *cover = &session->range.kernel->cover;
    char *fixed = bindings_text(&session->range.fixed);
    char *text = alloc_string("");
    for (size_t i = 0; i < cover->axis_count; i++)
        alloc_append(&text, "%s = %" PRId64 " .. %" PRId64 ", ", cover->axes[i].name,
                     cover->axes[i].low, cover->axes[i].high);
    alloc_append(&text, "%s%s%s L2 cache", fixed, fixed[0] != '\0' ? ", " : "",
                 cover_session_study(session)->cache);
    free(fixed);
    return text;
}

static void print_heading(const struct cover_session *session)
{
    char *range = cover_print_range(session);
    printf("%s on %s: %s\n", session->kernel, cover_session_study(session)->environment.gpu.name,
           range);
    free(range);
    printf("%zu candidate%s measured at %zu size%s\n\n", session->nominees.count,
           session->nominees.count == 1 ? "" : "s", session->sizes.count,
           session->sizes.count == 1 ? "" : "s");
}

const struct selection_option *cover_print_option(const struct cover_session *session)
{
    return &session->selection.options[session->selection.best];
}

static void print_options(const struct cover_session *session)
{
    static const char *const headings[] = {"configurations", "mean loss %", "worst loss %",
                                           "expected: mean", "worst loss %"};
    struct text_table *table = text_table_new();
    add_columns(table, headings, sizeof headings / sizeof *headings);
    text_table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < session->selection.count; i++) {
        const struct selection_option *option = &session->selection.options[i];
        add_cell(table, "%zu", option->count);
        add_cell(table, "%.2f", loss_percent(option->least.mean));
        add_cell(table, "%.2f", loss_percent(option->least.worst));
        add_cell(table, "%.2f", loss_percent(option->expected.mean));
        add_cell(table, "%.2f", loss_percent(option->expected.worst));
        text_table_cell(table, i == session->selection.best ? "chosen" : "");
    }
    puts("How many configurations, and how much loss: with the fastest of them at each measured "
         "size,\nand at sizes that were left out, by the others");
    text_table_print(table, WIDTH, stdout);
    text_table_free(table);
    putchar('\n');
    for (size_t i = 0; i < cover_print_option(session)->count; i++) {
        char *text =
            bindings_text(&session->nominees.items[cover_print_option(session)->chosen[i]]);
        printf("configuration %zu: %s\n", i + 1, text);
        free(text);
    }
    puts("rule: for a problem, the configuration that is expected to be the fastest, by its times "
         "at "
         "the nearest\nmeasured sizes\n");
}

static void print_sizes(const struct cover_session *session)
{
    static const char *const headings[] = {"configuration", "median us", "loss %", "left out %"};
    const struct selection_option *option = cover_print_option(session);
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < session->sizes.axes; i++)
        text_table_column(table, session->range.kernel->cover.axes[i].name, TABLE_RIGHT);
    add_columns(table, headings, sizeof headings / sizeof *headings);
    for (size_t size = 0; size < session->sizes.count; size++) {
        size_t fastest = selection_fastest(option, &session->losses, size);
        size_t candidate = option->chosen[fastest];
        double time_ns = session->times_ns[candidate * session->sizes.count + size];
        for (size_t i = 0; i < session->sizes.axes; i++)
            add_cell(table, "%" PRId64, sizes_at(&session->sizes, size)[i]);
        add_cell(table, "%zu", fastest + 1);
        if (time_ns > 0)
            add_cell(table, "%.2f", time_ns * 1e-3);
        else
            text_table_cell(table, "failed");
        add_cell(table, "%.2f", loss_percent(losses_of(&session->losses, candidate, size)));
        add_cell(table, "%.2f", loss_percent(option->expected_at[size]));
    }
    text_table_print(table, WIDTH, stdout);
    text_table_free(table);
}

/* The sizes that the cover knows nothing of. */
static void print_left_out(const struct cover_session *session)
{
    const struct sizes *sizes = &session->left_out;
    if (sizes->count > 0)
        puts("\nnothing could be measured at");
    for (size_t i = 0; i < sizes->count; i++)
        for (size_t j = 0; j < sizes->axes; j++)
            printf("%s%s=%" PRId64 "%s", j == 0 ? "  " : " ",
                   session->range.kernel->cover.axes[j].name, sizes_at(sizes, i)[j],
                   j + 1 == sizes->axes ? "\n" : "");
}

/* Whether it has a time at some size: otherwise, nobody expects it in the cover. */
static bool is_measured(const struct cover_session *session, const struct bindings *parameters)
{
    bool measured = false;
    for (size_t i = 0; i < session->sizes.count && !measured; i++) {
        const struct study *study = &session->tuned[i];
        for (size_t j = 0; j < study->result_count && !measured; j++)
            measured = study_run(study, &study->results[j])->outcome == OUTCOME_MEASURED &&
                       bindings_equal(&study->results[j].parameters, parameters);
    }
    return measured;
}

static void print_refuted(const struct cover_session *session)
{
    enum { MOST = 20 };
    size_t count = 0;
    for (size_t i = 0; i < session->refuted.count; i++) {
        if (!is_measured(session, &session->refuted.items[i]))
            continue;
        if (count == 0)
            puts("\nnot shipped, because they were wrong, crashed or hung in the range:");
        char *text = bindings_text(&session->refuted.items[i]);
        if (count++ < MOST)
            printf("  %s: %s\n", text, session->refutations[i]);
        free(text);
    }
    if (count > MOST)
        printf("  and %zu more\n", count - MOST);
}

void cover_print(const struct cover_session *session)
{
    const struct loss expected = cover_print_option(session)->expected;
    print_heading(session);
    print_options(session);
    print_sizes(session);
    printf("\nexpected loss at sizes that were not measured: %.2f %% in the mean, %.2f %% at worst "
           "(from %zu sizes left out)\n",
           loss_percent(expected.mean), loss_percent(expected.worst), session->sizes.count);
    print_left_out(session);
    print_refuted(session);
}
