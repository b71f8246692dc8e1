/*
 * usage: estimate [--calibrate | --known FILE.t4.json] FILE.t4.json... [REPEATS]
 *
 * Whether what search_estimate() says holds: replays searches of 600 evaluations on T4 results files
 * in which every point was measured, four proposals at a time, and asks after every tenth. Prints
 * for each file and in all how many of the statements "within 1 %", "3 %" and "10 %" held.
 *
 * With --calibrate it says after how many evaluations in vain each of these would have held in 97 %
 * of the cases on every one of the files. With --known, searches begin with the results of another
 * GPU.
 */
#include "base/alloc.h"
#include "search/search.h"
#include "search/simulation.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 600, BATCH = 4, STEP = 10, LEVELS = 3, REPEATS = 12, SEED = 2000 };

static const double levels[LEVELS] = {0.01, 0.03, 0.1};
static const double wanted = 0.97;

struct count {
    size_t said[LEVELS];
    size_t held[LEVELS];
    /* if each were said whenever that many tens of evaluations or more were in vain */
    size_t cases[EVALUATIONS / STEP + 1];
    size_t true_cases[LEVELS][EVALUATIONS / STEP + 1];
};

static void ask(const double *times_ns, size_t count, double optimum_ns, struct count *counts)
{
    size_t in_vain;
    double within = search_estimate(times_ns, count, &in_vain);
    double best_ns = INFINITY;
    for (size_t i = 0; i < count; i++)
        best_ns = fmin(best_ns, times_ns[i]);
    for (size_t i = 0; i < LEVELS; i++) {
        bool holds = best_ns <= optimum_ns * (1 + levels[i]);
        counts->said[i] += within == levels[i];
        counts->held[i] += within == levels[i] && holds;
        for (size_t tens = 0; tens <= in_vain / STEP; tens++)
            counts->true_cases[i][tens] += holds;
    }
    for (size_t tens = 0; tens <= in_vain / STEP; tens++)
        counts->cases[tens]++;
}

static void replay(const struct measured_space *measured, const struct measured_space *known,
                   uint64_t seed, struct count *counts)
{
    const struct search_options options = {.seed = seed};
    size_t dimensions = measured->points.dimensions;
    uint32_t *points = alloc_zeroed(BATCH * dimensions, sizeof *points);
    double times_ns[EVALUATIONS];
    struct search *search = search_new(measured->space, &options);
    if (known != NULL)
        simulation_know(search, measured, known);
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

/* The least number of evaluations in vain from which on a level held often enough. */
static size_t calibrate(const struct count *counts, size_t level)
{
    size_t tens = EVALUATIONS / STEP;
    while (tens > 0 &&
           (double)counts->true_cases[level][tens - 1] >= wanted * (double)counts->cases[tens - 1])
        tens--;
    return tens * STEP;
}

static void add_counts(struct count *all, size_t *in_vain, const struct count *counts)
{
    for (size_t i = 0; i < LEVELS; i++) {
        size_t needed = calibrate(counts, i);
        all->said[i] += counts->said[i];
        all->held[i] += counts->held[i];
        in_vain[i] = needed > in_vain[i] ? needed : in_vain[i];
    }
}

static void read_or_exit(const char *path, struct measured_space *measured)
{
    struct error error;
    if (measured_space_read(path, measured, &error) != 0) {
        error_print(&error, stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct count all = {0};
    struct measured_space known;
    size_t in_vain[LEVELS] = {0};
    bool calibrating = argc > 1 && strcmp(argv[1], "--calibrate") == 0;
    bool knowing = argc > 2 && strcmp(argv[1], "--known") == 0;
    long repeats = argc > 2 ? strtol(argv[argc - 1], NULL, 10) : 0;
    int files = repeats > 0 ? argc - 1 : argc;
    if (knowing)
        read_or_exit(argv[2], &known);
    for (int i = calibrating ? 2 : knowing ? 3 : 1; i < files; i++) {
        struct measured_space measured;
        struct count counts = {0};
        read_or_exit(argv[i], &measured);
        for (long j = 0; j < (repeats > 0 ? repeats : REPEATS); j++)
            replay(&measured, knowing ? &known : NULL, SEED + (uint64_t)j, &counts);
        measured_space_release(&measured);
        const char *slash = strrchr(argv[i], '/');
        print_counts(slash != NULL ? slash + 1 : argv[i], &counts);
        add_counts(&all, in_vain, &counts);
    }
    if (knowing)
        measured_space_release(&known);
    print_counts("all", &all);
    for (size_t i = 0; i < LEVELS && calibrating; i++)
        printf("within %2.0f %% after %zu in vain\n", levels[i] * 100, in_vain[i]);
    return 0;
}
