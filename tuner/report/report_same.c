#include "report/report_formats.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool same_head(const struct study *a, const struct study *b)
{
    const struct environment *first = &a->environment;
    const struct environment *second = &b->environment;
    return first->static_mode && second->static_mode && same_text(a->kernel, b->kernel) &&
           same_text(a->template_hash, b->template_hash) &&
           same_text(a->description, b->description) &&
           same_text(first->gpu.arch, second->gpu.arch) &&
           same_text(first->gpu.name, second->gpu.name) && same_text(first->nvrtc, second->nvrtc) &&
           same_text(first->autotune, second->autotune) && a->complete == b->complete &&
           same_text(a->refusal, b->refusal) && a->points == b->points &&
           a->rejected == b->rejected && a->result_count == b->result_count &&
           a->rejection_count == b->rejection_count;
}

static bool same_rejections(const struct study *a, const struct study *b)
{
    for (size_t i = 0; i < a->rejection_count; i++)
        if (a->rejections[i].points != b->rejections[i].points ||
            !same_text(a->rejections[i].constraint, b->rejections[i].constraint))
            return false;
    return true;
}

/* All but the grid, which no table shows. */
static bool same_stats(const struct kernel_stats *a, const struct kernel_stats *b)
{
    return a->known == b->known && a->registers == b->registers &&
           a->spill_bytes == b->spill_bytes && a->stack_bytes == b->stack_bytes &&
           a->static_shared_bytes == b->static_shared_bytes &&
           a->dynamic_shared_bytes == b->dynamic_shared_bytes &&
           a->block_threads == b->block_threads && a->blocks_per_sm == b->blocks_per_sm &&
           a->occupancy == b->occupancy && a->limiters == b->limiters;
}

static bool same_result(const struct result *a, const struct result *b)
{
    return a->outcome == b->outcome && same_text(a->reason, b->reason) &&
           same_stats(&a->stats, &b->stats) && bindings_equal(&a->parameters, &b->parameters);
}

/* In order of rank, since the record may have the variants in another order. */
static bool same_results(const struct study *a, const struct study *b)
{
    size_t *first = alloc_zeroed(a->result_count, sizeof *first);
    size_t *second = alloc_zeroed(b->result_count, sizeof *second);
    bool same = true;
    study_rank(a, first);
    study_rank(b, second);
    for (size_t i = 0; i < a->result_count && same; i++)
        same = same_result(&a->results[first[i]], &b->results[second[i]]);
    free(first);
    free(second);
    return same;
}

bool report_same_figures(const struct study *a, const struct study *b)
{
    return same_head(a, b) && same_rejections(a, b) && same_results(a, b);
}
