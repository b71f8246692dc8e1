#include "report/improvements.h"

#include "base/alloc.h"

#include <stdlib.h>

static int compare_seen(const void *left, const void *right)
{
    const struct improvement *a = left;
    const struct improvement *b = right;
    int order = (a->result->seen_s > b->result->seen_s) - (a->result->seen_s < b->result->seen_s);
    return order != 0 ? order : (a->result > b->result) - (a->result < b->result);
}

struct improvement *improvements_of(const struct study *study, size_t *count)
{
    struct improvement *all = alloc_zeroed(study->result_count, sizeof *all);
    size_t seen = 0;
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].seen_s > 0)
            all[seen++].result = &study->results[i];
    if (seen > 1)
        qsort(all, seen, sizeof *all, compare_seen);
    for (size_t i = 0; i < seen; i++) {
        const struct result *result = all[i].result;
        if (result->outcome != OUTCOME_MEASURED ||
            (*count > 0 && result->time.median_ns >= all[*count - 1].result->time.median_ns))
            continue;
        all[(*count)++] = (struct improvement){.number = i + 1, .result = result};
    }
    return all;
}
