#include "search/ranking.h"

#include "base/alloc.h"
#include "search/random_number.h"

#include <stdlib.h>

struct ranked {
    double time;
    size_t position;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a;
    const struct ranked *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

size_t *ranking_new(const double *times, size_t count)
{
    struct ranked *ranked = alloc_zeroed(count, sizeof *ranked);
    size_t *ranking = alloc_zeroed(count, sizeof *ranking);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){times[i], i};
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        ranking[i] = ranked[i].position;
    free(ranked);
    return ranking;
}

void ranking_sample(size_t *ranking, size_t count, size_t most, uint64_t *random)
{
    for (size_t i = most / 2; i < most && most < count; i++) {
        size_t other = i + random_below(random, count - i);
        size_t moved = ranking[i];
        ranking[i] = ranking[other];
        ranking[other] = moved;
    }
}
