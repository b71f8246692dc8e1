#include "report/report_roofs.h"

#include <math.h>
#include <string.h>

static int fp32_lanes(int compute_capability)
{
    static const struct {
        int compute_capability;
        int lanes;
    } table[] = {{60, 64}, {70, 64}, {72, 64}, {75, 64}, {80, 64}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].compute_capability == compute_capability)
            return table[i].lanes;
    return 128;
}

/* Cards of one name may have different numbers of SMs. */
static bool same_gpu(const struct study *a, const struct study *b)
{
    const struct gpu *first = &a->environment.gpu;
    const struct gpu *second = &b->environment.gpu;
    return strcmp(first->name, second->name) == 0 && strcmp(first->arch, second->arch) == 0 &&
           first->attributes[GPU_sm_count] == second->attributes[GPU_sm_count];
}

/* The best rate that kernels of the template reached: bytes, or operations, a nanosecond. */
static double measured(const struct study *subject, const struct study *studies, size_t count,
                       const char *template_name, bool bytes)
{
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        const struct study *study = &studies[i];
        if (strcmp(study->template_name, template_name) != 0 || study->environment.static_mode ||
            !same_gpu(study, subject))
            continue;
        for (size_t j = 0; j < study->result_count; j++) {
            const struct result *result = &study->results[j];
            double work = bytes ? result->bytes : result->operations;
            if (result->outcome == OUTCOME_MEASURED && result->time.median_ns > 0)
                best = fmax(best, work / result->time.median_ns);
        }
    }
    return best;
}

void roofs_find(const struct study *subject, const struct study *studies, size_t count,
                struct roofs *roofs)
{
    const struct gpu *gpu = &subject->environment.gpu;
    const int64_t *attributes = gpu->attributes;
    *roofs = (struct roofs){
        .bytes_per_ns = measured(subject, studies, count, "roof_copy", true),
        .operations_per_ns = measured(subject, studies, count, "roof_fma", false),
    };
    roofs->bytes_measured = roofs->bytes_per_ns > 0;
    roofs->operations_measured = roofs->operations_per_ns > 0;
    if (!roofs->bytes_measured)
        roofs->bytes_per_ns = gpu_memory_gb_per_s(gpu); /* the same number */
    if (!roofs->operations_measured)
        roofs->operations_per_ns = (double)attributes[GPU_sm_count] *
                                   fp32_lanes(gpu->compute_capability) * 2 *
                                   (double)attributes[GPU_clock_khz] * 1e-6;
}
