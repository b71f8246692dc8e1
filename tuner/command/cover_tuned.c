#include "command/cover_tuned.h"

#include "base/alloc.h"
#include "command/cover_figures.h"
#include "cover/rule_text.h"
#include "cover/size_features.h"
#include "record/cover_choice.h"
#include "record/cover_entry.h"
#include "record/tuned_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the entry --- */

/* The first size's description of kernel, GPU and versions, without what is of that size alone. */
static void begin_entry(struct tuned_entry *entry, const struct cover_session *session)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    tuned_entry_from_study(&session->tuned[0], entry);
    free(entry->section);
    free(entry->date);
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    for (size_t i = 0; i < entry->tie_count; i++)
        bindings_release(&entry->ties[i]);
    free(entry->ties);
    bindings_release(&entry->parameters);
    bindings_copy(&entry->problem, &session->range.fixed);
    struct tuned_entry kept = {.kernel = entry->kernel,
                               .template_name = entry->template_name,
                               .template_hash = entry->template_hash,
                               .gpu = entry->gpu,
                               .arch = entry->arch,
                               .compute_capability = entry->compute_capability,
                               .sm_count = entry->sm_count,
                               .l2_bytes = entry->l2_bytes,
                               .memory_bytes = entry->memory_bytes,
                               .memory_gb_per_s = entry->memory_gb_per_s,
                               .driver = entry->driver,
                               .nvrtc = entry->nvrtc,
                               .autotune = entry->autotune,
                               .date = alloc_string(date),
                               .command = entry->command,
                               .cache = entry->cache,
                               .problem = entry->problem,
                               .cover = cover_entry_new()};
    *entry = kept;
}

static void add_ranges(struct cover_entry *cover, const struct cover_session *session)
{
    const struct sweep_cover *range = &session->range.kernel->cover;
    for (size_t i = 0; i < range->axis_count; i++)
        cover_entry_add_range(cover, range->axes[i].name, value_integer(range->axes[i].low),
                              value_integer(range->axes[i].high));
    cover->constraint = problem_range_constraint(&session->range);
}

/* The figures of the candidate's main launch, from the first size at which it was run. */
static const struct kernel_stats *stats_of(const struct cover_session *session, size_t candidate)
{
    const struct bindings *parameters = &session->candidates.items[candidate];
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

static void add_configuration(struct cover_entry *cover, const struct cover_session *session,
                              size_t candidate)
{
    const struct kernel_stats *stats = stats_of(session, candidate);
    cover_entry_add_configuration(cover, &session->candidates.items[candidate],
                                  stats != NULL ? stats->registers : 0,
                                  stats != NULL ? stats->blocks_per_sm : 0);
}

/* --- features --- */

/* The values of figure `name` of one candidate; false if one cannot be computed, or all are the same. */
static bool evaluate(const struct tuned_entry *entry, const struct cover_session *session,
                     const char *name, size_t candidate, double *values)
{
    bool differ = false;
    for (size_t i = 0; i < session->sizes.count; i++) {
        struct bindings problem = {0};
        problem_range_bind(&session->range, sizes_at(&session->sizes, i), &problem);
        int status = cover_entry_figure(entry, name, candidate, &problem, 0, &values[i], NULL);
        bindings_release(&problem);
        if (status != 0 || !isfinite(values[i]))
            return false;
        differ = differ || fabs(values[i] - values[0]) > 0;
    }
    return differ;
}

static void add_launch_features(struct features *features, const struct tuned_entry *entry,
                                const struct cover_session *session)
{
    double *values = alloc_zeroed(session->sizes.count, sizeof *values);
    for (size_t candidate = 0; candidate < session->candidates.count; candidate++)
        for (size_t i = 0; i < COVER_RULE_FIGURES; i++) {
            if (!evaluate(entry, session, cover_figures[i], candidate, values))
                continue;
            struct feature *feature =
                features_add(features, cover_figures[i], session->sizes.count);
            memcpy(feature->values, values, session->sizes.count * sizeof *values);
            feature->configuration = candidate;
        }
    free(values);
}

void cover_tuned_features(struct features *features, const struct cover_session *session)
{
    struct tuned_entry entry;
    struct bindings problem = {0};
    size_features_add(features, &session->range, &session->sizes);
    begin_entry(&entry, session);
    add_ranges(entry.cover, session);
    for (size_t i = 0; i < session->candidates.count; i++)
        add_configuration(entry.cover, session, i);
    cover_figures_add(entry.cover, session);
    cover_entry_add_line(entry.cover, 0, NULL);
    problem_range_bind(&session->range, sizes_at(&session->sizes, 0), &problem);
    cover_entry_add_size(entry.cover, &problem, 0, 1, 0); /* a cover must have one */
    bindings_release(&problem);
    if (cover_entry_check(&entry, NULL) == 0)
        add_launch_features(features, &entry, session);
    tuned_entry_release(&entry);
}

/* --- writing --- */

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

static void add_rule(struct cover_entry *cover, const struct cover_session *session,
                     const struct cover_option *option)
{
    if (needs_figures(&option->rule, &session->features))
        cover_figures_add(cover, session);
    for (size_t i = 0; i < option->rule.count; i++) {
        const struct rule_line *line = &option->rule.lines[i];
        char *text = rule_text(line, &session->features, option->chosen, option->count);
        cover_entry_add_line(cover, line->configuration, text);
        free(text);
    }
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

static void add_sizes(struct cover_entry *cover, const struct cover_session *session,
                      const struct cover_option *option)
{
    size_t *order = alloc_zeroed(session->sizes.count, sizeof *order);
    sizes_order(&session->sizes, order);
    for (size_t i = 0; i < session->sizes.count; i++)
        add_size(cover, session, option, order[i]);
    free(order);
}

int cover_tuned_write(const struct cover_session *session, struct error *error)
{
    const struct cover_option *option = &session->cover.options[session->cover.best];
    struct tuned_entry entry;
    size_t taken;
    begin_entry(&entry, session);
    add_ranges(entry.cover, session);
    for (size_t i = 0; i < option->count; i++)
        add_configuration(entry.cover, session, option->chosen[i]);
    add_rule(entry.cover, session, option);
    add_sizes(entry.cover, session, option);
    entry.cover->mean_loss_percent = rounded(loss_percent(option->expected.mean), 0.01);
    entry.cover->worst_loss_percent = rounded(loss_percent(option->expected.worst), 0.01);
    entry.cover->held_out_sizes = (int64_t)session->sizes.count;
    int status = cover_entry_check(&entry, error);
    if (status == 0)
        status = tuned_file_update(session->tuned_path, &entry, 1, &taken, error);
    tuned_entry_release(&entry);
    return status;
}
