#include "command/cover_print.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/text_table.h"
#include "cover/entry.h"
#include "report/cover_page.h"
#include "template/value_list.h"

#include <inttypes.h>
#include <math.h>
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
    char *range = range_text(session);
    printf("%s on %s: %s\n", session->kernel, cover_session_study(session)->environment.gpu.name,
           range);
    free(range);
    printf("%zu candidate%s measured at %zu size%s\n\n", session->nominees.count,
           session->nominees.count == 1 ? "" : "s", session->sizes.count,
           session->sizes.count == 1 ? "" : "s");
}

static const struct selection_option *best_of(const struct cover_session *session)
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
    for (size_t i = 0; i < best_of(session)->count; i++) {
        char *text = bindings_text(&session->candidates.items[best_of(session)->chosen[i]]);
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
    const struct selection_option *option = best_of(session);
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
    const struct loss expected = best_of(session)->expected;
    print_heading(session);
    print_options(session);
    print_sizes(session);
    printf("\nexpected loss at sizes that were not measured: %.2f %% in the mean, %.2f %% at worst "
           "(from %zu sizes left out)\n",
           loss_percent(expected.mean), loss_percent(expected.worst), session->sizes.count);
    print_left_out(session);
    print_refuted(session);
}

/* --- the page --- */

/* "512 x 64"; a new string. */
static char *size_text(const struct cover_session *session, size_t size)
{
    char *text = NULL;
    for (size_t i = 0; i < session->sizes.axes; i++)
        alloc_append(&text, "%s%" PRId64, i > 0 ? " x " : "", sizes_at(&session->sizes, size)[i]);
    return text;
}

static const struct cover_axis *axis_of(const struct cover_session *session, size_t axis)
{
    return &session->range.kernel->cover.axes[axis];
}

/* The whole number at place `index` of `count`, from the low end of the axis to the high one. */
static double value_at(const struct cover_axis *axis, size_t index, size_t count)
{
    double share = count > 1 ? (double)index / (double)(count - 1) : 0.5;
    return round((double)axis->low * pow((double)axis->high / (double)axis->low, share));
}

static char *end_text(const struct cover_axis *axis, int64_t value)
{
    return alloc_format("%s = %" PRId64, axis->name, value);
}

/* What the cover chooses over its range. Further problem values than three have the middle of their ranges. */
static void fill_picture(const struct cover_session *session, const struct tuned_entry *entry,
                         struct cover_picture *picture)
{
    enum { DRAWN = 3 };
    const size_t axes = session->sizes.axes;
    const size_t counts[DRAWN] = {COVER_PICTURE_COLUMNS, picture->rows, picture->slices};
    const size_t total = counts[0] * counts[1] * counts[2];
    struct value problem[COVER_VALUES];
    struct cover_choice choice;
    picture->choices = alloc_zeroed(total, sizeof *picture->choices);
    problem[axes] = value_integer(entry->sm_count);
    for (size_t place = 0; place < total; place++) {
        size_t rest = place;
        for (size_t axis = 0; axis < axes; axis++) {
            size_t count = axis < DRAWN ? counts[axis] : 1;
            problem[axis] =
                value_integer((int64_t)value_at(axis_of(session, axis), rest % count, count));
            rest /= count;
        }
        bool chosen =
            cover_has(entry->cover, problem) && cover_choose(entry->cover, problem, &choice);
        picture->choices[place] = chosen ? choice.configuration : COVER_PICTURE_OUTSIDE;
    }
}

static void name_ends(const struct cover_session *session, struct cover_picture *picture)
{
    const struct cover_axis *column = axis_of(session, 0);
    picture->column_low = end_text(column, column->low);
    picture->column_high = end_text(column, column->high);
    if (picture->rows > 1) {
        picture->row_low = end_text(axis_of(session, 1), axis_of(session, 1)->low);
        picture->row_high = end_text(axis_of(session, 1), axis_of(session, 1)->high);
    }
    for (size_t i = 0; i < picture->slices && picture->slices > 1; i++)
        picture->slice_names[i] = end_text(
            axis_of(session, 2), (int64_t)value_at(axis_of(session, 2), i, picture->slices));
}

static void fill_options(const struct selection *selection,
                         struct cover_page_option options[CHOICE_LIMIT])
{
    for (size_t i = 0; i < selection->count; i++) {
        const struct selection_option *option = &selection->options[i];
        options[i] = (struct cover_page_option){
            option->count, loss_percent(option->least.mean), loss_percent(option->least.worst),
            loss_percent(option->expected.mean), loss_percent(option->expected.worst)};
    }
}

int cover_print_page(const struct cover_session *session, const struct tuned_entry *entry,
                     const char *path, struct error *error)
{
    const struct selection_option *best = best_of(session);
    const struct losses *losses = &session->losses;
    const size_t candidates = session->candidates.count;
    const size_t sizes = session->sizes.count;
    struct cover_page_option options[CHOICE_LIMIT];
    struct cover_picture picture = {.configurations = best->count,
                                    .rows = session->sizes.axes > 1 ? COVER_PICTURE_ROWS : 1,
                                    .slices = session->sizes.axes > 2 ? COVER_PICTURE_SLICES : 1};
    char **names = alloc_zeroed(candidates, sizeof *names);
    char **size_names = alloc_zeroed(sizes, sizeof *size_names);
    size_t *numbers = alloc_zeroed(candidates, sizeof *numbers);
    size_t *choices = alloc_zeroed(sizes, sizeof *choices);
    double *lost = alloc_zeroed(candidates * sizes, sizeof *lost);
    char *title = alloc_format("%s on %s", session->kernel,
                               cover_session_study(session)->environment.gpu.name);
    char *range = range_text(session);
    for (size_t i = 0; i < candidates; i++)
        names[i] = bindings_text(&session->candidates.items[i]);
    for (size_t i = 0; i < best->count; i++)
        numbers[best->chosen[i]] = i + 1;
    for (size_t i = 0; i < candidates * sizes; i++)
        lost[i] = losses->values[i] < LOSS_FAILED ? loss_percent(losses->values[i]) : NAN;
    for (size_t i = 0; i < sizes; i++) {
        size_names[i] = size_text(session, i);
        choices[i] = best->chosen[selection_fastest(best, losses, i)];
    }
    fill_options(&session->selection, options);
    fill_picture(session, entry, &picture);
    name_ends(session, &picture);
    const struct cover_page page = {.title = title,
                                    .range = range,
                                    .options = options,
                                    .option_count = session->selection.count,
                                    .shipped = session->selection.best,
                                    .candidates = names,
                                    .numbers = numbers,
                                    .candidate_count = candidates,
                                    .sizes = size_names,
                                    .size_count = sizes,
                                    .losses = lost,
                                    .choices = choices,
                                    .picture = &picture};
    int status = cover_page_write(path, &page, error);
    cover_picture_release(&picture);
    text_split_release(names, candidates);
    text_split_release(size_names, sizes);
    free(numbers);
    free(choices);
    free(lost);
    free(title);
    free(range);
    return status;
}
