#include "tune/screening_run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/task.h"
#include "tune/screener.h"

#include <stdlib.h>

/* Whatever was not compared by now is not compared any more. */
static void end_comparison(struct screening *screening)
{
    struct gpu_comparison *comparison = &screening->tuning->team->comparison;
    size_t index;
    while (gpu_comparison_close(comparison, &index))
        tuning_job_drop(screening->job, screening->tuning->pool, index);
}

/* Whether another GPU goes on without this one; `later`: also one that only pauses. */
static bool others_go_on(const struct screener *screener, bool later)
{
    const struct screening *screening = screener->screening;
    for (size_t i = 0; i < screening->screener_count; i++) {
        const struct screener *other = &screening->screeners[i];
        bool pauses = other->gpu->away && !other->gpu->broken && !other->ended;
        if (other != screener && (other->active || other->joining || (later && pauses)))
            return true;
    }
    return false;
}

/* Whether GPUs with fewer trials leave anything to this one. */
static bool is_its_turn(const struct screener *screener)
{
    const struct screening *screening = screener->screening;
    const size_t ready = screening->queue.ready_count;
    size_t before = 0;
    if (screener->trial_count == 0 || ready >= screening->screener_count)
        return ready > 0;
    for (size_t trials = 0; trials < screener->trial_count; trials++)
        before += screening->active_with[trials];
    return ready > before;
}

/* One step: begin a trial if one can begin, else take an answer, else wait for the compiler or for
 * what another GPU may leave. */
static int screen_step(struct screener *screener, bool over, struct error *error)
{
    struct screening *screening = screener->screening;
    size_t index;
    size_t slot;
    bool begun = false;
    bool takes = !over && screener->trial_count < GPU_TRIALS &&
                 !(screener_is_disturbed(screener) && others_go_on(screener, false));
    if (takes && screening->twins != NULL &&
        gpu_comparison_next(&screening->tuning->team->comparison, screener->place, &slot)) {
        int status = screener_begin_comparison(screener, slot, &begun, error);
        if (status != 0 || begun)
            return status;
    }
    if (takes && is_its_turn(screener) && screening_queue_take(&screening->queue, &index))
        return screener_begin(screener, index, error);
    if (screener->trial_count > 0)
        return screener_end(screener, error);
    return screening_queue_wait(&screening->queue, screening_end_ns(screening), error);
}

/* Another GPU's trial may have to be done again, and a search learns from it. */
static bool has_more(const struct screener *screener, bool over)
{
    const struct screening *screening = screener->screening;
    const struct gpu_comparison *comparison = &screening->tuning->team->comparison;
    return screener->trial_count > 0 ||
           (!over && (!screening_queue_is_empty(&screening->queue) || screening->under_way > 0 ||
                      (!screener->gpu->away && gpu_comparison_has(comparison, screener->place))));
}

/* --- GPUs that leave and come back --- */

/* Whether another GPU has ended well: it waits for the trials of all. */
static bool all_is_done(const struct screening *screening)
{
    for (size_t i = 0; i < screening->screener_count; i++)
        if (screening->screeners[i].finished)
            return true;
    return false;
}

/* Whether what it has under way was measured elsewhere before, for a comparison of the GPUs. */
static bool only_compares(const struct screener *screener)
{
    for (size_t i = 0; i < screener->trial_count; i++)
        if (!screener->trials[i].compares)
            return false;
    return true;
}

/* After a failure: returns 0 if the others go on without this GPU, or the failure. */
static int lose(struct screener *screener, int status, struct error *error)
{
    const struct tuning *tuning = screener->screening->tuning;
    screener_activate(screener, false);
    screener->joining = false;
    bool spared = all_is_done(screener->screening) &&
                  (only_compares(screener) || screening_is_over(screener->screening)) &&
                  status != ERROR_INTERRUPTED && status != ERROR_RECORD;
    if (!spared && (!team_is_loss(screener->gpu, status) || !others_go_on(screener, true)))
        return status;
    screener_return_trials(screener);
    if (screener->task == NULL || !screener->task->cancelled)
        tuning_notice(tuning, screener->gpu, "failed", error != NULL ? error->message : "",
                      "the others take over its work");
    team_leave(tuning->team, screener->gpu, true);
    return 0;
}

/* A GPU that is throttled or used by somebody else pauses when its trials are over, unless nobody else
 * goes on. */
static void leave_if_disturbed(struct screener *screener)
{
    const struct tuning *tuning = screener->screening->tuning;
    if (screener->trial_count > 0 || !screener_is_disturbed(screener) ||
        !others_go_on(screener, false))
        return;
    screener_activate(screener, false);
    if (screener->gpu->pause_ns == 0)
        tuning_notice(tuning, screener->gpu, "pauses",
                      gpu_client_disturbance(screener->gpu->client),
                      "the others take over its work");
    team_leave(tuning->team, screener->gpu, false);
}

/* Waits, and then tries to come back. */
static int stay_away(struct screener *screener, struct error *error)
{
    const struct screening *screening = screener->screening;
    const struct tuning *tuning = screening->tuning;
    struct fleet_gpu *gpu = screener->gpu;
    int64_t end_ns = screening_end_ns(screening);
    bool broken = gpu->broken;
    if (clock_ns() < gpu->back_ns)
        return event_loop_step(tuning->loop, gpu->back_ns < end_ns ? gpu->back_ns : end_ns, error);
    int status = team_return(tuning->team, gpu, error);
    if (status != 0) /* it stays away: the others have shown that the problem is good */
        return status == ERROR_INTERRUPTED || status == ERROR_RECORD ? status : 0;
    if (broken)
        tuning_notice(tuning, gpu, "is back", "", "");
    screener_activate(screener, true);
    return 0;
}

/* Those that are away need not come back once there is nothing left to do. */
static void dismiss(const struct screening *screening)
{
    for (size_t i = 0; i < screening->screener_count; i++) {
        const struct screener *other = &screening->screeners[i];
        if (other->gpu->away && other->task != NULL)
            other->task->cancelled = true;
    }
}

/* Waits until a GPU has opened the problem: as long as it takes while others screen, but not much
 * longer than they took to open it once they are done. Returns 1; 0 if it is given up; or an error. */
static int await_opening(const struct screener *screener, struct error *error)
{
    const struct screening *screening = screener->screening;
    const struct tuning *tuning = screening->tuning;
    int status = screener->gpu->open;
    while (status == 0) {
        bool done = screening_is_over(screening) || all_is_done(screening);
        int64_t end_ns = done ? tuning->team->patience_ns : screening_end_ns(screening);
        if (screening->failed || (done && clock_ns() >= end_ns))
            return 0;
        status = team_await(tuning->loop, screener->gpu, end_ns, error);
    }
    return status;
}

/* The GPU begins to work, if it can. */
static int join(struct screener *screener, struct error *error)
{
    const struct tuning *tuning = screener->screening->tuning;
    screener->joining = true;
    int status = await_opening(screener, error);
    bool late = status == 0;
    if (status == 1)
        status = team_join(tuning->team, screener->gpu, error);
    screener->joining = false;
    screener_activate(screener, status == 0 && !late);
    if (late && !screener->screening->failed)
        tuning_notice(tuning, screener->gpu, "failed", "it did not open the problem in time",
                      "the others did its work");
    if (late)
        team_leave(tuning->team, screener->gpu, true);
    return status == 0 ? 0 : lose(screener, status, error);
}

/* One step of a GPU that may be away; `*more` is false if it was the last. */
static int step(struct screener *screener, bool *more, struct error *error)
{
    struct screening *screening = screener->screening;
    bool over = screening_is_over(screening);
    int status = 0;
    if (!over)
        status = screening_check_interrupt(error);
    if (status == 0 && !over && !screener->gpu->away)
        status = screening_queue_fill(&screening->queue, error);
    *more = status == 0 && has_more(screener, over);
    if (!*more)
        return status;
    if (screener->gpu->away) {
        status = stay_away(screener, error);
        *more = screener->task == NULL || !screener->task->cancelled;
        return *more ? status : 0;
    }
    status = screen_step(screener, over, error);
    if (status != 0)
        return lose(screener, status, error);
    leave_if_disturbed(screener);
    return 0;
}

static int screen_with(void *owner, struct error *error)
{
    struct screener *screener = owner;
    struct screening *screening = screener->screening;
    bool more = true;
    int status = screener->gpu->away ? 0 : join(screener, error);
    if (status == 0 && screening->failed) /* meanwhile, on another one */
        more = false;
    while (status == 0 && more)
        status = step(screener, &more, error);
    screener->finished = screener->active && status == 0;
    if (screener->finished)
        dismiss(screening);
    screener_activate(screener, false);
    screener->ended = true;
    screening->failed = screening->failed || status != 0;
    event_loop_wake(screening->tuning->loop);
    return status;
}

int screening_run(struct screening *screening, struct error *error)
{
    struct team *team = screening->tuning->team;
    const bool all = screening->twins != NULL;
    size_t count = all ? team->count : 1;
    struct task *tasks = alloc_zeroed(count, sizeof *tasks);
    screening->screeners = alloc_zeroed(count, sizeof *screening->screeners);
    screening->screener_count = count;
    screening->queue.tuning = screening->tuning;
    screening->queue.job = screening->job;
    screening->queue.proposes = all;
    for (size_t i = 0; i < count; i++) {
        size_t place = all ? i : team->lead;
        screening->screeners[i] =
            (struct screener){.screening = screening, .gpu = team->gpus[place], .place = place};
        tasks[i] = (struct task){.run = screen_with, .owner = &screening->screeners[i]};
        screening->screeners[i].joining = !team->gpus[place]->away;
        if (count > 1)
            screening->screeners[i].task = &tasks[i];
    }
    team_describe(team, &screening->job->study);
    int status = count > 1 ? tasks_run(screening->tuning->loop, tasks, count, error)
                           : screen_with(&screening->screeners[0], error);
    end_comparison(screening);
    team_choose_lead(team); /* one may not have opened the problem */
    team_describe(team, &screening->job->study);
    free(tasks);
    free(screening->screeners);
    screening_queue_release(&screening->queue);
    return status;
}
