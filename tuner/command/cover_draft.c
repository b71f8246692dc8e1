#include "command/cover_draft.h"

#include "base/alloc.h"
#include "command/cover_conditions.h"
#include "record/cover_choice.h"
#include "record/cover_entry.h"
#include "record/gpu.h"
#include "template/variant.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void add_ranges(struct cover_entry *cover, const struct cover_session *session)
{
    const struct sweep_cover *range = &session->range.kernel->cover;
    for (size_t i = 0; i < range->axis_count; i++)
        cover_entry_add_range(cover, range->axes[i].name, value_integer(range->axes[i].low),
                              value_integer(range->axes[i].high));
    cover->constraint = problem_range_constraint(&session->range);
}

void cover_draft_begin(struct tuned_entry *entry, const struct cover_session *session)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    tuned_entry_from_study(cover_session_study(session), entry);
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
    add_ranges(entry->cover, session);
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

void cover_draft_configuration(struct cover_entry *cover, const struct cover_session *session,
                               size_t candidate)
{
    const struct kernel_stats *stats = stats_of(session, candidate);
    cover_entry_add_configuration(cover, &session->candidates.items[candidate],
                                  stats != NULL ? stats->registers : 0,
                                  stats != NULL ? stats->blocks_per_sm : 0);
}

void cover_draft_complete(struct tuned_entry *entry, const struct cover_session *session,
                          const int64_t *size)
{
    struct bindings problem = {0};
    cover_entry_add_line(entry->cover, 0, NULL);
    problem_range_bind(&session->range, size, &problem);
    cover_entry_add_size(entry->cover, &problem, 0, 1, 0);
    bindings_release(&problem);
}

int cover_draft_check(const struct cover_session *session, const char *sweep_path,
                      struct error *error)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    struct tuned_entry entry = {.kernel = alloc_string(session->kernel),
                                .cover = cover_entry_new()};
    struct bindings parameters = {0};
    struct error inner;
    int64_t low[SWEEP_COVER_AXES];
    struct gpu gpu;
    struct bindings device = {0}; /* of any GPU, since the right one is not known yet */
    if (gpu_from_arch("sm_90", &gpu, error) == 0)
        gpu_bindings(&gpu, &device);
    for (size_t i = 0; i < kernel->cover.axis_count; i++)
        low[i] = kernel->cover.axes[i].low;
    bindings_copy(&entry.problem, &session->range.fixed);
    variant_defaults(&kernel->template, &parameters);
    add_ranges(entry.cover, session);
    cover_entry_add_configuration(entry.cover, &parameters, 1, 1);
    cover_conditions_add(entry.cover, session, &device, true);
    cover_draft_complete(&entry, session, low);
    int status = cover_entry_check(&entry, &inner);
    if (status != 0)
        status =
            error_set_at(error, ERROR_CONFIG, sweep_path, kernel->cover.line, "%s", inner.message);
    bindings_release(&device);
    bindings_release(&parameters);
    tuned_entry_release(&entry);
    return status;
}
