#include "command/cover_tuned.h"

#include "base/alloc.h"
#include "command/cover_conditions.h"
#include "command/cover_draft.h"
#include "command/cover_figures.h"
#include "cover/rule_text.h"
#include "record/cover_choice.h"
#include "record/cover_entry.h"
#include "record/gpu.h"
#include "record/tuned_file.h"

#include <math.h>
#include <stdlib.h>

/* Whether a line looks at a launch. */
static bool needs_figures(const struct rule *rule, const struct features *features)
{
    bool needs = false;
    for (size_t i = 0; i < rule->count; i++)
        for (size_t j = 0; j < rule->lines[i].test_count; j++)
            needs = needs || features->items[rule->lines[i].tests[j].feature].configuration !=
                                 FEATURE_OF_ALL;
    return needs;
}

/* The name of part `part` of the estimate of configuration `number`; a new string. */
static char *estimate_name(size_t number, size_t part)
{
    return part > 0 ? alloc_format("rest_%zu_%zu", number, part) : alloc_format("time_%zu", number);
}

/* Adds a part of an estimate, which the part before it names. */
static void add_part(struct cover_entry *cover, const struct cover_session *session,
                     const struct time_model *model, size_t number, size_t part, size_t terms)
{
    size_t from = part * terms;
    size_t to = from + terms < model->count ? from + terms : model->count;
    char *name = estimate_name(number, part);
    char *next = estimate_name(number, part + 1);
    char *sum = time_model_text(model, &session->basis, from, to);
    char *text = to < model->count ? alloc_format("%s + %s", sum, next) : alloc_string(sum);
    cover_entry_add_figure(cover, name, text);
    free(text);
    free(sum);
    free(next);
    free(name);
}

/* The estimates that a rule compares are figures of their own, in parts, since lines have to be
 * short: time_1 and, above it, rest_1_1 and rest_1_2. */
static void add_estimates(struct cover_entry *cover, const struct cover_session *session,
                          const struct cover_option *option)
{
    enum { TERMS_PER_PART = 2 };
    const struct rule_line *first = &option->rule.lines[0];
    if (first->test_count == 0 || !first->tests[0].against)
        return;
    for (size_t i = 0; i < option->count; i++) {
        const struct time_model *model = &option->models[i];
        size_t parts = (model->count + TERMS_PER_PART - 1) / TERMS_PER_PART;
        for (size_t part = parts; part-- > 0;)
            add_part(cover, session, model, i + 1, part, TERMS_PER_PART);
    }
}

/* --- the rule --- */

/* Adds a line; takes over `condition`. If the constraints do not allow the configuration everywhere,
 * the line asks whether they do. Returns whether it always decides. */
static bool add_line(struct cover_entry *cover, const struct cover_session *session,
                     const struct bindings *device, size_t configuration, char *condition)
{
    const struct bindings *parameters = &cover->configurations[configuration].parameters;
    bool applies = cover_conditions_apply(session, device, parameters);
    bool always = condition == NULL && !applies;
    char *text = !applies || always  ? alloc_format("%s", condition != NULL ? condition : "")
                 : condition != NULL ? alloc_format("%s and allowed > 0", condition)
                                     : alloc_string("allowed > 0");
    cover_entry_add_line(cover, configuration, always ? NULL : text);
    free(condition);
    free(text);
    return always;
}

/* Takes those problems out of the range at which no configuration is allowed. */
static void limit_range(struct cover_entry *cover)
{
    char *any = alloc_string("allowed(1)");
    for (size_t i = 1; i < cover->configuration_count; i++) {
        char *longer = alloc_format("%s, allowed(%zu)", any, i + 1);
        free(any);
        any = longer;
    }
    char *limited = alloc_format(cover->configuration_count > 1 ? "%s%smax(%s) > 0" : "%s%s%s > 0",
                                 cover->constraint != NULL ? cover->constraint : "",
                                 cover->constraint != NULL ? " and " : "", any);
    free(cover->constraint);
    free(any);
    cover->constraint = limited;
}

/* Lines for problems at which the last configuration of the rule is not allowed. */
static void add_others(struct cover_entry *cover, const struct cover_session *session,
                       const struct bindings *device)
{
    size_t last = cover->lines[cover->line_count - 1].configuration;
    for (size_t i = 0; i < cover->configuration_count; i++)
        if (i != last && add_line(cover, session, device, i, NULL))
            return;
    limit_range(cover);
    cover_entry_add_line(cover, last, NULL);
}

static void add_rule(struct cover_entry *cover, const struct cover_session *session,
                     const struct cover_option *option)
{
    struct bindings device = {0};
    bool always = false;
    gpu_bindings(&cover_session_study(session)->environment.gpu, &device);
    if (needs_figures(&option->rule, &session->features))
        cover_figures_add(cover, session, option->chosen, option->count);
    add_estimates(cover, session, option);
    cover_conditions_add(cover, session, &device, false);
    for (size_t i = 0; i < option->rule.count; i++) {
        const struct rule_line *line = &option->rule.lines[i];
        char *text = rule_text(line, &session->features, option->chosen, option->count);
        always = add_line(cover, session, &device, line->configuration, text);
    }
    if (!always)
        add_others(cover, session, &device);
    bindings_release(&device);
}

/* The fastest of the option's configurations at a size; option->count if all failed. */
static size_t fastest_at(const struct cover_session *session, const struct cover_option *option,
                         size_t size)
{
    size_t fastest = option->count;
    double least_ns = INFINITY;
    for (size_t i = 0; i < option->count; i++) {
        double time_ns = session->times_ns[option->chosen[i] * session->sizes.count + size];
        if (time_ns <= 0 || time_ns >= least_ns)
            continue;
        least_ns = time_ns;
        fastest = i;
    }
    return fastest;
}

/* Digits beyond what was measured would only be noise to the reader. */
static double rounded(double number, double unit)
{
    return round(number / unit) / round(1 / unit);
}

static void add_size(struct cover_entry *cover, const struct cover_session *session,
                     const struct cover_option *option, size_t size)
{
    struct bindings problem = {0};
    size_t fastest = fastest_at(session, option, size);
    size_t choice = option->chosen[rule_decide(&option->rule, &session->features, size)];
    if (fastest == option->count)
        return;
    double time_ns = session->times_ns[option->chosen[fastest] * session->sizes.count + size];
    double percent = loss_percent(losses_of(&session->losses, choice, size));
    problem_range_bind(&session->range, sizes_at(&session->sizes, size), &problem);
    cover_entry_add_size(cover, &problem, fastest, rounded(time_ns, 0.1), rounded(percent, 0.01));
    bindings_release(&problem);
}

void cover_tuned_entry(const struct cover_session *session, struct tuned_entry *entry)
{
    const struct cover_option *option = &session->cover.options[session->cover.best];
    cover_draft_begin(entry, session);
    for (size_t i = 0; i < option->count; i++)
        cover_draft_configuration(entry->cover, session, option->chosen[i]);
    add_rule(entry->cover, session, option);
    for (size_t i = 0; i < session->sizes.count; i++)
        add_size(entry->cover, session, option, i);
    entry->cover->mean_loss_percent = rounded(loss_percent(option->expected.mean), 0.01);
    entry->cover->worst_loss_percent = rounded(loss_percent(option->expected.worst), 0.01);
    entry->cover->held_out_sizes = (int64_t)session->sizes.count;
}

void cover_tuned_fit(struct cover_session *session)
{
    struct tuned_entry entry;
    session->no_room = (struct error){0};
    for (bool fits = false; !fits && session->cover.best > 0;) {
        cover_tuned_entry(session, &entry);
        fits = cover_entry_check(&entry, &session->no_room) == 0;
        tuned_entry_release(&entry);
        if (!fits)
            cover_choose(&session->cover, session->cover.best - 1, &session->losses,
                         &session->features, &session->basis);
    }
}

int cover_tuned_write(const struct cover_session *session, struct error *error)
{
    struct tuned_entry entry;
    size_t taken;
    cover_tuned_entry(session, &entry);
    int status = cover_entry_check(&entry, error);
    if (status == 0)
        status = tuned_file_update(session->tuned_path, &entry, 1, &taken, error);
    tuned_entry_release(&entry);
    return status;
}
