/* Simulated pools: jobs of known length, given out in order to workers that take one at a time. */
#include "compile/compile_estimate.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include "unit/test.h"

#include <math.h>

enum { MOST_WORKERS = 16, SAMPLE = 16 };

struct job {
    size_t kind;
    double seconds;
};

struct slot {
    const struct job *job; /* NULL: idle */
    double end_s;
};

struct pool {
    struct compile_estimate estimate;
    struct job *jobs; /* in order */
    size_t count;
    size_t next;
    struct slot slots[MOST_WORKERS];
    size_t workers;
    double now_s;
    double start_s; /* until a worker takes its first job */
};

/* What was shown at one time. */
struct shown {
    double at_s;
    double left_s;
};

static const char *const hashes[] = {"first", "second", "third"};

/* Adds jobs of a kind, shuffled as in a run. */
static void add_jobs(struct pool *pool, size_t kind, size_t count, double (*seconds)(size_t index))
{
    uint64_t state = 1 + kind;
    size_t *order = alloc_zeroed(count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    statistics_shuffle(order, count, &state);
    for (size_t i = 0; i < count; i++) {
        struct job *job = ARRAY_APPEND(pool->jobs, pool->count);
        *job =
            (struct job){compile_estimate_kind(&pool->estimate, hashes[kind]), seconds(order[i])};
        compile_estimate_add(&pool->estimate, job->kind);
    }
    free(order);
}

/* A few of every kind to the front. */
static void sample_first(struct pool *pool)
{
    struct job *sorted = alloc_zeroed(pool->count, sizeof *sorted);
    size_t used = 0;
    for (int sample = 1; sample >= 0; sample--) {
        size_t seen[3] = {0};
        for (size_t i = 0; i < pool->count; i++)
            if ((seen[pool->jobs[i].kind]++ < SAMPLE) == (sample == 1))
                sorted[used++] = pool->jobs[i];
    }
    free(pool->jobs);
    pool->jobs = sorted;
}

static void begin(struct pool *pool, struct slot *slot, const struct job *job)
{
    double start_s = fmax(pool->now_s, pool->start_s);
    *slot = (struct slot){job, start_s + job->seconds};
}

static void fill_slots(struct pool *pool)
{
    for (size_t i = 0; i < pool->workers && pool->next < pool->count; i++)
        if (pool->slots[i].job == NULL)
            begin(pool, &pool->slots[i], &pool->jobs[pool->next++]);
}

/* Ends the step that ends first; false if nothing is running. */
static bool step(struct pool *pool)
{
    struct slot *first = NULL;
    for (size_t i = 0; i < pool->workers; i++)
        if (pool->slots[i].job != NULL && (first == NULL || pool->slots[i].end_s < first->end_s))
            first = &pool->slots[i];
    if (first == NULL)
        return false;
    const struct job *job = first->job;
    pool->now_s = first->end_s;
    compile_estimate_done(&pool->estimate, job->kind, job->seconds);
    first->job = NULL;
    fill_slots(pool);
    return true;
}

static double longest_s(const struct pool *pool)
{
    double longest = 0;
    for (size_t i = 0; i < pool->count; i++)
        longest = fmax(longest, pool->jobs[i].seconds);
    return longest;
}

/* Runs the pool. From a quarter of the run on, what was shown is within a factor of two, give or
 * take the length of one job. */
static void assert_right_within_two(struct pool *pool)
{
    struct shown *shown = alloc_zeroed(pool->count, sizeof *shown);
    size_t count = 0;
    size_t checked = 0;
    sample_first(pool);
    fill_slots(pool);
    while (step(pool))
        shown[count++] =
            (struct shown){pool->now_s, compile_estimate_left_s(&pool->estimate, pool->workers)};
    assert_float_equal(shown[count - 1].left_s, 0, 1e-9);
    for (size_t i = 0; i < count; i++) {
        double left_s = pool->now_s - shown[i].at_s;
        if (shown[i].at_s < pool->now_s / 4)
            continue;
        checked++;
        if (shown[i].left_s > 2 * left_s + longest_s(pool) ||
            shown[i].left_s < left_s / 2 - longest_s(pool))
            fail_msg("at %g of %g s: %g s left", shown[i].at_s, pool->now_s, shown[i].left_s);
    }
    assert_true(checked > 5);
    free(shown);
    free(pool->jobs);
    compile_estimate_release(&pool->estimate);
}

static double same(size_t index)
{
    return 0.02;
}

/* The later half of the space takes ten times as long: large unrolls. */
static double later_is_slower(size_t index)
{
    return index < 200 ? 0.02 : 0.2;
}

/* One in four includes a header, of which a part is precompiled. */
static double some_are_slow(size_t index)
{
    return index % 4 == 0 ? 0.3 : 0.06;
}

UNIT_TEST(the_time_left_is_right_within_two)
{
    static const struct {
        size_t workers, counts[2];
        double (*seconds[2])(size_t index);
        double start_s;
    } cases[] = {
        {4, {400}, {same}, 0},
        {4, {400}, {later_is_slower}, 0},
        {1, {576, 144}, {same, some_are_slow}, 0},
        {4, {576, 144}, {same, some_are_slow}, 0},
        {16, {576, 144}, {same, some_are_slow}, 0},
        {8, {400, 100}, {same, later_is_slower}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pool pool = {.workers = cases[i].workers, .start_s = cases[i].start_s};
        for (size_t kind = 0; kind < 2 && cases[i].counts[kind] > 0; kind++)
            add_jobs(&pool, kind, cases[i].counts[kind], cases[i].seconds[kind]);
        assert_right_within_two(&pool);
    }
}

UNIT_TEST(before_anything_is_done_nothing_is_known)
{
    struct compile_estimate estimate = {0};
    size_t kind = compile_estimate_kind(&estimate, "first");
    assert_int_equal(compile_estimate_kind(&estimate, "first"), kind);
    compile_estimate_add(&estimate, kind);
    assert_true(compile_estimate_left_s(&estimate, 4) == 0);
    compile_estimate_release(&estimate);
}
