#include "cover/losses.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

static const double squares_share = 5;
static const double worst_share = 0.02;

/* The best time at a size; 0: nothing was measured. */
static double best_ns(const double *times_ns, size_t configurations, size_t sizes, size_t size)
{
    double best = 0;
    for (size_t i = 0; i < configurations; i++) {
        double time_ns = times_ns[i * sizes + size];
        if (time_ns > 0 && (best <= 0 || time_ns < best))
            best = time_ns;
    }
    return best;
}

/* The worst time at a size; 0: nothing was measured. */
static double worst_ns(const double *times_ns, size_t configurations, size_t sizes, size_t size)
{
    double worst = 0;
    for (size_t i = 0; i < configurations; i++)
        worst = fmax(worst, times_ns[i * sizes + size]);
    return worst;
}

static double loss_of_time(double time_ns, double best, double worst)
{
    if (best <= 0)
        return 0;
    if (time_ns <= TIME_RULED_OUT)
        time_ns = worst;
    if (time_ns <= TIME_FAILED)
        return LOSS_FAILED;
    return time_ns > 0 ? fmin(log(time_ns / best), LOSS_FAILED) : LOSS_MISSING;
}

void losses_init(struct losses *losses, const double *times_ns, size_t configurations, size_t sizes)
{
    *losses = (struct losses){.configurations = configurations,
                              .sizes = sizes,
                              .values = alloc_zeroed(configurations * sizes, sizeof(double)),
                              .ruled_out = alloc_zeroed(configurations * sizes, sizeof(bool))};
    for (size_t size = 0; size < sizes; size++) {
        double best = best_ns(times_ns, configurations, sizes, size);
        double worst = worst_ns(times_ns, configurations, sizes, size);
        for (size_t i = 0; i < configurations; i++) {
            double time_ns = times_ns[i * sizes + size];
            losses->values[i * sizes + size] = loss_of_time(time_ns, best, worst);
            losses->ruled_out[i * sizes + size] = best > 0 && time_ns <= TIME_RULED_OUT;
        }
    }
}

void losses_release(struct losses *losses)
{
    free(losses->values);
    free(losses->ruled_out);
    *losses = (struct losses){0};
}

double losses_of(const struct losses *losses, size_t configuration, size_t size)
{
    return losses->values[configuration * losses->sizes + size];
}

double losses_alone(const struct losses *losses, size_t configuration, size_t size)
{
    return losses->ruled_out[configuration * losses->sizes + size]
               ? LOSS_FAILED
               : losses_of(losses, configuration, size);
}

double loss_objective(struct loss loss)
{
    return loss.mean + squares_share * loss.squares + worst_share * loss.worst;
}

double loss_percent(double loss)
{
    return 100 * -expm1(-loss);
}
