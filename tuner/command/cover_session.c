#include "command/cover_session.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdlib.h>

int cover_session_init(struct cover_session *session, const struct sweep *sweep,
                       const struct sweep_kernel *kernel, const struct command_options *options,
                       const struct run_options *run, struct error *error)
{
    *session =
        (struct cover_session){.run = *run,
                               .options = options,
                               .limits = run->limits,
                               .begin_ns = clock_ns(),
                               .results = run->results != NULL ? run->results : sweep->results,
                               .tuned_path = run->tuned != NULL ? run->tuned : sweep->tuned,
                               .kernel = kernel->label,
                               .rounds_kernel = alloc_format("%s.cover", kernel->label),
                               .configurations = kernel->cover.configurations};
    session->run.part = true;
    session->sizes.axes = session->left_out.axes = kernel->cover.axis_count;
    return problem_range_init(&session->range, kernel, sweep->path, error);
}

void cover_session_forget(struct cover_session *session)
{
    cover_release(&session->cover);
    features_release(&session->features);
    losses_release(&session->losses);
    free(session->times_ns);
    session->times_ns = NULL;
}

void cover_session_release(struct cover_session *session)
{
    cover_session_forget(session);
    for (size_t i = 0; i < session->sizes.count; i++) {
        study_release(&session->tuned[i]);
        study_release(&session->rounds[i]);
    }
    free(session->tuned);
    free(session->rounds);
    free(session->in_rounds);
    nominees_release(&session->candidates);
    nominees_release(&session->seeds);
    sizes_release(&session->sizes);
    sizes_release(&session->left_out);
    problem_range_release(&session->range);
    free(session->rounds_kernel);
}
