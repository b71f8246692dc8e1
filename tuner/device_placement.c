#include "device_placement.h"

#include "alloc.h"
#include "device_problem.h"

#include <stdlib.h>
#include <string.h>

static void free_set(struct device_problem *problem, struct device_buffer *set)
{
    for (size_t i = 0; set != NULL && i < problem->template.buffer_count; i++)
        device_buffer_free(problem->device, &set[i]);
    free(set);
}

/* Bytes of one placement, guards included. */
static uint64_t set_bytes(const struct device_problem *problem)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        if (problem->buffers[i].base != 0)
            bytes += problem->buffers[i].bytes + UINT64_C(2) * GUARD_BYTES;
    return bytes;
}

/* Leaves seven eighths of what was free to the variants' scratch buffers and to others. */
static int has_room(struct device_problem *problem, bool *room, struct error *error)
{
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    int status = CUDA(problem->device, cuMemGetInfo, &free_bytes, &all_bytes);
    uint64_t taken = problem->placements.count * set_bytes(problem);
    *room = status == 0 && taken + set_bytes(problem) <= (free_bytes + taken) / 8;
    return status;
}

/* Notes the problem's own buffers as the first placement. */
static void note_own(struct device_problem *problem)
{
    size_t count = problem->template.buffer_count;
    struct device_buffer *own = alloc_zeroed(count, sizeof *own);
    if (count > 0)
        memcpy(own, problem->buffers, count * sizeof *own);
    problem->placements.sets[problem->placements.count++] = own;
}

static int copy_set(struct device_problem *problem, struct device_buffer *set, struct error *error)
{
    const struct device_buffer *own = problem->placements.sets[0];
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++) {
        if (own[i].base == 0)
            continue;
        status =
            device_buffer_new(problem->device, &set[i], NULL, own[i].type, own[i].length, error);
        if (status == 0)
            status = device_buffer_copy(problem->device, &set[i], &own[i], error);
    }
    return status;
}

static int add_placement(struct device_problem *problem, struct error *error)
{
    struct device_placements *placements = &problem->placements;
    bool room = false;
    int status = has_room(problem, &room, error);
    placements->full = !room;
    if (status != 0 || !room)
        return status;
    struct device_buffer *set = alloc_zeroed(problem->template.buffer_count, sizeof *set);
    status = copy_set(problem, set, error);
    if (status == 0) {
        placements->sets[placements->count++] = set;
        return 0;
    }
    placements->full = true;
    if (problem->device->last != CUDA_ERROR_OUT_OF_MEMORY)
        return status; /* the context is in an unknown state, and so is the set */
    free_set(problem, set);
    return 0;
}

int device_problem_place(struct device_problem *problem, size_t number, struct error *error)
{
    struct device_placements *placements = &problem->placements;
    int status = 0;
    if (!problem->cold)
        return 0;
    if (placements->count == 0)
        note_own(problem);
    if (number >= placements->count && placements->count < PLACEMENTS && !placements->full)
        status = add_placement(problem, error);
    if (status != 0)
        return status;
    /* the variants' arguments point into problem->buffers */
    placements->current = number % placements->count;
    const struct device_buffer *set = placements->sets[placements->current];
    if (problem->template.buffer_count > 0)
        memcpy(problem->buffers, set, problem->template.buffer_count * sizeof *set);
    return 0;
}

void device_placements_release(struct device_problem *problem)
{
    struct device_placements *placements = &problem->placements;
    for (size_t i = 0; i < placements->count; i++) {
        if (i == placements->current)
            free(placements->sets[i]);
        else
            free_set(problem, placements->sets[i]);
    }
    *placements = (struct device_placements){0};
}
