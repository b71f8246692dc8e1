#include "record/study_estimate.h"

#include "base/alloc.h"
#include "search/search_estimate.h"

#include <math.h>
#include <stdlib.h>

static int compare_seen(const void *left, const void *right)
{
    const struct result *a = *(const struct result *const *)left;
    const struct result *b = *(const struct result *const *)right;
    int order = (a->seen_s > b->seen_s) - (a->seen_s < b->seen_s);
    return order != 0 ? order : (a > b) - (a < b);
}

double study_estimate(const struct study *study, size_t *in_vain)
{
    size_t count = study->result_count;
    *in_vain = 0;
    if (!study_is_partial(study))
        return study_space(study) > 0 ? 0 : NAN;
    const struct result **order = alloc_zeroed(count, sizeof *order);
    double *times_ns = alloc_zeroed(count, sizeof *times_ns);
    for (size_t i = 0; i < count; i++)
        order[i] = &study->results[i];
    if (count > 1)
        qsort(order, count, sizeof *order, compare_seen);
    for (size_t i = 0; i < count; i++)
        times_ns[i] = order[i]->outcome == OUTCOME_MEASURED ? order[i]->time.median_ns : INFINITY;
    double within = search_estimate(times_ns, count, in_vain);
    free(order);
    free(times_ns);
    return within;
}
