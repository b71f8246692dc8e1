/* Virtual time: it passes by what is queued, never by what the host does. */
#include "standin.h"

#include <math.h>
#include <string.h>

static double now_ns;
static uint64_t draws;

double clock_now_ns(void)
{
    return now_ns;
}

void clock_advance(double ns)
{
    now_ns += ns;
}

/* splitmix64 of the seed and a counter (Steele, Lea and Flood 2014), in (0, 1] */
static double uniform(uint64_t seed, uint64_t counter)
{
    uint64_t x = (seed + 1) * 0xd1342543de82ef95u + counter * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)((x >> 11) + 1) * 0x1p-53;
}

/* Box and Muller 1958, cut at four standard deviations; of counters `first` and the one after it */
static double gaussian(uint64_t seed, uint64_t first)
{
    double radius = sqrt(-2 * log(uniform(seed, first)));
    double x = radius * cos(6.283185307179586 * uniform(seed, first + 1));
    return fmax(-4, fmin(4, x));
}

/* What this load of its module gains or loses. */
static double placement(const struct launch *launch)
{
    return gaussian(0, 2 * launch->load);
}

/* What this shape of a launch gains or loses from where its buffers lie. In another process, with another seed, it is
 * something else. */
static double address_effect(uint64_t seed, const struct launch *launch)
{
    uint64_t shape = launch->place * 1000003 + launch->block_threads * 8209 + launch->blocks;
    return launch->place == 0 ? 0 : gaussian(~seed, 2 * shape);
}

static double base_ns(const struct time_model *model, const char *entry)
{
    for (size_t i = 0; i < model->entry_count; i++)
        if (strcmp(model->entries[i].entry, entry) == 0)
            return model->entries[i].base_ns;
    if (strcmp(entry, "autotune_empty") == 0)
        return 2500;
    return model->base_ns;
}

bool clock_is_throttled(const struct time_model *model)
{
    if (model->throttle_period_ms <= 0)
        return false;
    double phase_ms = fmod(now_ns / 1e6, model->throttle_period_ms);
    return phase_ms >= model->throttle_period_ms - model->throttle_length_ms;
}

double clock_kernel_ns(const struct time_model *model, const struct launch *launch)
{
    double ns = base_ns(model, launch->entry);
    if (strncmp(launch->entry, "autotune_", 9) != 0) {
        double block = log2(launch->block_threads / model->best_block);
        double grid = log2((double)launch->blocks / model->best_grid);
        ns += model->element_ns * (double)launch->elements;
        ns *= 1 + model->steepness * (block * block + grid * grid);
    }
    draws += 2;
    ns *= 1 + model->noise * gaussian(model->seed, draws - 1);
    ns *= 1 + model->placement * placement(launch);
    ns *= 1 + model->addresses * address_effect(model->seed, launch);
    ns *= 1 + model->drift * now_ns / 1e9;
    if (clock_is_throttled(model))
        ns *= model->throttle_factor;
    return fmax(ns, SHORTEST_NS);
}
