#include "tune/team.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAUSE_NS 1000000000
#define LONGEST_PAUSE_NS 60000000000
#define LEAST_PATIENCE_NS 2000000000

enum { PATIENCE = 3 /* times as long as the first GPU took to open the problem */ };

void team_add(struct team *team, struct fleet_gpu *gpu)
{
    *ARRAY_APPEND(team->gpus, team->count) = gpu;
}

void team_release(struct team *team)
{
    gpu_comparison_release(&team->comparison);
    free(team->earlier);
    free(team->gpus);
    *team = (struct team){0};
}

void team_end_begin(const struct team *team)
{
    for (size_t i = 0; i < team->count; i++)
        gpu_client_end_begin(team->gpus[i]->client);
}

struct fleet_gpu *team_lead(const struct team *team)
{
    return team->gpus[team->lead];
}

static bool is_ready(const struct fleet_gpu *gpu)
{
    return gpu->open && !gpu->away;
}

void team_leave(struct team *team, struct fleet_gpu *gpu, bool broken)
{
    int64_t pause_ns = gpu->pause_ns > 0 ? 2 * gpu->pause_ns : FIRST_PAUSE_NS;
    gpu->away = true;
    gpu->broken = gpu->broken || broken;
    gpu->open = gpu->open && !broken;
    gpu->pause_ns = pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS;
    gpu->back_ns = clock_ns() + gpu->pause_ns;
    team_choose_lead(team);
    for (size_t i = 0; i < team->count && team_lead(team)->away; i++)
        if (!team->gpus[i]->away)
            team->lead = i;
}

void team_choose_lead(struct team *team)
{
    for (size_t i = 0; i < team->count && !is_ready(team_lead(team)); i++)
        if (is_ready(team->gpus[i]))
            team->lead = i;
}

bool team_is_loss(const struct fleet_gpu *gpu, int status)
{
    return (status == ERROR_DEVICE || status == ERROR_WORKER || status == ERROR_MEMORY) &&
           gpu_client_failed(gpu->client) && !gpu_client_not_prepared(gpu->client);
}

struct fleet_gpu *team_culprit(const struct team *team, int status)
{
    for (size_t i = 0; i < team->count; i++)
        if (is_ready(team->gpus[i]) && team_is_loss(team->gpus[i], status))
            return team->gpus[i];
    return NULL;
}

int team_return(struct team *team, struct fleet_gpu *gpu, struct error *error)
{
    int status = gpu->broken ? gpu_client_restart(gpu->client, error) : 0;
    if (status == 0)
        status = team_join(team, gpu, error);
    if (status != 0) {
        team_leave(team, gpu, true);
        return status;
    }
    gpu_client_forgive(gpu->client);
    gpu->away = gpu->broken = false;
    return 0;
}

struct fleet_gpu *team_other(const struct team *team, const struct fleet_gpu *gpu)
{
    struct fleet_gpu *other = NULL;
    for (size_t i = team->count; i-- > 0;)
        if (team->gpus[i] != gpu && !team->gpus[i]->away &&
            (other == NULL || team->gpus[i]->open || !other->open))
            other = team->gpus[i];
    return other;
}

/* For a GPU that was lost with another problem open. */
static int restart_if_broken(struct fleet_gpu *gpu, struct error *error)
{
    int status = gpu->broken ? gpu_client_restart(gpu->client, error) : 0;
    gpu->broken = status != 0;
    gpu->away = gpu->away && status != 0;
    return status;
}

/* --- opening a problem --- */

/* What is told when one of several GPUs has answered. */
static int note(struct event_source *source, struct error *error)
{
    bool *answered = source->owner;
    (void)error;
    *answered = true;
    return 0;
}

/* Waits for any of those that are opening the problem: `*place` is the first that has answered, or
 * `count`. */
static int await_any(struct event_loop *loop, struct fleet_gpu *const *gpus, size_t count,
                     int64_t until_ns, size_t *place, struct error *error)
{
    struct event_source *sources = alloc_zeroed(count, sizeof *sources);
    bool *answered = alloc_zeroed(count, sizeof *answered);
    for (size_t i = 0; i < count; i++) {
        struct event_source *source = &sources[i];
        *source = (struct event_source){.owner = &answered[i], .readable = note, .expired = note};
        source->descriptor = gpu_client_opening(gpus[i]->client, &source->deadline_ns);
        if (source->descriptor >= 0)
            event_loop_add(loop, source);
    }
    int status = event_loop_step(loop, until_ns, error);
    *place = count;
    for (size_t i = count; i-- > 0;) {
        event_loop_remove(loop, &sources[i]);
        *place = answered[i] ? i : *place;
    }
    free(answered);
    free(sources);
    return status;
}

static bool is_opening(const struct fleet_gpu *gpu)
{
    int64_t overdue_ns;
    return gpu_client_opening(gpu->client, &overdue_ns) >= 0;
}

int team_await(struct event_loop *loop, struct fleet_gpu *gpu, int64_t until_ns,
               struct error *error)
{
    size_t place = 0;
    int status = is_opening(gpu) ? await_any(loop, &gpu, 1, until_ns, &place, error) : 0;
    return status != 0 ? status : place == 0;
}

/* The first of the GPUs that has answered, by its place; if none is asked yet, the first one. */
static int next_answer(struct event_loop *loop, struct fleet_gpu *const *gpus, size_t count,
                       size_t *place, struct error *error)
{
    bool asked = false;
    int status = 0;
    for (size_t i = 0; i < count; i++)
        asked = asked || is_opening(gpus[i]);
    *place = asked && count > 1 ? count : 0;
    while (*place == count && status == 0)
        status = await_any(loop, gpus, count, EVENT_NEVER, place, error);
    return status;
}

/* Opens the problem on the first GPU that can. If all fail, the error is the first one's in the list.
 * After an error that is not one GPU's alone, all have to answer before the next problem. */
static int open_first(const struct team *team, struct event_loop *loop, struct fleet_gpu **gpus,
                      size_t count, double *empty_ns, struct error *error)
{
    const struct fleet_gpu *first = gpus[0];
    int failure = 0;
    bool alone = true;
    while (count > 0) {
        struct error own = {0};
        size_t place;
        int status = next_answer(loop, gpus, count, &place, error);
        if (status != 0)
            return status;
        struct fleet_gpu *gpu = gpus[place];
        memmove(gpus + place, gpus + place + 1, (--count - place) * sizeof *gpus);
        status = gpu_client_open(gpu->client, &team->problem, empty_ns, &own);
        gpu->open = status == 0;
        if (gpu->open && alone)
            return 0;
        alone = alone && team_is_loss(gpu, status);
        if (status != 0 && (failure == 0 || gpu == first)) {
            failure = status;
            if (error != NULL)
                *error = own;
        }
        if (status == ERROR_INTERRUPTED)
            return status;
    }
    return failure;
}

int team_open(struct team *team, struct event_loop *loop, const struct gpu_problem *problem,
              double *empty_ns, struct error *error)
{
    int64_t begin_ns = clock_ns();
    size_t count = 0;
    team->problem = *problem;
    team->problem.shared = team->count > 1;
    gpu_comparison_release(&team->comparison);
    gpu_comparison_init(&team->comparison, team->count);
    free(team->earlier);
    team->earlier = NULL;
    team->earlier_count = 0;
    int status = restart_if_broken(team_lead(team), error);
    struct fleet_gpu **gpus = alloc_zeroed(team->count, sizeof *gpus);
    for (size_t i = 0; i < team->count && status == 0; i++) {
        struct fleet_gpu *gpu = team->gpus[(team->lead + i) % team->count];
        gpu->open = false;
        if (gpu->away)
            continue;
        gpu_client_open_begin(gpu->client, &team->problem);
        gpus[count++] = gpu;
    }
    if (status == 0)
        status = open_first(team, loop, gpus, count, empty_ns, error);
    team->patience_ns = clock_ns() + (PATIENCE - 1) * (clock_ns() - begin_ns) + LEAST_PATIENCE_NS;
    free(gpus);
    return status;
}

int team_join(const struct team *team, struct fleet_gpu *gpu, struct error *error)
{
    double empty_ns;
    int status = gpu->open ? 0 : gpu_client_open(gpu->client, &team->problem, &empty_ns, error);
    gpu->open = status == 0;
    return status;
}

/* Where the GPU at that place of the team is among the study's GPUs: the leading one is the first. */
static size_t described_at(const struct team *team, size_t place)
{
    return place == team->lead ? 0 : place < team->lead ? place + 1 : place;
}

/* Whether the study's GPU is the team's at that place. */
static bool describes(const struct team *team, const struct study *study, size_t place)
{
    size_t at = described_at(team, place);
    return at < study->gpu_count && strcmp(study->gpus[at].uuid, team->gpus[place]->gpu.uuid) == 0;
}

void team_describe_one(const struct team *team, size_t place, struct study *study)
{
    if (place == team->lead || team->earlier_count > 0 || !describes(team, study, team->lead) ||
        !describes(team, study, place))
        team_describe(team, study);
    else
        gpu_comparison_judge(&team->comparison, place, team->lead,
                             &study->gpus[described_at(team, place)]);
}

/* The team's own figures go before those of a comparison with earlier times. */
static void describe_earlier(const struct earlier_gpu *earlier, struct study *study)
{
    size_t i = study_gpus_find(study->gpus, study->gpu_count, earlier->gpu.uuid);
    struct study_gpu *gpu =
        i < study->gpu_count ? &study->gpus[i] : ARRAY_APPEND(study->gpus, study->gpu_count);
    if (gpu->ratio > 0)
        return;
    (void)snprintf(gpu->uuid, sizeof gpu->uuid, "%s", earlier->gpu.uuid);
    gpu->compared = earlier->gpu.compared;
    gpu->spread = earlier->gpu.spread;
    gpu->ratio =
        earlier->gpu.ratio * study_gpus_ratio(study->gpus, study->gpu_count, earlier->lead);
}

void team_describe(const struct team *team, struct study *study)
{
    free(study->gpus);
    study->gpus = NULL;
    study->gpu_count = 0;
    for (size_t i = 0; i < team->count && team->count + team->earlier_count > 1; i++) {
        size_t place = i == 0 ? team->lead : i <= team->lead ? i - 1 : i;
        struct study_gpu *gpu = ARRAY_APPEND(study->gpus, study->gpu_count);
        (void)snprintf(gpu->uuid, sizeof gpu->uuid, "%s", team->gpus[place]->gpu.uuid);
        gpu_comparison_judge(&team->comparison, place, team->lead, gpu);
        if (i == 0)
            gpu->ratio = 1;
    }
    for (size_t i = 0; i < team->earlier_count; i++)
        describe_earlier(&team->earlier[i], study);
}

struct study_gpu *team_find(const struct fleet_gpu *gpu, struct study *study)
{
    if (gpu == NULL)
        return NULL;
    size_t place = study_gpus_find(study->gpus, study->gpu_count, gpu->gpu.uuid);
    return place < study->gpu_count ? &study->gpus[place] : NULL;
}

struct gpu_conditions team_conditions(const struct team *team)
{
    struct gpu_conditions all = {0};
    double clocks_mhz = 0;
    int seen = 0;
    for (size_t i = 0; i < team->count; i++) {
        struct gpu_conditions one = {0};
        if (team->gpus[i]->open)
            one = gpu_client_conditions(team->gpus[i]->client);
        if (!one.known)
            continue;
        all.known = true;
        all.dropped_samples += one.dropped_samples;
        all.throttled_samples += one.throttled_samples;
        if (one.other_processes > all.other_processes)
            all.other_processes = one.other_processes;
        clocks_mhz += one.sm_clock_mhz;
        seen++;
    }
    all.sm_clock_mhz = seen > 0 ? clocks_mhz / seen : 0;
    return all;
}

bool team_not_prepared(const struct team *team)
{
    for (size_t i = 0; i < team->count; i++)
        if (gpu_client_not_prepared(team->gpus[i]->client))
            return true;
    return false;
}
