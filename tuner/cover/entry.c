#include "cover/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cover.h"
#include "record/gpu.h"
#include "template/variant.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cover that is made line by line, as a reader of the tuned INI would. */
struct draft {
    const struct cover_session *session;
    struct cover *cover;
    int sm_count;
    struct ini_reader ini; /* for its message */
    int status;            /* of the first line that is refused */
};

/* Adds a line; takes over `key`. */
static void __attribute__((format(printf, 3, 4)))
add(struct draft *draft, char *key, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (draft->status == 0 && text != NULL &&
        strlen(key) + strlen(" = ") + strlen(text) > TUNED_LINE_BYTES)
        draft->status =
            ini_reader_fail(&draft->ini, "'%s = %.60s…' has more than %d bytes; make it shorter",
                            key, text, TUNED_LINE_BYTES);
    if (draft->status == 0)
        draft->status = text != NULL ? cover_add(draft->cover, &draft->ini, key, text)
                                     : ini_reader_no_memory(&draft->ini);
    free(text);
    free(key);
}

static void begin(struct draft *draft, const struct cover_session *session)
{
    const struct sweep_cover *range = &session->range.kernel->cover;
    const struct bindings *fixed = &session->range.fixed;
    *draft = (struct draft){.session = session, .cover = cover_new()};
    if (draft->cover == NULL)
        draft->status = ini_reader_no_memory(&draft->ini);
    for (size_t i = 0; i < fixed->count && draft->status == 0; i++) {
        char text[VALUE_TEXT_BYTES];
        struct literal literal;
        (void)value_exact_text(fixed->items[i].value, text);
        draft->status =
            literal_parse(text, &literal) != NULL
                ? ini_reader_fail(&draft->ini, "'%s' is not a value", text)
                : cover_fix(draft->cover, &draft->ini, fixed->items[i].name, text, &literal);
    }
    for (size_t i = 0; i < range->axis_count; i++)
        add(draft, alloc_format("range.%s", range->axes[i].name), "%" PRId64 " .. %" PRId64,
            range->axes[i].low, range->axes[i].high);
    char *constraint = problem_range_constraint(&session->range);
    if (constraint != NULL)
        add(draft, alloc_string("constraint"), "%s", constraint);
    free(constraint);
}

/* Checks the whole. Returns 0, or ERROR_CONFIG with what is wrong. */
static int finish(struct draft *draft, const char *path, int line, struct error *error)
{
    if (draft->status == 0)
        draft->status = cover_finish(draft->cover, &draft->ini, draft->sm_count);
    return draft->status == 0 ? 0
                              : error_set_at(error, ERROR_CONFIG, path, line,
                                             "the cover of '%s' cannot be written: %s",
                                             draft->session->kernel, draft->ini.message);
}

static void add_configuration(struct draft *draft, size_t index, const struct bindings *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        char text[VALUE_TEXT_BYTES];
        add(draft, alloc_format("configuration.%zu.%s", index + 1, parameters->items[i].name), "%s",
            value_exact_text(parameters->items[i].value, text));
    }
}

/* --- constraints that rule a configuration out at some sizes, such as n % vector_width == 0. The sizes that
 * were measured do not show where such a constraint holds --- */

/* The attributes that look-ups do not ask for: the number of SMs is that of the GPU at hand. */
static void fixed_attributes(const struct gpu *gpu, struct bindings *device)
{
    struct bindings all = {0};
    gpu_bindings(gpu, &all);
    for (size_t i = 0; i < all.count; i++)
        if (strcmp(all.items[i].name, "sm_count") != 0)
            bindings_set(device, all.items[i].name, all.items[i].value);
    bindings_release(&all);
}

/* Whether it names a value with a range or the number of SMs, and something that is not a value of the problem. */
static bool is_of_both(const struct sweep_kernel *kernel, const struct expression *constraint)
{
    bool ranges = expression_uses(constraint, "sm_count");
    bool others = false;
    for (size_t i = 0; i < kernel->cover.axis_count; i++)
        ranges = ranges || expression_uses(constraint, kernel->cover.axes[i].name);
    for (size_t i = 0; i < expression_name_count(constraint); i++)
        others = others ||
                 template_problem_value(&kernel->template, expression_name(constraint, i)) == NULL;
    return ranges && others;
}

/* Whether the constraint holds at every size and on every card, as far as that can be told without one. */
static bool always_holds(const struct cover_session *session, const struct expression *constraint,
                         const struct bindings *device, const struct bindings *parameters)
{
    bool result = false;
    const struct scope attributes = {.bindings = device};
    const struct scope values = {.bindings = &session->range.fixed, .outer = &attributes};
    const struct scope scope = {.bindings = parameters, .outer = &values};
    return expression_boolean(constraint, &scope, &result, NULL) == 0 && result;
}

/* The text of an expression on one line, with the values of the attributes in `device` in place of their names. A
 * new string. */
static char *plain_text(const char *expression, const struct bindings *device)
{
    char *text = alloc_string("");
    for (const char *at = expression; *at != '\0';) {
        char number[VALUE_TEXT_BYTES];
        const char *quote = *at == '"' ? strchr(at + 1, '"') : NULL;
        size_t length = quote != NULL ? (size_t)(quote + 1 - at) : 0;
        while (quote == NULL && (isalnum((unsigned char)at[length]) || at[length] == '_'))
            length++;
        char *part = alloc_string_n(at, length > 0 ? length : 1);
        const struct value *value = bindings_find(device, part);
        alloc_append(&text, "%s",
                     value != NULL                     ? value_exact_text(*value, number)
                     : isspace((unsigned char)part[0]) ? " "
                                                       : part);
        free(part);
        at += length > 0 ? length : 1;
    }
    return text;
}

/* Adds those that one of `count` configurations needs; all if `parameters` is NULL. */
static void add_allowed(struct draft *draft, const struct bindings *device,
                        const struct bindings *const *parameters, size_t count)
{
    const struct sweep_kernel *kernel = draft->session->range.kernel;
    size_t number = 0;
    for (size_t i = 0; i < kernel->constraint_count; i++) {
        const struct expression *constraint = kernel->constraints[i];
        bool needed = parameters == NULL;
        for (size_t j = 0; j < count && !needed; j++)
            needed = !always_holds(draft->session, constraint, device, parameters[j]);
        if (!needed || !is_of_both(kernel, constraint))
            continue;
        char *text = plain_text(expression_expanded(constraint), device); /* without figures */
        add(draft, alloc_format("allowed.%zu", ++number), "%s", text);
        free(text);
    }
}

/* Whether a text has a word. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    bool has = false;
    for (const char *at = text; (at = strstr(at, word)) != NULL && !has; at++)
        has = (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
              !(isalnum((unsigned char)at[length]) || at[length] == '_');
    return has;
}

/* Adds the template's estimate, and the figures that it needs. */
static void add_estimate(struct draft *draft, const struct bindings *device)
{
    const struct template *template = &draft->session->range.kernel->template;
    if (template->estimate == NULL)
        return;
    bool *needed = alloc_zeroed(template->figure_count + 1, sizeof *needed);
    for (size_t i = template->figure_count; i-- > 0;) {
        const char *name = template->figures[i].name;
        needed[i] = has_word(expression_text(template->estimate), name);
        for (size_t j = i + 1; j < template->figure_count; j++)
            needed[i] =
                needed[i] ||
                (needed[j] && has_word(expression_text(template->figures[j].expression), name));
    }
    for (size_t i = 0; i <= template->figure_count; i++) {
        bool is_figure = i < template->figure_count;
        if (is_figure && !needed[i])
            continue;
        char *text = plain_text(
            expression_text(is_figure ? template->figures[i].expression : template->estimate),
            device);
        add(draft,
            is_figure ? alloc_format("figure.%s", template->figures[i].name)
                      : alloc_string("estimate"),
            "%s", text);
        free(text);
    }
    free(needed);
}

/* The statistics of the nominee's main launch, from the first size at which it was run. */
static const struct kernel_stats *stats_of(const struct cover_session *session, size_t nominee)
{
    const struct bindings *parameters = &session->nominees.items[nominee];
    for (size_t i = 0; i < session->sizes.count; i++) {
        const struct study *study = &session->rounds[i];
        for (size_t j = 0; j < study->result_count; j++) {
            const struct result *result = study_run(study, &study->results[j]);
            if (result->stats.known && bindings_equal(&study->results[j].parameters, parameters))
                return &result->stats;
        }
    }
    return NULL;
}

/* Adds what the lines so far name. */
static void add_compiled(struct draft *draft, size_t index, size_t nominee)
{
    const struct kernel_stats *stats = stats_of(draft->session, nominee);
    const struct {
        const char *name;
        int value;
    } values[] = {{"registers", stats != NULL ? stats->registers : 0},
                  {"blocks_per_sm", stats != NULL ? stats->blocks_per_sm : 0}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        bool named = false;
        for (size_t j = 0; j < draft->cover->line_count; j++)
            named = named || has_word(draft->cover->lines[j].text, values[i].name);
        if (named && values[i].value > 0)
            add(draft, alloc_format("compiled.%zu.%s", index + 1, values[i].name), "%d",
                values[i].value);
    }
}

/* --- the check --- */

/* "m=64 n=128:"; a new string. */
static char *size_text(const struct sweep_cover *range, const int64_t *size)
{
    char *text = NULL;
    for (size_t i = 0; i < range->axis_count; i++)
        alloc_append(&text, "%s%s=%" PRId64, i > 0 ? " " : "", range->axes[i].name, size[i]);
    alloc_append(&text, ":");
    return text;
}

int cover_entry_check(const struct cover_session *session, struct error *error)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    struct bindings parameters = {0};
    struct bindings device = {0}; /* of any GPU, since the right one is not known yet */
    int64_t size[SWEEP_COVER_AXES];
    struct draft draft;
    struct gpu gpu;
    if (gpu_from_arch("sm_90", &gpu, error) == 0)
        fixed_attributes(&gpu, &device);
    variant_defaults(&kernel->template, &parameters);
    begin(&draft, session);
    for (size_t i = 0; i < kernel->cover.axis_count; i++)
        size[i] = kernel->cover.axes[i].high;
    char *text = size_text(&kernel->cover, size);
    for (size_t i = 0; i < session->configurations; i++) {
        add_configuration(&draft, i, &parameters);
        alloc_append(&text, " 1234.5");
    }
    add_allowed(&draft, &device, NULL, 0);
    add_estimate(&draft, &device);
    add(&draft, alloc_string("measured.1"), "%s us", text);
    int status = finish(&draft, session->config, kernel->cover.line, error);
    free(text);
    cover_free(draft.cover);
    bindings_release(&device);
    bindings_release(&parameters);
    return status;
}

/* --- the entry --- */

/* Of a tuned size, but with today's date, this run's command and the values that all problems have; what is for one
 * problem is not written. The cover is complete, though there was no time for that size's finals. */
static void fill_entry(const struct cover_session *session, struct tuned_entry *entry)
{
    struct study study = *cover_session_study(session); /* borrowed */
    clock_date(study.environment.date);
    study.environment.command = (char *)(uintptr_t)session->options.command;
    tuned_entry_from_study(&study, entry);
    free(entry->section);
    entry->section = NULL;
    entry->incomplete = false;
    bindings_copy(&entry->problem, &session->range.fixed);
}

/* "0.93": digits beyond what was measured would only be noise to the reader. Returns `text`. */
static char *rounded(double number, char text[VALUE_TEXT_BYTES])
{
    return value_exact_text(value_real(round(number * 100) / 100), text);
}

/* Adds a size, unless none of the configurations has a time there. */
static void add_size(struct draft *draft, const struct selection_option *option, size_t size,
                     size_t *number)
{
    const struct cover_session *session = draft->session;
    const struct sweep_cover *range = &session->range.kernel->cover;
    bool measured = false;
    char *text = size_text(range, sizes_at(&session->sizes, size));
    for (size_t i = 0; i < option->count; i++) {
        double time_ns = session->times_ns[option->chosen[i] * session->sizes.count + size];
        measured = measured || time_ns > 0;
        if (time_ns > 0)
            alloc_append(&text, time_ns < 1e7 ? " %.5g" : " %.0f", time_ns * 1e-3);
        else
            alloc_append(&text, "%s",
                         time_ns > TIME_FAILED || time_ns < TIME_FAILED ? " -" : " failed");
    }
    if (measured)
        add(draft, alloc_format("measured.%zu", ++*number), "%s us", text);
    free(text);
}

/* The cover's own lines, but for its sizes and losses, with these nominees. */
static void describe(struct draft *draft, const struct cover_session *session, const size_t *chosen,
                     size_t count)
{
    const struct gpu *gpu = &cover_session_study(session)->environment.gpu;
    const struct bindings *parameters[COVER_CONFIGURATIONS] = {NULL};
    struct bindings device = {0};
    fixed_attributes(gpu, &device);
    begin(draft, session);
    draft->sm_count = (int)gpu->attributes[GPU_sm_count];
    for (size_t i = 0; i < count; i++) {
        parameters[i] = &session->nominees.items[chosen[i]];
        add_configuration(draft, i, parameters[i]);
    }
    add_allowed(draft, &device, parameters, count);
    add_estimate(draft, &device);
    for (size_t i = 0; i < count && draft->cover != NULL; i++)
        add_compiled(draft, i, chosen[i]);
    bindings_release(&device);
}

double *cover_entry_estimates(const struct cover_session *session)
{
    const size_t sizes = session->sizes.count;
    const size_t axes = session->sizes.axes;
    const size_t nominees = session->nominees.count;
    double *estimates = alloc_zeroed(nominees * sizes, sizeof *estimates);
    size_t all[COVER_CONFIGURATIONS] = {0};
    struct value problem[COVER_VALUES];
    struct error unused;
    struct draft draft;
    for (size_t i = 0; i < nominees; i++)
        all[i] = i;
    describe(&draft, session, all, nominees);
    char *text = size_text(&session->range.kernel->cover, sizes_at(&session->sizes, 0));
    for (size_t i = 0; i < nominees; i++)
        alloc_append(&text, " 1");
    alloc_append(&text, " us");
    if (draft.status == 0) /* a line of any length: it is not written */
        draft.status = cover_add(draft.cover, &draft.ini, "measured.1", text);
    bool finished = finish(&draft, session->config, 0, &unused) == 0;
    problem[axes] = value_integer(draft.sm_count);
    for (size_t size = 0; size < sizes && finished; size++) {
        for (size_t i = 0; i < axes; i++)
            problem[i] = value_integer(sizes_at(&session->sizes, size)[i]);
        for (size_t i = 0; i < nominees; i++)
            estimates[i * sizes + size] = cover_estimate(draft.cover, i, problem);
    }
    free(text);
    cover_free(draft.cover);
    return estimates;
}

int cover_entry_make(const struct cover_session *session, struct tuned_entry *entry,
                     struct error *error)
{
    const struct selection_option *option = &session->selection.options[session->selection.best];
    struct draft draft;
    char text[VALUE_TEXT_BYTES];
    size_t sizes = 0;
    fill_entry(session, entry);
    describe(&draft, session, option->chosen, option->count);
    if (session->sizes.count >= SIZES_HELD_OUT) {
        add(&draft, alloc_string("mean_loss_percent"), "%s",
            rounded(loss_percent(option->expected.mean), text));
        add(&draft, alloc_string("worst_loss_percent"), "%s",
            rounded(loss_percent(option->expected.worst), text));
        add(&draft, alloc_string("held_out_sizes"), "%zu", session->sizes.count);
    }
    for (size_t i = 0; i < session->sizes.count; i++)
        add_size(&draft, option, i, &sizes);
    entry->cover = draft.cover;
    return finish(&draft, session->config, session->range.kernel->cover.line, error);
}
