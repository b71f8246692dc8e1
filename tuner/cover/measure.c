#include "cover/session.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For each configuration that may be shipped: those that are chosen together, and with the fastest of each size. */
enum { CHOSEN_PER_CONFIGURATION = 4, NOMINEES_PER_CONFIGURATION = 10 };

/* Of a budget: for tuning, until when everything may be measured again with other nominees, and when
 * nothing further is begun. */
static const double tuning_share = 0.45;
static const double nominated_share = 0.55;
static const double last_share = 0.9;

/* What is left of this share of the budget. */
static double left_s(const struct cover_session *session, double share)
{
    double budget_s = session->limits.budget_s;
    return budget_s > 0 ? fmax(share * budget_s - cover_runs_spent_s(session), 0) : INFINITY;
}

/* --- tuning --- */

static bool has_time(const struct study *study)
{
    return study_best(study) < study->result_count;
}

/* Takes over the studies of sizes at which something was measured. If there was no time for a size,
 * only the nominees are measured there. */
static void take_tuned(struct cover_session *session, const struct sizes *sizes,
                       struct study *studies)
{
    for (size_t i = 0; i < sizes->count; i++) {
        const int64_t *size = sizes_at(sizes, i);
        bool tuned = has_time(&studies[i]);
        if (!tuned && !study_is_partial(&studies[i]))
            cover_session_leave_out(session, size);
        if (sizes_has(&session->sizes, size) || sizes_has(&session->left_out, size)) {
            study_release(&studies[i]);
            continue;
        }
        cover_session_add(session, size, tuned ? studies[i] : (struct study){0});
        if (!tuned)
            study_release(&studies[i]);
    }
}

static int fail_without_sizes(const struct cover_session *session, struct error *error)
{
    size_t count = session->sizes.count + session->left_out.count;
    if (session->refusal.code != 0 && session->refusal.code != ERROR_NOTHING_VALID) {
        *error = session->refusal;
        return error->code;
    }
    if (session->limits.budget_s > 0)
        return error_set(error, ERROR_NOTHING_VALID,
                         "the budget ended before a valid variant of '%s' was found at any of %zu "
                         "sizes; give it more time",
                         session->kernel, count);
    return error_set(error, ERROR_NOTHING_VALID,
                     "no variant of '%s' was valid at any of %zu sizes; `autotune report` says why",
                     session->kernel, count);
}

/* Tunes the first of the planned sizes, since that takes far longer than measuring the nominees. */
static int tune(struct cover_session *session, const struct sizes *plan, struct error *error)
{
    size_t most = ((size_t)1 << session->sizes.axes) + 4 + 3 * session->sizes.axes;
    const struct sizes first = {plan->values, plan->axes, least_of(most, plan->count)};
    struct study *studies = alloc_zeroed(first.count, sizeof *studies);
    cover_runs_find_seeds(session, session->tuned_path);
    int status = cover_runs_tune(session, &first, left_s(session, tuning_share), studies, error);
    if (status == 0)
        take_tuned(session, &first, studies);
    free(studies);
    return status == 0 && cover_session_study(session) == NULL ? fail_without_sizes(session, error)
                                                               : status;
}

/* --- rounds --- */

/* What was refuted meanwhile is not nominated any more. */
static void drop_refuted(struct cover_session *session)
{
    struct nominees kept = {0};
    for (size_t i = 0; i < session->nominees.count; i++)
        if (!nominees_has(&session->refuted, &session->nominees.items[i]))
            (void)nominees_add(&kept, &session->nominees.items[i]);
    nominees_release(&session->nominees);
    session->nominees = kept;
}

/* Whether any of `count` nominees has a time at a size, of which there are `sizes`. */
static bool is_measured(const double *times_ns, size_t count, size_t size, size_t sizes)
{
    bool measured = false;
    for (size_t i = 0; i < count; i++)
        measured = measured || times_ns[i * sizes + size] > 0;
    return measured;
}

/* Leaves out the sizes at which no nominee could be measured, for example because another process
 * has taken the memory meanwhile. */
static void drop_unmeasured(struct cover_session *session)
{
    const size_t count = session->sizes.count;
    struct sizes kept = {.axes = session->sizes.axes};
    double *times_ns = nominees_times(&session->nominees, session->rounds, count);
    for (size_t i = 0; i < count; i++) {
        const int64_t *size = sizes_at(&session->sizes, i);
        if (session->nominees.count > 0 &&
            !is_measured(times_ns, session->nominees.count, i, count)) {
            cover_session_leave_out(session, size);
            study_release(&session->tuned[i]);
            study_release(&session->rounds[i]);
            continue;
        }
        session->tuned[kept.count] = session->tuned[i];
        session->rounds[kept.count] = session->rounds[i];
        (void)sizes_add(&kept, size);
    }
    free(times_ns);
    sizes_release(&session->sizes);
    session->sizes = kept;
}

/* Measures the nominees at the sizes that lack it. */
static int hold_rounds(struct cover_session *session, struct error *error)
{
    struct sizes sizes = {.axes = session->sizes.axes};
    size_t *indices = alloc_zeroed(session->sizes.count, sizeof *indices);
    for (size_t i = 0; i < session->sizes.count; i++)
        if (session->nominees.count > 0 && session->rounds[i].result_count == 0) {
            indices[sizes.count] = i;
            (void)sizes_add(&sizes, sizes_at(&session->sizes, i));
        }
    struct study *studies = alloc_zeroed(sizes.count, sizeof *studies);
    double begin_s = cover_runs_spent_s(session);
    int status = sizes.count > 0 ? cover_runs_rounds(session, &sizes, studies, error) : 0;
    for (size_t i = 0; i < sizes.count && status == 0; i++) {
        study_release(&session->rounds[indices[i]]);
        session->rounds[indices[i]] = studies[i];
    }
    if (sizes.count > 0)
        session->rounds_s = (cover_runs_spent_s(session) - begin_s) / (double)sizes.count;
    free(studies);
    free(indices);
    sizes_release(&sizes);
    drop_refuted(session);
    drop_unmeasured(session);
    return status == 0 && cover_session_study(session) == NULL ? fail_without_sizes(session, error)
                                                               : status;
}

/* Adds the next of the planned sizes, as many as there is time for. Returns whether there were any. */
static bool add_sizes(struct cover_session *session, const struct sizes *plan)
{
    static const double cautious = 0.7; /* the rest may take longer than those so far */
    double most = cautious * left_s(session, last_share) / fmax(session->rounds_s, 1e-3);
    size_t added = 0;
    for (size_t i = 0; i < plan->count && (double)added + 1 <= most; i++) {
        const int64_t *size = sizes_at(plan, i);
        if (sizes_has(&session->sizes, size) || sizes_has(&session->left_out, size))
            continue;
        cover_session_add(session, size, (struct study){0});
        added++;
    }
    return added > 0;
}

/* --- the cover --- */

/* Whether there is time to measure everything again with further nominees. */
static bool can_nominate(const struct cover_session *session)
{
    return session->nominees.count == 0 ||
           (double)session->sizes.count * session->rounds_s < left_s(session, nominated_share);
}

/* What was measured without the new ones is measured again, or taken from the record. */
static void nominate(struct cover_session *session)
{
    size_t most = least_of(NOMINEES_PER_CONFIGURATION * session->configurations,
                           cover_runs_most_nominees(session));
    size_t chosen = least_of(CHOSEN_PER_CONFIGURATION * session->configurations, NOMINEES_LIMIT);
    bool added = nominees_nominate(&session->nominees, &session->refuted, session->tuned,
                                   &session->sizes, chosen, most);
    for (size_t i = 0; i < session->sizes.count && added; i++)
        study_release(&session->rounds[i]);
}

static int fail_without_nominees(const struct cover_session *session, struct error *error)
{
    char *first = bindings_text(&session->refuted.items[0]);
    (void)error_set(error, ERROR_NOTHING_VALID,
                    "no variant of '%s' works in the whole range: %s: %s; correct the kernel, or "
                    "state a constraint that excludes such sizes",
                    session->kernel, first, session->refutations[0]);
    free(first);
    return error->code;
}

/* Measures nominees first at the sizes that were tuned, then at the others; if that refutes some, others may
 * take their place. */
static int measure_nominees(struct cover_session *session, const struct sizes *plan,
                            struct error *error)
{
    int status = 0;
    size_t refuted;
    do {
        refuted = session->refuted.count;
        nominate(session);
        do
            status = hold_rounds(session, error);
        while (status == 0 && add_sizes(session, plan));
    } while (status == 0 && session->refuted.count > refuted && can_nominate(session));
    return status == 0 && session->nominees.count == 0 ? fail_without_nominees(session, error)
                                                       : status;
}

/* Chooses configurations from the nominees. */
static void choose(struct cover_session *session)
{
    const size_t sizes = session->sizes.count;
    session->times_ns = nominees_times(&session->nominees, session->rounds, sizes);
    losses_init(&session->losses, session->times_ns, session->nominees.count, sizes);
    double *estimates = cover_entry_estimates(session);
    const struct selection_times times = {session->times_ns, estimates};
    selection_make(&session->selection, &session->losses, &times, &session->sizes,
                   session->configurations);
    free(estimates);
}

int cover_measure(struct cover_session *session, struct error *error)
{
    struct sizes plan = {.axes = session->sizes.axes};
    int status = size_plan(&session->range, session->most_sizes, &plan, error);
    if (status == 0)
        status = tune(session, &plan, error);
    if (status == 0)
        status = measure_nominees(session, &plan, error);
    if (status == 0)
        choose(session);
    sizes_release(&plan);
    return status;
}
