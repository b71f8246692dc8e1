#include "tune/team.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- variants that every GPU times --- */

enum { FIRST_COMPARED = 3, SHORTEST_INTERVAL = 32 };

void comparison_init(struct comparison *comparison, size_t gpu_count)
{
    *comparison = (struct comparison){.gpu_count = gpu_count};
}

void comparison_release(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        free(comparison->variants[i].ns);
        free(comparison->variants[i].begun);
    }
    *comparison = (struct comparison){0};
}

static bool has(const struct comparison *comparison, size_t index)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->variants[i].index == index)
            return true;
    return false;
}

static void add(struct comparison *comparison, size_t index, size_t gpu, double ns)
{
    size_t gpus = comparison->gpu_count;
    struct compared_variant *variant = &comparison->variants[comparison->count++];
    *variant = (struct compared_variant){.index = index,
                                         .ns = alloc_zeroed(gpus, sizeof *variant->ns),
                                         .begun = alloc_zeroed(gpus, sizeof *variant->begun)};
    variant->ns[gpu] = ns;
    variant->begun[gpu] = true;
}

void comparison_note(struct comparison *comparison, size_t index, size_t gpu, double ns)
{
    if (comparison->gpu_count < 2 || comparison->count == COMPARED_MOST)
        return;
    if (comparison->best_ns <= 0 || ns < comparison->best_ns) {
        comparison->best = index;
        comparison->best_gpu = gpu;
        comparison->best_ns = ns;
    }
    comparison->measured++;
    if (comparison->count < FIRST_COMPARED)
        add(comparison, index, gpu, ns);
    else if (comparison->measured > comparison->next && !has(comparison, comparison->best))
        add(comparison, comparison->best, comparison->best_gpu, comparison->best_ns);
    else
        return;
    size_t half = comparison->measured / 2;
    comparison->next = comparison->measured + (half > SHORTEST_INTERVAL ? half : SHORTEST_INTERVAL);
}

bool comparison_next(struct comparison *comparison, size_t gpu, size_t *slot)
{
    for (size_t i = 0; i < comparison->count; i++) {
        if (comparison->variants[i].begun[gpu])
            continue;
        comparison->variants[i].begun[gpu] = true;
        *slot = i;
        return true;
    }
    return false;
}

bool comparison_has(const struct comparison *comparison, size_t gpu)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (!comparison->variants[i].begun[gpu])
            return true;
    return false;
}

void comparison_take(struct comparison *comparison, size_t slot, size_t gpu, double ns)
{
    comparison->variants[slot].ns[gpu] = ns;
    if (ns < 0 && comparison->variants[slot].index == comparison->best)
        comparison->best_ns = 0; /* the next one measured takes its place */
}

void comparison_again(struct comparison *comparison, size_t slot, size_t gpu)
{
    comparison->variants[slot].begun[gpu] = false;
}

bool comparison_close(struct comparison *comparison, size_t *index)
{
    comparison->best_ns = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        struct compared_variant *variant = &comparison->variants[i];
        *index = variant->index;
        if (*index == SIZE_MAX)
            continue;
        variant->index = SIZE_MAX;
        for (size_t gpu = 0; gpu < comparison->gpu_count; gpu++)
            variant->begun[gpu] = true;
        return true;
    }
    return false;
}

void comparison_judge(const struct comparison *comparison, size_t gpu, size_t lead,
                      struct study_gpu *figures)
{
    double ratios[COMPARED_MOST];
    size_t count = 0;
    figures->failed = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const double *ns = comparison->variants[i].ns;
        figures->failed += ns[gpu] < 0;
        if (ns[gpu] > 0 && ns[lead] > 0)
            ratios[count++] = ns[gpu] / ns[lead];
    }
    study_gpu_compare(figures, ratios, count);
}

/* --- the team --- */

#define PAUSE_NS 2000000000
#define LEAST_PATIENCE_NS 2000000000

enum { PATIENCE = 3 /* times as long as the first GPU took to open the problem */ };

void team_add(struct team *team, struct fleet_gpu *gpu)
{
    *ARRAY_APPEND(team->gpus, team->count) = gpu;
}

void team_release(struct team *team)
{
    comparison_release(&team->comparison);
    free(team->gpus);
    *team = (struct team){0};
}

struct fleet_gpu *team_lead(const struct team *team)
{
    return team->gpus[team->lead];
}

static bool is_ready(const struct fleet_gpu *gpu)
{
    return gpu->open && !gpu->away && !gpu->pauses;
}

/* If the leading GPU is not ready, and none is, one leads that may be later. */
static void replace_lead(struct team *team)
{
    team_choose_lead(team);
    for (size_t i = 0; i < team->count && team_lead(team)->away; i++)
        if (!team->gpus[i]->away)
            team->lead = i;
}

void team_leave(struct team *team, struct fleet_gpu *gpu, bool lost)
{
    gpu->away = true;
    gpu->lost = lost;
    gpu->open = false;
    if (lost)
        device_client_kill(gpu->client);
    replace_lead(team);
}

void team_pause(struct team *team, struct fleet_gpu *gpu)
{
    gpu->pauses = gpu->has_paused = true;
    gpu->back_ns = clock_ns() + PAUSE_NS;
    replace_lead(team);
}

void team_resume(struct fleet_gpu *gpu)
{
    gpu->pauses = false;
    device_client_forgive(gpu->client);
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
           gpu->client->failed && !gpu->client->not_prepared;
}

struct fleet_gpu *team_culprit(const struct team *team, int status)
{
    for (size_t i = 0; i < team->count; i++)
        if (is_ready(team->gpus[i]) && team_is_loss(team->gpus[i], status))
            return team->gpus[i];
    return NULL;
}

struct fleet_gpu *team_other(const struct team *team, const struct fleet_gpu *gpu)
{
    struct fleet_gpu *other = NULL;
    for (size_t i = team->count; i-- > 0;)
        if (team->gpus[i] != gpu && !team->gpus[i]->away && !team->gpus[i]->pauses &&
            (other == NULL || team->gpus[i]->open || !other->open))
            other = team->gpus[i];
    return other;
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
        source->descriptor = device_client_opening(gpus[i]->client, &source->deadline_ns);
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
    return device_client_opening(gpu->client, &overdue_ns) >= 0;
}

int team_await(struct event_loop *loop, struct fleet_gpu *gpu, int64_t until_ns,
               struct error *error)
{
    size_t place = 0;
    int status = is_opening(gpu) ? await_any(loop, &gpu, 1, until_ns, &place, error) : 0;
    return status != 0 ? status : place == 0;
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
        bool asked = false;
        int status = 0;
        for (size_t i = 0; i < count; i++)
            asked = asked || is_opening(gpus[i]);
        size_t place =
            asked && count > 1 ? count : 0; /* of the first that has answered, if any is asked */
        while (place == count && status == 0)
            status = await_any(loop, gpus, count, EVENT_NEVER, &place, error);
        if (status != 0)
            return status;
        struct fleet_gpu *gpu = gpus[place];
        memmove(gpus + place, gpus + place + 1, (--count - place) * sizeof *gpus);
        status = device_client_open(gpu->client, &team->problem, empty_ns, &own);
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

int team_open(struct team *team, struct event_loop *loop, const struct opened_problem *problem,
              double *empty_ns, struct error *error)
{
    int64_t begin_ns = clock_ns();
    size_t count = 0;
    team->problem = *problem;
    team->problem.shared = team->count > 1;
    comparison_release(&team->comparison);
    comparison_init(&team->comparison, team->count);
    struct fleet_gpu **gpus = alloc_zeroed(team->count, sizeof *gpus);
    int status = 0;
    for (size_t i = 0; i < team->count && status == 0; i++) {
        struct fleet_gpu *gpu = team->gpus[(team->lead + i) % team->count];
        gpu->open = gpu->pauses = false;
        gpu->away = gpu->lost;
        if (gpu->lost)
            continue;
        if (is_opening(gpu)) /* the problem before, for which nobody waits any more */
            status = device_client_restart(gpu->client, error);
        device_client_open_begin(gpu->client, &team->problem);
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
    int status = gpu->open ? 0 : device_client_open(gpu->client, &team->problem, &empty_ns, error);
    gpu->open = status == 0;
    return status;
}

void team_describe(const struct team *team, struct study *study)
{
    free(study->gpus);
    study->gpus = NULL;
    study->gpu_count = 0;
    for (size_t i = 0; i < team->count && team->count > 1; i++) {
        size_t place = i == 0 ? team->lead : i <= team->lead ? i - 1 : i;
        struct study_gpu *gpu = ARRAY_APPEND(study->gpus, study->gpu_count);
        (void)snprintf(gpu->uuid, sizeof gpu->uuid, "%s", team->gpus[place]->gpu.uuid);
        comparison_judge(&team->comparison, place, team->lead, gpu);
        if (i == 0)
            gpu->ratio = 1;
    }
}

bool team_compares(const struct team *team, const struct study *study, const char *uuid)
{
    size_t place = study_gpus_find(study->gpus, study->gpu_count, uuid);
    return strcmp(team_lead(team)->gpu.uuid, uuid) == 0 ||
           (place < study->gpu_count && study->gpus[place].ratio > 0);
}

struct gpu_conditions team_conditions(const struct team *team)
{
    struct gpu_conditions all = {0};
    double clocks_mhz = 0;
    int seen = 0;
    for (size_t i = 0; i < team->count; i++) {
        struct gpu_conditions one = {0};
        if (team->gpus[i]->open)
            one = device_client_conditions(team->gpus[i]->client);
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
        if (team->gpus[i]->client->not_prepared)
            return true;
    return false;
}
