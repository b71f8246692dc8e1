#include "cover/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More for more values, but not more than four per octave. With three, as many as an application's look-up
 * should have to read. */
static size_t most_sizes(const struct sweep_cover *cover)
{
    size_t most = cover->axis_count < 3 ? 36 + 28 * cover->axis_count : 200;
    double octaves = 1;
    for (size_t i = 0; i < cover->axis_count; i++)
        octaves *= log2((double)cover->axes[i].high / (double)cover->axes[i].low);
    if (4 * octaves + 8 < (double)most)
        most = (size_t)(4 * octaves) + 8;
    return most < COVER_SIZES ? most : COVER_SIZES;
}

int cover_session_init(struct cover_session *session, const struct sweep *sweep,
                       const struct sweep_request *source, const struct sweep_kernel *kernel,
                       const struct run_options *run, struct error *error)
{
    *session =
        (struct cover_session){.options = *run,
                               .config = sweep->path,
                               .text = sweep->ini.text,
                               .source = *source,
                               .limits = run->limits,
                               .begin_ns = clock_ns(),
                               .results = run->results != NULL ? run->results : sweep->results,
                               .tuned_path = run->tuned != NULL ? run->tuned : sweep->tuned,
                               .kernel = kernel->label,
                               .rounds_kernel = alloc_format("%s.cover", kernel->label),
                               .configurations = kernel->cover.configurations,
                               .most_sizes = most_sizes(&kernel->cover)};
    session->options.part = true;
    run_init(&session->run, &session->options);
    session->sizes.axes = session->left_out.axes = kernel->cover.axis_count;
    return problem_range_init(&session->range, kernel, sweep->path, error);
}

void cover_session_add(struct cover_session *session, const int64_t *size, struct study study)
{
    size_t place = sizes_insert(&session->sizes, size);
    size_t count = session->sizes.count;
    size_t behind = count - 1 - place;
    session->tuned = alloc_resize(session->tuned, count, sizeof *session->tuned);
    session->rounds = alloc_resize(session->rounds, count, sizeof *session->rounds);
    memmove(&session->tuned[place + 1], &session->tuned[place], behind * sizeof *session->tuned);
    memmove(&session->rounds[place + 1], &session->rounds[place], behind * sizeof *session->rounds);
    session->tuned[place] = study;
    session->rounds[place] = (struct study){0};
}

void cover_session_leave_out(struct cover_session *session, const int64_t *size)
{
    if (!sizes_has(&session->left_out, size))
        (void)sizes_insert(&session->left_out, size);
}

const struct study *cover_session_study(const struct cover_session *session)
{
    for (size_t i = 0; i < session->sizes.count; i++)
        if (session->tuned[i].result_count > 0)
            return &session->tuned[i];
    return NULL;
}

void cover_session_forget_refuted(struct cover_session *session)
{
    texts_free(session->refutations, session->refuted.count);
    nominees_release(&session->refuted);
    session->refutations = NULL;
}

void cover_session_release(struct cover_session *session)
{
    selection_release(&session->selection);
    losses_release(&session->losses);
    free(session->times_ns);
    for (size_t i = 0; i < session->sizes.count; i++) {
        study_release(&session->tuned[i]);
        study_release(&session->rounds[i]);
    }
    free(session->tuned);
    free(session->rounds);
    cover_session_forget_refuted(session);
    nominees_release(&session->nominees);
    nominees_release(&session->seeds);
    sizes_release(&session->sizes);
    sizes_release(&session->left_out);
    problem_range_release(&session->range);
    run_release(&session->run);
    free(session->rounds_kernel);
}
