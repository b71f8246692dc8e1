#include "tune/gpu_comparison.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_COMPARED = 3, SHORTEST_INTERVAL = 32 };

void gpu_comparison_init(struct gpu_comparison *comparison, size_t gpu_count)
{
    *comparison = (struct gpu_comparison){.gpu_count = gpu_count};
}

void gpu_comparison_release(struct gpu_comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        free(comparison->variants[i].ns);
        free(comparison->variants[i].begun);
    }
    *comparison = (struct gpu_comparison){0};
}

static bool has(const struct gpu_comparison *comparison, size_t index)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->variants[i].index == index)
            return true;
    return false;
}

static void add(struct gpu_comparison *comparison, size_t index, size_t gpu, double ns)
{
    size_t gpus = comparison->gpu_count;
    struct compared_variant *variant = &comparison->variants[comparison->count++];
    *variant = (struct compared_variant){.index = index,
                                         .ns = alloc_zeroed(gpus, sizeof *variant->ns),
                                         .begun = alloc_zeroed(gpus, sizeof *variant->begun)};
    variant->ns[gpu] = ns;
    variant->begun[gpu] = true;
}

void gpu_comparison_note(struct gpu_comparison *comparison, size_t index, size_t gpu, double ns)
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

bool gpu_comparison_next(struct gpu_comparison *comparison, size_t gpu, size_t *slot)
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

bool gpu_comparison_has(const struct gpu_comparison *comparison, size_t gpu)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (!comparison->variants[i].begun[gpu])
            return true;
    return false;
}

void gpu_comparison_take(struct gpu_comparison *comparison, size_t slot, size_t gpu, double ns)
{
    comparison->variants[slot].ns[gpu] = ns;
}

void gpu_comparison_again(struct gpu_comparison *comparison, size_t slot, size_t gpu)
{
    comparison->variants[slot].begun[gpu] = false;
}

bool gpu_comparison_close(struct gpu_comparison *comparison, size_t *index)
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

void gpu_comparison_judge(const struct gpu_comparison *comparison, size_t gpu, size_t lead,
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
