#include "command/cover_print.h"

#include "base/alloc.h"
#include "base/text_table.h"
#include "command/cover_chart.h"
#include "command/cover_tuned.h"
#include "report/cover_page.h"
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

/* "n = 65536 .. 1073741824, value_type=float, cold L2 cache"; a new string. */
static char *range_text(const struct cover_session *session)
{
    const struct sweep_cover *cover = &session->range.kernel->cover;
    char *fixed = bindings_text(&session->range.fixed);
    char *text = alloc_string("");
    for (size_t i = 0; i < cover->axis_count; i++) {
        char *longer = alloc_format("%s%s = %" PRId64 " .. %" PRId64 ", ", text,
                                    cover->axes[i].name, cover->axes[i].low, cover->axes[i].high);
        free(text);
        text = longer;
    }
    char *whole = alloc_format("%s%s%s%s L2 cache", text, fixed, fixed[0] != '\0' ? ", " : "",
                               cover_session_study(session)->cache);
    free(fixed);
    free(text);
    return whole;
}

static void print_heading(const struct cover_session *session)
{
    char *range = range_text(session);
    printf("%s on %s: %s\n", session->kernel, cover_session_study(session)->environment.gpu.name,
           range);
    free(range);
    printf("%zu candidate%s measured at %zu size%s\n\n", session->nominees.count,
           session->nominees.count == 1 ? "" : "s", session->sizes.count,
           session->sizes.count == 1 ? "" : "s");
}

static void add_loss(struct text_table *table, struct loss loss)
{
    add_cell(table, "%.2f", loss_percent(loss.mean));
    add_cell(table, "%.2f", loss_percent(loss.worst));
}

static void print_options(const struct cover_session *session)
{
    static const char *const headings[] = {"configurations", "mean loss %", "worst loss %",
                                           "rule: lines",    "mean loss %", "worst loss %",
                                           "expected: mean", "worst loss %"};
    const struct cover *cover = &session->cover;
    struct text_table *table = text_table_new();
    add_columns(table, headings, sizeof headings / sizeof *headings);
    text_table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < cover->count; i++) {
        const struct cover_option *option = &cover->options[i];
        add_cell(table, "%zu", option->count);
        add_loss(table, option->least);
        add_cell(table, "%zu", option->rule.count);
        add_loss(table, option->fitted);
        add_loss(table, option->expected);
        text_table_cell(table, i == cover->best ? "chosen" : "");
    }
    puts("How many configurations, and how much loss: with the best of them at each measured size, "
         "with\nthe rule, and with the rule at sizes that were left out while it was learnt");
    text_table_print(table, WIDTH, stdout);
    text_table_free(table);
    putchar('\n');
}

static void print_rule(const struct cover_session *session, const struct cover_option *option)
{
    struct tuned_entry entry;
    for (size_t i = 0; i < option->count; i++) {
        char *text = bindings_text(&session->candidates.items[option->chosen[i]]);
        printf("configuration %zu: %s\n", i + 1, text);
        free(text);
    }
    cover_tuned_entry(session, &entry);
    for (size_t i = 0; i < entry.cover->line_count; i++) {
        const struct cover_line *line = &entry.cover->lines[i];
        printf("rule %zu: %zu%s%s\n", i + 1, line->configuration + 1,
               line->condition != NULL ? " if " : "",
               line->condition != NULL ? line->condition : "");
    }
    tuned_entry_release(&entry);
    putchar('\n');
}

static void add_size(struct text_table *table, const struct cover_session *session,
                     const struct cover_option *option, size_t size)
{
    size_t choice = rule_decide(&option->rule, &session->features, size);
    size_t candidate = option->chosen[choice];
    double time_ns = session->times_ns[candidate * session->sizes.count + size];
    for (size_t i = 0; i < session->sizes.axes; i++)
        add_cell(table, "%" PRId64, sizes_at(&session->sizes, size)[i]);
    add_cell(table, "%zu", choice + 1);
    if (time_ns > 0)
        add_cell(table, "%.2f", time_ns * 1e-3);
    else
        text_table_cell(table, "failed");
    add_cell(table, "%.2f", loss_percent(losses_of(&session->losses, candidate, size)));
    add_cell(table, "%.2f", loss_percent(option->expected_at[size]));
}

static void print_sizes(const struct cover_session *session, const struct cover_option *option)
{
    static const char *const headings[] = {"configuration", "median us", "loss %", "left out %"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < session->sizes.axes; i++)
        text_table_column(table, session->range.kernel->cover.axes[i].name, TABLE_RIGHT);
    add_columns(table, headings, sizeof headings / sizeof *headings);
    for (size_t i = 0; i < session->sizes.count; i++)
        add_size(table, session, option, i);
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

static void print_lacks(const struct cover_session *session)
{
    if (session->no_room.message[0] != '\0')
        printf("\nmore configurations do not fit into the tuned INI: %s\n",
               session->no_room.message);
    if (session->no_figures.message[0] != '\0')
        printf("\nthe rule knows nothing of the launches: %s\n", session->no_figures.message);
}

void cover_print(const struct cover_session *session)
{
    const struct cover_option *option = &session->cover.options[session->cover.best];
    print_heading(session);
    print_options(session);
    print_rule(session, option);
    print_sizes(session, option);
    printf("\nexpected loss at sizes that were not measured: %.2f %% in the mean, %.2f %% at worst "
           "(from %zu sizes left out)\n",
           loss_percent(option->expected.mean), loss_percent(option->expected.worst),
           session->sizes.count);
    print_left_out(session);
    print_refuted(session);
    print_lacks(session);
}

/* --- the page --- */

/* "512 x 64"; a new string. */
static char *size_text(const struct cover_session *session, size_t size)
{
    char *text = NULL;
    for (size_t i = 0; i < session->sizes.axes; i++) {
        int64_t value = sizes_at(&session->sizes, size)[i];
        char *longer = text != NULL ? alloc_format("%s x %" PRId64, text, value)
                                    : alloc_format("%" PRId64, value);
        free(text);
        text = longer;
    }
    return text;
}

int cover_print_page(const struct cover_session *session, const char *path, struct error *error)
{
    char **candidates = alloc_zeroed(session->candidates.count, sizeof *candidates);
    char **sizes = alloc_zeroed(session->sizes.count, sizeof *sizes);
    char *title = alloc_format("%s on %s", session->kernel,
                               cover_session_study(session)->environment.gpu.name);
    char *range = range_text(session);
    struct cover_picture picture;
    struct tuned_entry entry;
    int status = cover_chart(session, &picture, error);
    for (size_t i = 0; i < session->candidates.count; i++)
        candidates[i] = bindings_text(&session->candidates.items[i]);
    for (size_t i = 0; i < session->sizes.count; i++)
        sizes[i] = size_text(session, i);
    cover_tuned_entry(session, &entry);
    const struct cover_page page = {.title = title,
                                    .range = range,
                                    .cover = &session->cover,
                                    .losses = &session->losses,
                                    .features = &session->features,
                                    .lines = entry.cover->lines,
                                    .line_count = entry.cover->line_count,
                                    .candidates = candidates,
                                    .picture = &picture,
                                    .sizes = sizes};
    if (status == 0)
        status = cover_page_write(path, &page, error);
    cover_picture_release(&picture);
    tuned_entry_release(&entry);
    text_split_release(candidates, session->candidates.count);
    text_split_release(sizes, session->sizes.count);
    free(title);
    free(range);
    return status;
}
