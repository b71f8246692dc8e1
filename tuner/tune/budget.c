#include "tune/budget.h"

#include "base/event_loop.h"

#include <math.h>

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

enum {
    USUAL_ROUNDS = 30, /* of finals, for all finalists */
    USUAL_FINALISTS = 16,
    ROUND_SAMPLES = 3, /* of a finalist in a round */
    LOOK_SAMPLES = 6,
    REQUEST_NS = 300000, /* what a request costs besides the work */
    TRIALS_UNDER_WAY = 2
};

/* At most such parts of the whole are kept for the finals, and for the closer look. */
static const double finals_share = 0.15;
static const double look_share = 0.1;

/* So much of the whole may be left over. */
static const double rest_share = 0.05;

void allowance_begin(struct allowance *allowance, int64_t begin_ns, int64_t end_ns, int64_t last_ns)
{
    *allowance = (struct allowance){.begin_ns = begin_ns, .end_ns = end_ns, .last_ns = last_ns};
}

int64_t allowance_end(const struct allowance *allowance)
{
    if (allowance->end_ns == 0)
        return EVENT_NEVER;
    return allowance->fastest_ns > 0 ? allowance->end_ns : allowance->last_ns;
}

void allowance_note(struct allowance *allowance, double median_ns, double load_ns, double verify_ns,
                    double measure_ns, size_t samples)
{
    if (samples == 0 || (allowance->fastest_ns > 0 && median_ns >= allowance->fastest_ns))
        return;
    allowance->fastest_ns = median_ns;
    allowance->trial_ns = load_ns + verify_ns + measure_ns + REQUEST_NS;
    allowance->load_ns = load_ns;
    allowance->sample_ns = measure_ns / (double)samples;
}

static double whole_ns(const struct allowance *allowance)
{
    return (double)(allowance->end_ns - allowance->begin_ns);
}

/* What a finalist costs: it is loaded and verified as in a trial. */
static double finalist_ns(const struct allowance *allowance, unsigned rounds)
{
    return allowance->trial_ns + (double)rounds * (ROUND_SAMPLES * allowance->sample_ns +
                                                   allowance->load_ns + REQUEST_NS);
}

int64_t allowance_look_end(const struct allowance *allowance)
{
    int64_t end_ns = allowance_end(allowance);
    double finals_ns = fmin(USUAL_FINALISTS * finalist_ns(allowance, USUAL_ROUNDS),
                            finals_share * whole_ns(allowance));
    if (end_ns == EVENT_NEVER || allowance->fastest_ns <= 0)
        return end_ns;
    return end_ns - (int64_t)(allowance->data_ns + finals_ns);
}

int64_t allowance_search_end(const struct allowance *allowance)
{
    int64_t end_ns = allowance_look_end(allowance);
    double one_ns = allowance->trial_ns + LOOK_SAMPLES * allowance->sample_ns;
    double look_ns = fmin(ALLOWANCE_LOOK * one_ns, look_share * whole_ns(allowance));
    double reserve_ns = look_ns + TRIALS_UNDER_WAY * allowance->trial_ns;
    return end_ns == EVENT_NEVER ? end_ns : end_ns - (int64_t)reserve_ns;
}

struct race_rules allowance_rules(const struct allowance *allowance, struct race_rules rules,
                                  int64_t now_ns)
{
    if (allowance->end_ns == 0 || allowance->fastest_ns <= 0 || rules.everyone)
        return rules;
    double left_ns = (double)(allowance->end_ns - now_ns) - allowance->data_ns;
    double each_ns = finalist_ns(allowance, rules.minimum_rounds);
    while (rules.finalists > 2 && rules.finalists * each_ns > left_ns)
        rules.finalists--;
    double round_ns = finalist_ns(allowance, 1) - finalist_ns(allowance, 0);
    double rounds = (left_ns / rules.finalists - allowance->trial_ns) / round_ns;
    if (rounds < rules.maximum_rounds)
        rules.maximum_rounds = rounds > 1 ? (unsigned)rounds : 1;
    if (rules.minimum_rounds > rules.maximum_rounds)
        rules.minimum_rounds = rules.maximum_rounds;
    return rules;
}

bool allowance_has_more(const struct allowance *allowance, int64_t now_ns, int64_t finals_ns)
{
    if (allowance->end_ns == 0)
        return false;
    double left_ns = (double)(allowance->end_ns - now_ns);
    return left_ns > rest_share * whole_ns(allowance) && left_ns > 2 * (double)finals_ns;
}
