/*
 * usage: estimate FILE.t4.json... [REPEATS]
 *
 * Whether what search_estimate() says holds: replays searches of 400 evaluations on T4 results files
 * in which every point was measured, four proposals at a time, and asks after every tenth. Prints
 * for each file and in all how many of the statements "within 1 %", "3 %" and "10 %" held.
 */
#include "base/alloc.h"
#include "search/measured_space.h"
#include "search/search.h"
#include "search/search_estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 400, BATCH = 4, STEP = 10, LEVELS = 3, REPEATS = 12, SEED = 2000 };

static const double levels[LEVELS] = {0.01, 0.03, 0.1};

struct count {
    size_t said[LEVELS];
    size_t held[LEVELS];
};

static void ask(const double *times_ns, size_t count, double optimum_ns, struct count *counts)
{
    size_t in_vain;
    double within = search_estimate(times_ns, count, &in_vain);
    double best_ns = INFINITY;
    for (size_t i = 0; i < count; i++)
        best_ns = fmin(best_ns, times_ns[i]);
    for (size_t i = 0; i < LEVELS; i++)
        if (within == levels[i]) {
            counts->said[i]++;
            counts->held[i] += best_ns <= optimum_ns * (1 + within);
        }
}

static void replay(const struct measured_space *measured, uint64_t seed, struct count *counts)
{
    const struct search_options options = {.seed = seed};
    size_t dimensions = measured->points.dimensions;
    uint32_t *points = alloc_zeroed(BATCH * dimensions, sizeof *points);
    double times_ns[EVALUATIONS];
    struct search *search = search_new(measured->space, &options);
    for (size_t count = 0; count < EVALUATIONS;) {
        int proposed = search_propose(search, BATCH, points, NULL);
        if (proposed < BATCH)
            break;
        for (size_t i = 0; i < BATCH; i++) {
            times_ns[count] = measured_space_time(measured, points + i * dimensions);
            search_tell(search, points + i * dimensions, times_ns[count]);
            if (++count % STEP == 0)
                ask(times_ns, count, measured->optimum_ns, counts);
        }
    }
    search_free(search);
    free(points);
}

static void print_counts(const char *name, const struct count *counts)
{
    printf("%-40s", name);
    for (size_t i = 0; i < LEVELS; i++)
        printf("  within %2.0f %%: %4zu of %4zu", levels[i] * 100, counts->held[i],
               counts->said[i]);
    putchar('\n');
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct count all = {0};
    long repeats = argc > 2 ? strtol(argv[argc - 1], NULL, 10) : 0;
    int files = repeats > 0 ? argc - 1 : argc;
    for (int i = 1; i < files; i++) {
        struct measured_space measured;
        struct error error;
        struct count counts = {0};
        if (measured_space_read(argv[i], &measured, &error) != 0) {
            error_print(&error, stderr);
            return 2;
        }
        for (long j = 0; j < (repeats > 0 ? repeats : REPEATS); j++)
            replay(&measured, SEED + (uint64_t)j, &counts);
        measured_space_release(&measured);
        const char *slash = strrchr(argv[i], '/');
        print_counts(slash != NULL ? slash + 1 : argv[i], &counts);
        for (size_t j = 0; j < LEVELS; j++) {
            all.said[j] += counts.said[j];
            all.held[j] += counts.held[j];
        }
    }
    print_counts("all", &all);
    return 0;
}
