#include "tune/run_limits.h"

#include <stdbool.h>

/* Of a budget, for tuning; the rest is for reports and the end of the workers. */
static const double usable = 0.97;

struct sweep_limits run_limits_of(const struct run_limits *limits,
                                  const struct sweep_kernel *kernel)
{
    const struct sweep_limits *all = &limits->sweep->limits;
    struct sweep_limits result = limits->asked;
    if (result.evaluations == 0)
        result.evaluations =
            kernel->limits.evaluations > 0 ? kernel->limits.evaluations : all->evaluations;
    if (result.budget_s <= 0)
        result.budget_s = kernel->limits.budget_s > 0 ? kernel->limits.budget_s : all->budget_s;
    return result;
}

/* Of a budget that began at `begin_ns`: what is left, shared by `sharers`. */
static int64_t share_end_ns(int64_t begin_ns, double budget_s, int64_t now_ns, size_t sharers)
{
    int64_t end_ns = begin_ns + (int64_t)(usable * budget_s * 1e9);
    return now_ns >= end_ns ? end_ns : now_ns + (end_ns - now_ns) / (int64_t)sharers;
}

int64_t run_limits_end_ns(struct run_limits *limits, const struct sweep_kernel *kernel,
                          int64_t now_ns, size_t run_left, size_t kernel_left)
{
    bool asked = limits->asked.budget_s > 0;
    double run_s = asked ? limits->asked.budget_s : limits->sweep->limits.budget_s;
    double kernel_s = asked ? 0 : kernel->limits.budget_s;
    if (limits->kernel != kernel)
        limits->kernel_begin_ns = limits->kernel == NULL ? limits->begin_ns : now_ns;
    limits->kernel = kernel;
    int64_t run_end_ns =
        run_s > 0 ? share_end_ns(limits->begin_ns, run_s, now_ns, run_left) : INT64_MAX;
    int64_t kernel_end_ns =
        kernel_s > 0 ? share_end_ns(limits->kernel_begin_ns, kernel_s, now_ns, kernel_left)
                     : INT64_MAX;
    int64_t end_ns = run_end_ns < kernel_end_ns ? run_end_ns : kernel_end_ns;
    return end_ns < INT64_MAX ? end_ns : 0;
}
