#include "tune/team.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAUSE_NS 1000000000
#define LONGEST_PAUSE_NS 60000000000

void team_add(struct team *team, struct fleet_gpu *gpu)
{
    *ARRAY_APPEND(team->gpus, team->count) = gpu;
}

void team_release(struct team *team)
{
    gpu_comparison_release(&team->comparison);
    free(team->gpus);
    *team = (struct team){0};
}

int team_confirm(struct team *team, const char *folder, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < team->count && (status == 0 || status == ERROR_DEVICE); i++) {
        int own = fleet_confirm(team->gpus[i], folder, status == 0 ? error : NULL);
        status = status == 0 ? own : status;
    }
    return status;
}

struct fleet_gpu *team_lead(const struct team *team)
{
    return team->gpus[team->lead];
}

void team_leave(struct team *team, struct fleet_gpu *gpu, bool broken)
{
    int64_t pause_ns = gpu->pause_ns > 0 ? 2 * gpu->pause_ns : FIRST_PAUSE_NS;
    gpu->away = true;
    gpu->broken = gpu->broken || broken;
    gpu->open = gpu->open && !broken;
    gpu->pause_ns = pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS;
    gpu->back_ns = clock_ns() + gpu->pause_ns;
    for (size_t i = 0; i < team->count && team_lead(team)->away; i++)
        if (!team->gpus[i]->away)
            team->lead = i;
}

bool team_is_loss(const struct fleet_gpu *gpu, int status)
{
    return (status == ERROR_DEVICE || status == ERROR_WORKER || status == ERROR_MEMORY) &&
           !gpu_client_not_prepared(gpu->client);
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
    for (size_t i = 0; i < team->count; i++)
        if (team->gpus[i] != gpu && !team->gpus[i]->away)
            return team->gpus[i];
    return NULL;
}

/* For a GPU that was lost with another problem open. */
static int restart_if_broken(struct fleet_gpu *gpu, struct error *error)
{
    int status = gpu->broken ? gpu_client_restart(gpu->client, error) : 0;
    gpu->broken = status != 0;
    gpu->away = gpu->away && status != 0;
    return status;
}

static int open_on_lead(struct team *team, const struct gpu_problem *problem, double *empty_ns,
                        struct error *error)
{
    struct fleet_gpu *lead = team_lead(team);
    int status = restart_if_broken(lead, error);
    if (status == 0)
        status = gpu_client_open(lead->client, problem, empty_ns, error);
    lead->open = status == 0;
    return status;
}

int team_open(struct team *team, const struct gpu_problem *problem, double *empty_ns,
              struct error *error)
{
    team->problem = *problem;
    gpu_comparison_release(&team->comparison);
    gpu_comparison_init(&team->comparison, team->count);
    for (size_t i = 0; i < team->count; i++)
        team->gpus[i]->open = false;
    struct fleet_gpu *lead = team_lead(team);
    int status = open_on_lead(team, problem, empty_ns, error);
    if (status == 0 || !team_is_loss(lead, status) || team_other(team, lead) == NULL)
        return status;
    team_leave(team, lead, true); /* or it is the problem's fault: then another one says the same */
    return open_on_lead(team, problem, empty_ns, error);
}

int team_join(const struct team *team, struct fleet_gpu *gpu, struct error *error)
{
    double empty_ns;
    int status = gpu->open ? 0 : gpu_client_open(gpu->client, &team->problem, &empty_ns, error);
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
        gpu_comparison_judge(&team->comparison, place, team->lead, gpu);
        if (i == 0)
            gpu->ratio = 1;
    }
}

struct study_gpu *team_find(const struct fleet_gpu *gpu, struct study *study)
{
    for (size_t i = 0; gpu != NULL && i < study->gpu_count; i++)
        if (strcmp(study->gpus[i].uuid, gpu->gpu.uuid) == 0)
            return &study->gpus[i];
    return NULL;
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
