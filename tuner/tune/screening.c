#include "tune/screening.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/task.h"
#include "tune/trials.h"

#include <stdlib.h>

/*
 * The trials of a screening, on every GPU of the team: each GPU's part runs as a task (base/task.h) and
 * takes variants from the same queue.
 */
/* Tries everything in the queue, and releases it. A closer look is the leading GPU's alone, because it
 * compares closely. Errors as device_client_trial_take() and compile_pool_wait(). */
int screening_run(struct screening *screening, struct error *error);

/* --- trials on every GPU --- */

/* Whatever was not compared by now is not compared any more. */
static void end_comparison(struct screening *screening)
{
    struct comparison *comparison = &screening->tuning->team->comparison;
    size_t index;
    while (comparison_close(comparison, &index))
        tuning_job_drop(screening->job, screening->tuning->pool, index);
}

/* Whether another GPU goes on without this one; `later`: also one that only pauses. */
static bool others_go_on(const struct screener *screener, bool later)
{
    const struct screening *screening = screener->screening;
    for (size_t i = 0; i < screening->screener_count; i++) {
        const struct screener *other = &screening->screeners[i];
        bool pauses = other->gpu->pauses && !other->ended;
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
    for (size_t i = 0; i < screening->screener_count; i++)
        before += screening->screeners[i].active &&
                  screening->screeners[i].trial_count < screener->trial_count;
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
    bool takes = !over && screener->trial_count < DEVICE_TRIALS &&
                 !(screener_is_disturbed(screener) && others_go_on(screener, false));
    if (takes && screening->twins != NULL &&
        comparison_next(&screening->tuning->team->comparison, screener->place, &slot)) {
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
    const struct comparison *comparison = &screening->tuning->team->comparison;
    return screener->trial_count > 0 ||
           (!over && (!screening_queue_is_empty(&screening->queue) || screening->under_way > 0 ||
                      (!screener->gpu->pauses && comparison_has(comparison, screener->place))));
}

/* --- GPUs that leave, or pause --- */

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
    screener->active = false;
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
    team_leave(tuning->team, screener->gpu, status != ERROR_MEMORY);
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
    screener->active = false;
    if (!screener->gpu->has_paused)
        tuning_notice(tuning, screener->gpu, "pauses",
                      device_client_disturbance(screener->gpu->client),
                      "the others take over its work");
    team_pause(tuning->team, screener->gpu);
}

/* Waits for the end of the pause. */
static int pause(struct screener *screener, struct error *error)
{
    struct fleet_gpu *gpu = screener->gpu;
    int64_t end_ns = screening_end_ns(screener->screening);
    if (clock_ns() < gpu->back_ns)
        return event_loop_step(screener->screening->tuning->loop,
                               gpu->back_ns < end_ns ? gpu->back_ns : end_ns, error);
    team_resume(gpu);
    screener->active = true;
    return 0;
}

/* Those that pause need not come back once there is nothing left to do. */
static void dismiss(const struct screening *screening)
{
    for (size_t i = 0; i < screening->screener_count; i++) {
        const struct screener *other = &screening->screeners[i];
        if (other->gpu->pauses && other->task != NULL)
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
    screener->active = status == 0 && !late;
    if (late && !screener->screening->failed)
        tuning_notice(tuning, screener->gpu, "failed", "it did not open the problem in time",
                      "the others did its work");
    if (late)
        team_leave(tuning->team, screener->gpu, false);
    return status == 0 ? 0 : lose(screener, status, error);
}

/* One step of a GPU that may pause; `*more` is false if it was the last. */
static int step(struct screener *screener, bool *more, struct error *error)
{
    struct screening *screening = screener->screening;
    bool over = screening_is_over(screening);
    int status = 0;
    if (!over)
        status = screening_check_interrupt(error);
    if (status == 0 && !over && !screener->gpu->pauses)
        status = screening_queue_fill(&screening->queue, error);
    *more = status == 0 && !screener->gpu->away && has_more(screener, over);
    if (!*more)
        return status;
    if (screener->gpu->pauses) {
        status = pause(screener, error);
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
    bool waits = screener->gpu->away || screener->gpu->pauses;
    int status = waits ? 0 : join(screener, error);
    if (status == 0 && screening->failed) /* meanwhile, on another one */
        more = false;
    while (status == 0 && more)
        status = step(screener, &more, error);
    screener->finished = screener->active && status == 0;
    if (screener->finished)
        dismiss(screening);
    screener->active = false;
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
        screening->screeners[i].joining = !team->gpus[place]->away && !team->gpus[place]->pauses;
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

/* --- the stages --- */

enum { SCREENING_SAMPLES = 3, CLOSER_SAMPLES = 6 };

/* Two GPUs of one model are a few percent apart. */
#define STRANGE_MARGIN 1.1

static bool has_batches(const struct study *study)
{
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++)
        any = any || study->results[i].runs > 1;
    return any;
}

/* A few samples of every variant that is not known, or that a search proposes, and of twins one. */
static int screen_pending(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct twins twins;
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = SCREENING_SAMPLES, .twins = &twins};
    twins_init(&twins, job);
    for (size_t i = 0; i < job->order_count; i++)
        if (!job->known[job->order[i]])
            screening_queue_add(&screening.queue, job->order[i]);
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    int status = screening_run(&screening, error);
    if (status == 0)
        status = screening_keep_duplicates(&screening, error);
    twins_release(&twins);
    if (status == 0 && job->proposer != NULL)
        tuning_job_drop_untried(job, tuning->pool);
    return status;
}

/* More samples of some variants that have samples already, on the leading GPU. */
static int screen_again(struct tuning *tuning, struct tuning_job *job, size_t samples,
                        const bool *wanted, struct error *error)
{
    struct screening screening = {.tuning = tuning, .job = job, .samples = samples};
    int status = 0;
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (!wanted[i])
            continue;
        screening_queue_add(&screening.queue, i);
        if (job->compile_jobs[i] == NULL) /* its samples are from the record */
            status = tuning_job_request(job, tuning->pool, i, error);
    }
    if (status == 0)
        return screening_run(&screening, error);
    screening_queue_release(&screening.queue);
    return status;
}

/* Whether the one sample that a variant has was enough only beside a faster one that has been disqualified
 * since. Single runs take longer than those in batches. */
static bool was_cut_short(const struct result *result, double best_ns)
{
    return result->outcome == OUTCOME_MEASURED && result->sample_count < SCREENING_SAMPLES &&
           result->time.median_ns <= SCREENER_HOPELESS * best_ns;
}

static double best_of(const struct study *study)
{
    double best_ns = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        double ns = result->time.median_ns + (result->runs > 1 ? TUNING_SHORT_NS : 0);
        if (result->outcome == OUTCOME_MEASURED && (best_ns <= 0 || ns < best_ns))
            best_ns = ns;
    }
    return best_ns;
}

/* Whether nobody knows what its time is worth beside those of the leading GPU. */
static bool is_strange(const struct tuning *tuning, const struct study *study,
                       const struct result *result)
{
    return result->outcome == OUTCOME_MEASURED && result->gpu[0] != '\0' &&
           !team_compares(tuning->team, study, result->gpu);
}

/* Of times that an earlier run took on another GPU, those that could be the best are taken again: at first
 * those that are near the best of them. */
static int screen_strange(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    bool *wanted = alloc_zeroed(study->result_count, sizeof *wanted);
    double best_ns = 0;
    bool more = true;
    int status = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (is_strange(tuning, study, result) && (best_ns <= 0 || result->time.median_ns < best_ns))
            best_ns = result->time.median_ns;
    }
    while (status == 0 && more && clock_ns() < allowance_look_end(&tuning->allowance)) {
        more = false;
        for (size_t i = 0; i < study->result_count; i++) {
            wanted[i] = is_strange(tuning, study, &study->results[i]) &&
                        study->results[i].time.median_ns <= STRANGE_MARGIN * best_ns;
            more = more || wanted[i];
        }
        if (more)
            status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
        best_ns = best_of(study);
    }
    free(wanted);
    return status;
}

/* After a disqualification, those that got fewer samples get the rest. Once one variant is batched, so are
 * those that were sampled singly and could be compared with it. If more could still win than the finals
 * hold, a closer look decides who goes there. */
static int screen_best(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    const double best_ns = best_of(study);
    bool *wanted = alloc_zeroed(study->result_count, sizeof *wanted);
    size_t count;
    for (size_t i = 0; i < study->result_count; i++)
        wanted[i] = job->disqualified && was_cut_short(&study->results[i], best_ns);
    job->disqualified = false;
    int status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
    const bool batched = has_batches(study);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        wanted[i] = batched && result->outcome == OUTCOME_MEASURED && result->runs == 1 &&
                    result->time.median_ns < TUNING_COMPARABLE_NS;
    }
    if (status == 0)
        status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
    free(wanted);
    wanted = tuning_choose(tuning, study, ALLOWANCE_LOOK, &count);
    if (status == 0 && !tuning->rules.everyone && count > tuning->rules.finalists)
        status = screen_again(tuning, job, CLOSER_SAMPLES, wanted, error);
    free(wanted);
    return status;
}

int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = screen_pending(tuning, job, error);
    if (status == 0)
        status = screen_strange(tuning, job, error);
    do {
        if (status == 0)
            status = screen_best(tuning, job, error);
    } while (status == 0 && job->disqualified);
    return status;
}
