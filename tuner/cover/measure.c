#include "cover/measure.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "cover/runs.h"
#include "cover/size_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 4, /* further sizes at a time, at first */
    NOMINEES_PER_CONFIGURATION = 10,
    CANDIDATES_PER_CONFIGURATION = 4
};

/* Of a budget: for tuning, until when everything may be measured again with other nominees, and when
 * nothing further is begun. */
static const double tuning_share = 0.45;
static const double nominated_share = 0.55;
static const double last_share = 0.85;

/* --- time --- */

/* What is left of this share of the budget. */
static double left_s(const struct cover_session *session, double share)
{
    double budget_s = session->limits.budget_s;
    return budget_s > 0 ? fmax(share * budget_s - cover_runs_spent_s(session), 0) : INFINITY;
}

/* Tuning a size takes far longer than measuring the nominees there. */
static size_t first_count(const struct cover_session *session)
{
    return ((size_t)1 << session->sizes.axes) + 4 + 3 * session->sizes.axes;
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

/* Tunes sizes within `budget_s` (0: no limit). */
static int tune(struct cover_session *session, const struct sizes *sizes, double budget_s,
                struct error *error)
{
    struct study *studies = alloc_zeroed(sizes->count, sizeof *studies);
    struct sweep_limits limits = session->limits;
    double begin_s = cover_runs_spent_s(session);
    limits.budget_s = budget_s;
    int status = cover_runs_tune(session, sizes, &limits, studies, error);
    if (status == 0)
        take_tuned(session, sizes, studies);
    session->tuning_s = (cover_runs_spent_s(session) - begin_s) / (double)sizes->count;
    free(studies);
    return status;
}

/* Whether a size is left that was tuned: its study says what the cover is about. */
static bool has_tuned(const struct cover_session *session)
{
    bool has = false;
    for (size_t i = 0; i < session->sizes.count; i++)
        has = has || session->tuned[i].result_count > 0;
    return has;
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

/* Tunes the first sizes, and takes over what earlier sessions measured. */
static int tune_first(struct cover_session *session, struct error *error)
{
    struct sizes first = {.axes = session->sizes.axes};
    struct sizes probed = {.axes = session->sizes.axes};
    double budget_s = session->limits.budget_s * tuning_share;
    int status = size_plan_first(&session->range, first_count(session), &first, error);
    if (status == 0)
        cover_runs_known_sizes(session, &first, &probed);
    cover_runs_find_seeds(session, session->tuned_path);
    sizes_sort(&first);
    if (status == 0)
        status = tune(session, &first, budget_s, error);
    if (status == 0 && !has_tuned(session))
        status = fail_without_sizes(session, error);
    for (size_t i = 0; i < probed.count && status == 0; i++)
        cover_session_add(session, sizes_at(&probed, i), (struct study){0});
    sizes_release(&probed);
    sizes_release(&first);
    return status;
}

/* --- rounds --- */

/* What was refuted meanwhile is not nominated any more. */
static void drop_refuted(struct cover_session *session)
{
    struct nominees kept = {0};
    for (size_t i = session->nominees.count; i-- > 0;)
        if (nominees_has(&session->refuted, &session->nominees.items[i]))
            for (size_t size = 0; size < session->sizes.count; size++)
                session->in_rounds[size] -= session->in_rounds[size] > i;
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
        if (session->in_rounds[i] > 0 &&
            !is_measured(times_ns, session->nominees.count, i, count)) {
            cover_session_leave_out(session, size);
            study_release(&session->tuned[i]);
            study_release(&session->rounds[i]);
            continue;
        }
        session->tuned[kept.count] = session->tuned[i];
        session->rounds[kept.count] = session->rounds[i];
        session->in_rounds[kept.count] = session->in_rounds[i];
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
        if (session->in_rounds[i] < session->nominees.count) {
            indices[sizes.count] = i;
            (void)sizes_add(&sizes, sizes_at(&session->sizes, i));
        }
    struct study *studies = alloc_zeroed(sizes.count, sizeof *studies);
    double begin_s = cover_runs_spent_s(session);
    int status = sizes.count > 0 ? cover_runs_rounds(session, &sizes, studies, error) : 0;
    for (size_t i = 0; i < sizes.count && status == 0; i++) {
        study_release(&session->rounds[indices[i]]);
        session->rounds[indices[i]] = studies[i];
        session->in_rounds[indices[i]] = session->nominees.count;
    }
    if (sizes.count > 0)
        session->rounds_s = (cover_runs_spent_s(session) - begin_s) / (double)sizes.count;
    free(studies);
    free(indices);
    sizes_release(&sizes);
    drop_refuted(session);
    drop_unmeasured(session);
    return status == 0 && !has_tuned(session) ? fail_without_sizes(session, error) : status;
}

/* --- the cover --- */

/* Whether there is time to measure everything again with further nominees. */
static bool can_nominate(const struct cover_session *session)
{
    return session->nominees.count == 0 ||
           (!session->nominated &&
            (double)session->sizes.count * session->rounds_s < left_s(session, nominated_share));
}

static size_t most_candidates(const struct cover_session *session)
{
    return least_of(CANDIDATES_PER_CONFIGURATION * session->configurations, CANDIDATES_LIMIT);
}

/* Takes the best of the nominees as candidates, and what they lose against all. */
static void take_candidates(struct cover_session *session, const double *weights)
{
    const size_t sizes = session->sizes.count;
    struct losses all;
    size_t selected[CANDIDATES_LIMIT];
    bool *kept = alloc_zeroed(sizes, sizeof *kept);
    double *times_ns = nominees_times(&session->nominees, session->rounds, sizes);
    losses_init(&all, times_ns, session->nominees.count, sizes, weights);
    size_t count = nominees_select(&all, most_candidates(session), selected);
    for (size_t i = 0; i < count; i++)
        (void)nominees_add(&session->candidates, &session->nominees.items[selected[i]]);
    session->times_ns = nominees_times(&session->candidates, session->rounds, sizes);
    memset(kept, true, sizes * sizeof *kept);
    losses_select(&session->losses, &all, selected, count, kept);
    losses_release(&all);
    free(times_ns);
    free(kept);
}

static void nominate(struct cover_session *session, const double *weights)
{
    size_t most = least_of(NOMINEES_PER_CONFIGURATION * session->configurations, NOMINEES_LIMIT);
    (void)nominees_nominate(&session->nominees, &session->refuted, session->tuned, &session->sizes,
                            weights, most_candidates(session),
                            least_of(most, cover_runs_most_nominees(session)));
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

/* Measures nominees at every size; if that refutes some, others may take their place. Sets the sizes'
 * `weights`. */
static int settle_nominees(struct cover_session *session, double *weights, struct error *error)
{
    int status = 0;
    size_t refuted;
    do {
        refuted = session->refuted.count;
        status = size_plan_weights(&session->range, &session->sizes, weights, error);
        if (status == 0 && can_nominate(session))
            nominate(session, weights);
        if (status == 0)
            status = hold_rounds(session, error);
    } while (status == 0 && session->refuted.count > refuted && can_nominate(session));
    if (status == 0 && session->nominees.count == 0)
        return fail_without_nominees(session, error);
    return status == 0 ? size_plan_weights(&session->range, &session->sizes, weights, error)
                       : status;
}

/* Nominates configurations, measures them at every size, and computes the cover. */
static int compute(struct cover_session *session, struct error *error)
{
    double *weights = alloc_zeroed(session->sizes.count, sizeof *weights);
    cover_session_forget(session);
    int status = settle_nominees(session, weights, error);
    if (status == 0) {
        take_candidates(session, weights);
        selection_make(&session->selection, &session->losses, &session->sizes,
                       session->configurations);
    }
    free(weights);
    return status;
}

/* What the choice for each size loses at each other size, and what was lost at each when it was left
 * out, beyond what no choice could avoid. */
static void find_doubts(const struct cover_session *session, double *crossed, double *expected)
{
    const struct selection_option *option = &session->selection.options[session->selection.best];
    const struct losses *losses = &session->losses;
    size_t count = session->sizes.count;
    size_t *fastest = alloc_zeroed(count, sizeof *fastest);
    for (size_t i = 0; i < count; i++)
        fastest[i] = option->chosen[selection_fastest(option, losses, i)];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++)
            crossed[i * count + j] =
                losses_of(losses, fastest[i], j) - losses_alone(losses, fastest[j], j);
        expected[i] = fmax(option->expected_at[i] - losses_alone(losses, fastest[i], i), 0);
    }
    free(fastest);
}

/* Chooses the sizes at which the cover is least certain. */
static int choose_next(const struct cover_session *session, size_t batch, struct sizes *next,
                       struct error *error)
{
    size_t count = session->sizes.count;
    double *crossed = alloc_zeroed(count * count, sizeof *crossed);
    double *expected = alloc_zeroed(count, sizeof *expected);
    const struct size_doubts doubts = {.sizes = &session->sizes,
                                       .left_out = &session->left_out,
                                       .expected = expected,
                                       .crossed = crossed};
    *next = (struct sizes){.axes = session->sizes.axes};
    find_doubts(session, crossed, expected);
    int status = size_plan_next(&session->range, &doubts, batch, next, error);
    free(crossed);
    free(expected);
    return status;
}

/* How many more sizes there is time for, until so many are known or left out. */
static size_t batch_size(const struct cover_session *session)
{
    size_t most = BATCH + session->sizes.count / 2;
    double sizes = session->limits.budget_s > 0
                       ? left_s(session, last_share) / fmax(session->rounds_s, 1e-3)
                       : (double)most;
    size_t batch = sizes < (double)most ? (size_t)sizes : most;
    size_t seen = session->sizes.count + session->left_out.count;
    if (seen >= session->most_sizes)
        return 0;
    return seen + batch <= session->most_sizes ? batch : session->most_sizes - seen;
}

/* Fewer rounds, if sizes take so long that there would not be time for all: another size says more than
 * a more precise time. */
static void limit_rounds(struct cover_session *session)
{
    size_t seen = session->sizes.count + session->left_out.count;
    if (seen >= session->most_sizes || session->round_count <= COVER_FEWEST_ROUNDS)
        return;
    double rest_s = session->rounds_s * (double)(session->most_sizes - seen);
    double rounds = session->round_count * left_s(session, last_share) / rest_s;
    if (!(rounds < session->round_count))
        return;
    session->most_rounds = rounds > COVER_FEWEST_ROUNDS ? (unsigned)rounds : COVER_FEWEST_ROUNDS;
    session->rounds_s *= (double)session->most_rounds / session->round_count;
    session->round_count = session->most_rounds;
}

/* Measures the nominees, and nothing else, at further sizes. */
static int probe_more(struct cover_session *session, struct error *error)
{
    bool more = true;
    int status = 0;
    session->nominated = true;
    while (status == 0 && more) {
        struct sizes next = {0};
        limit_rounds(session);
        size_t batch = batch_size(session);
        if (batch > 0)
            status = choose_next(session, batch, &next, error);
        more = next.count > 0;
        for (size_t i = 0; i < next.count && status == 0; i++)
            cover_session_add(session, sizes_at(&next, i), (struct study){0});
        if (status == 0 && more)
            status = compute(session, error);
        sizes_release(&next);
    }
    return status;
}

int cover_measure(struct cover_session *session, struct error *error)
{
    int status = tune_first(session, error);
    if (status == 0)
        status = compute(session, error);
    return status == 0 ? probe_more(session, error) : status;
}
