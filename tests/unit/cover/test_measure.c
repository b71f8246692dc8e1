/*
 * The whole choosing loop of a cover, on an invented GPU: a formula gives the time of each variant at
 * each size, and stands in for the runs (cover/runs.c). What counts is how good the configurations
 * that the rule chooses are at sizes that nobody measured.
 */
#include "cover/session.h"

#include "base/statistics.h"
#include "record/tuned_file.h"
#include "template/space.h"

#include "unit/cover_chosen.h"
#include "unit/scratch.h"
#include "unit/test.h"

#include <math.h>

enum { SMS = 132, THREADS_PER_SM = 2048, VARIANTS = 64 };

/* --- the invented GPU --- */

/* In microseconds; 0: the variant fails there; below: its result is wrong. */
typedef double time_formula(const struct bindings *parameters, const struct bindings *problem);

static struct {
    time_formula *formula;
    double noise; /* of one measurement, as a share */
    uint64_t seed;
    double spent_s;
    struct bindings variants[VARIANTS];
    size_t count;
    bool wrong;            /* from now on, what is */
    bool starving;         /* of several sizes that are tuned, time runs out before the last */
    size_t left_out;       /* sizes */
    size_t tuned;          /* sizes */
    size_t configurations; /* that the cover ships */
    size_t measured;       /* sizes that the cover names */
    int64_t most_loads;    /* of its configurations */
} machine;

static double value_of(const struct bindings *bindings, const char *name)
{
    return (double)bindings_find(bindings, name)->as.integer;
}

static double blocks_of(const struct bindings *parameters, double n)
{
    return ceil(n / (value_of(parameters, "block_size") * value_of(parameters, "num_load")));
}

static double waves_of(const struct bindings *parameters, double n)
{
    return ceil(blocks_of(parameters, n) * value_of(parameters, "block_size") /
                (SMS * (double)THREADS_PER_SM));
}

/* Waves of blocks, as fast as memory allows: more loads per thread have more bytes in flight, but leave
 * SMs without work if there is little. */
static double in_waves(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    double loads = value_of(parameters, "num_load");
    double latency = 0.6 + 0.1 * loads + 0.0005 * value_of(parameters, "block_size");
    double memory = 4 * n / 4.5e6 * (1 + 0.12 / loads);
    return 2.2 + fmax(waves_of(parameters, n) * latency, memory);
}

/* The most loads are the best everywhere; the block size makes no difference. */
static double one_is_best(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    return 2 + n * 1e-6 * (2 - 0.1 * value_of(parameters, "num_load"));
}

/* All are the same. */
static double all_tie(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    return 2 + n * 1e-6;
}

/* As in_waves(), but what is the fastest for large sizes fails for small ones. */
static double some_fail(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    bool fails = value_of(parameters, "num_load") > 4 && n < 1 << 18;
    return fails ? 0 : in_waves(parameters, problem);
}

/* Without what is the fastest, as in_waves(); which is wrong for large sizes, if only in rounds. */
static double overflows(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    if (value_of(parameters, "num_load") < 8)
        return in_waves(parameters, problem);
    return machine.wrong && n > 1 << 22 ? -1 : 1 + n * 1e-7;
}

/* Large problems do not fit in memory. */
static double large_fail(const struct bindings *parameters, const struct bindings *problem)
{
    double n = value_of(problem, "n");
    return n > 1 << 20 ? 0 : in_waves(parameters, problem);
}

/* Products of matrices. Small tiles occupy the GPU better, large ones take less work. If there are few
 * tiles, blocks share them, each with a part of k, and parts have to be added up. */
static double shared_tiles(const struct bindings *parameters, const struct bindings *problem)
{
    double tile = value_of(parameters, "tile");
    double k = value_of(problem, "k");
    double slots = SMS * floor(THREADS_PER_SM / value_of(parameters, "block_size"));
    double tiles = ceil(value_of(problem, "m") / tile) * ceil(value_of(problem, "n") / tile);
    double parts = fmax(1, fmin(floor(k / 64), floor(slots / tiles)));
    double work = tile * tile * ceil(k / parts) * (1 + 32 / tile) * 1e-6;
    double adding_up = parts > 1 ? 3 + 0.004 * tile * parts : 0;
    return 2 + ceil(tiles * parts / slots) * work + adding_up;
}

/* --- its runs, in place of runs.c --- */

static void put_result(struct cover_session *session, struct study *study,
                       const struct bindings *parameters, double noise)
{
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
    double us = machine.formula(parameters, &study->problem);
    double random = (double)(statistics_random(&machine.seed) >> 11) * 0x1p-53;
    bindings_copy(&result->parameters, parameters);
    result->outcome = us > 0    ? OUTCOME_MEASURED
                      : us >= 0 ? OUTCOME_LAUNCH_ERROR
                                : OUTCOME_WRONG_RESULT;
    size_t refuted = session->refuted.count;
    if (us < 0 && nominees_add(&session->refuted, parameters))
        *ARRAY_APPEND(session->refutations, refuted) = alloc_string("wrong_result");
    result->runs = 1;
    result->time.count = 3;
    result->time.median_ns = us > 0 ? 1e3 * us * (1 + noise * (2 * random - 1)) : 0;
    result->stats = (struct kernel_stats){.known = true,
                                          .registers = 32,
                                          .blocks_per_sm = THREADS_PER_SM /
                                                           (int)value_of(parameters, "block_size")};
}

static void begin_study(const struct cover_session *session, const int64_t *size,
                        struct study *study)
{
    *study = (struct study){.points = machine.count,
                            .kernel = alloc_string(session->kernel),
                            .template_name = alloc_string(session->kernel),
                            .template_hash = alloc_string("0123456789abcdef0123456789abcdef"),
                            .description = alloc_string(""),
                            .cache = "cold",
                            .environment = {.nvrtc = "13.0",
                                            .autotune = "0.1.0",
                                            .date = "2026-01-01T00:00:00Z",
                                            .command = alloc_string("autotune cover")}};
    assert_int_equal(gpu_from_arch("sm_90", &study->environment.gpu, NULL), 0);
    problem_range_bind(&session->range, size, &study->problem);
}

double cover_runs_spent_s(const struct cover_session *session)
{
    return machine.spent_s;
}

void cover_runs_find_seeds(struct cover_session *session, const char *path)
{
}

/* Tries all variants, or as many as there is time for; 5 ms each. */
int cover_runs_tune(struct cover_session *session, const struct sizes *sizes, double budget_s,
                    struct study *studies, struct error *error)
{
    const double each_s = 0.005;
    double most = floor(budget_s / each_s / (double)sizes->count);
    machine.tuned += sizes->count;
    for (size_t i = 0; i < sizes->count; i++) {
        begin_study(session, sizes_at(sizes, i), &studies[i]);
        if (machine.starving && sizes->count > 1 && i + 1 == sizes->count)
            break;
        for (size_t j = 0; j < machine.count && (double)j < most; j++) {
            put_result(session, &studies[i], &machine.variants[(j * 7 + i) % machine.count],
                       machine.noise);
            machine.spent_s += each_s;
        }
    }
    return 0;
}

size_t cover_runs_most_nominees(const struct cover_session *session)
{
    return session->limits.budget_s > 0
               ? (size_t)(0.45 * session->limits.budget_s / 0.015 / (double)session->most_sizes)
               : NOMINEES_LIMIT;
}

/* Twelve rounds are less noisy; 15 ms each. */
int cover_runs_rounds(struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error)
{
    machine.wrong = true;
    for (size_t i = 0; i < sizes->count; i++) {
        begin_study(session, sizes_at(sizes, i), &studies[i]);
        for (size_t j = 0; j < session->nominees.count; j++) {
            put_result(session, &studies[i], &session->nominees.items[j], machine.noise / sqrt(12));
            machine.spent_s += 0.015;
        }
    }
    return 0;
}

/* --- a session --- */

static void put_file(const char *path, const char *text)
{
    assert_int_equal(scratch_write(path, text), 0);
}

static void put_product(void)
{
    put_file("product.cu", "__global__ void product(const float *a, float *c, unsigned n)\n"
                           "{\n    float tile[TILE * TILE * BLOCK_SIZE];\n}\n");
    put_file(
        "product.ini",
        "[kernel]\nsource = product.cu\n"
        "[parameters]\nblock_size = 256\ntile = 32\n"
        "[problem]\nm = 64\nn = 256\nk = 64\n"
        "[figures]\nslots = sm_count * blocks_per_sm\n"
        "tiles = ceil_div(m, tile) * ceil_div(n, tile)\n"
        "parts = max(1, min(k // 64, slots // tiles))\n"
        "elements = tile * tile * ceil_div(k, parts)\n"
        "[buffer.a]\ntype = float\nlength = m * k\naccess = read\nfill = constant(1)\n"
        "[launch.product]\nentry = product\ngrid = ceil_div(n, tile), ceil_div(m, tile), parts\n"
        "block = block_size\narguments = a, c, uint32 n\n"
        "[buffer.c]\ntype = float\nlength = m * n\naccess = write\n"
        "[expect.c]\nreference = constant(0)\ncompare = exact\n");
    put_file("sweep.ini", "[sweep]\ntemplates = .\n[product]\ncover = m, k = 128 .. 2048\n"
                          "cover_configurations = 4\nblock_size = 128, 256, 512\n"
                          "tile = 32, 64, 96, 128\n");
}

/* Times jump between whole numbers of waves, which only an estimate knows. */
#define WAVES_ESTIMATE                                                                             \
    "[metrics]\nestimate = 22 + max(ceil_div(enough * block_size, 2048 * sm_count) * (6 + "        \
    "num_load), n / 112500)\n"

static void put_sum(const char *problem, const char *metrics)
{
    char *template;
    put_file("sum.cu", "__global__ void sum(const float *in, float *out, unsigned n)\n"
                       "{\n    float loads[NUM_LOAD * BLOCK_SIZE];\n}\n");
    template =
        alloc_format("%s%s%s%s",
                     "[kernel]\nsource = sum.cu\n"
                     "[parameters]\nblock_size = 256\nnum_load = 1\n"
                     "[problem]\nn = 1024\n",
                     problem,
                     "[figures]\nenough = ceil_div(n, block_size * num_load)\n"
                     "[buffer.in]\ntype = float\nlength = n\naccess = read\nfill = constant(1)\n"
                     "[launch.sum]\nentry = sum\ngrid = enough\n"
                     "block = block_size\narguments = in, out, uint32 n\n"
                     "[buffer.out]\ntype = float\nlength = 1\naccess = write\n"
                     "[expect.out]\nreference = constant(0)\ncompare = exact\n",
                     metrics);
    put_file("sum.ini", template);
    free(template);
    put_file("sweep.ini", "[sweep]\ntemplates = .\n[sum]\ncover = n = 2^16 .. 2^24\n"
                          "cover_configurations = 4\nblock_size = 128, 256, 512\n"
                          "num_load = 1, 2, 4, 8\n");
}

static void list_variants(const struct sweep_kernel *kernel)
{
    struct gpu gpu;
    struct bindings fixed = {0};
    struct bindings parameters = {0};
    assert_int_equal(gpu_from_arch("sm_90", &gpu, NULL), 0);
    gpu_bindings(&gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    while (space_next(space, &parameters, NULL) == 1)
        bindings_copy(&machine.variants[machine.count++], &parameters);
    assert_int_equal(machine.count, 12);
    space_free(space);
    bindings_release(&parameters);
    bindings_release(&fixed);
}

/* What the rule of a finished session's tuned INI costs at sizes that were not measured. */
struct quality {
    double mean, worst; /* best time over the choice's: geometric mean, and the lowest */
    size_t failures;
};

static double best_us(const struct bindings *problem)
{
    double best = INFINITY;
    for (size_t i = 0; i < machine.count; i++) {
        double us = machine.formula(&machine.variants[i], problem);
        best = us > 0 ? fmin(best, us) : best;
    }
    return best;
}

enum { SIZES = 97 }; /* that the rule is judged at */

/* They are spread evenly over the range. */
static void bind_size(const struct problem_range *range, size_t index, struct bindings *problem)
{
    static const double steps[] = {1.0 / SIZES, 0.618034};
    int64_t size[SWEEP_COVER_AXES];
    const struct sweep_cover *cover = &range->kernel->cover;
    assert_in_range(cover->axis_count, 1, sizeof steps / sizeof *steps);
    for (size_t i = 0; i < cover->axis_count; i++) {
        double low = log2((double)cover->axes[i].low);
        double high = log2((double)cover->axes[i].high);
        double place = fmod(((double)index + 0.5) * steps[i], 1);
        size[i] = (int64_t)round(exp2(low + (high - low) * place));
    }
    problem_range_bind(range, size, problem);
}

static struct quality judge(const struct problem_range *range, const struct tuned_entry *entry)
{
    struct quality quality = {.worst = 1};
    for (size_t i = 0; i < SIZES; i++) {
        struct bindings problem = {0};
        size_t configuration;
        bind_size(range, i, &problem);
        assert_true(cover_chosen(entry, &problem, &configuration));
        struct bindings parameters = tuned_entry_parameters(entry, configuration);
        double us = machine.formula(&parameters, &problem);
        bindings_release(&parameters);
        quality.failures += us <= 0;
        quality.mean += us > 0 ? log(best_us(&problem) / us) / SIZES : 0;
        quality.worst = us > 0 ? fmin(quality.worst, best_us(&problem) / us) : 0;
        bindings_release(&problem);
    }
    quality.mean = exp(quality.mean);
    return quality;
}

/* Makes the cover of the sweep on a GPU with this formula. */
static struct quality make_cover(time_formula *formula, double noise, double budget_s)
{
    struct sweep sweep = {0};
    struct cover_session session;
    struct error error;
    struct tuned_file tuned;
    const struct sweep_request request = {.path = "sweep.ini"};
    struct tuned_entry entry;
    size_t taken;
    const struct run_options run = {
        .command = "autotune cover", .tuned = "tuned.ini", .limits = {.budget_s = budget_s}};
    machine.tuned = machine.count = 0;
    machine.wrong = false;
    machine.spent_s = 0;
    machine.formula = formula;
    machine.noise = noise;
    machine.seed = 1;
    if (sweep_open(&sweep, &request, &error) != 0)
        fail_msg("%s", error.message);
    list_variants(&sweep.kernels[0]);
    (void)remove("tuned.ini");
    assert_int_equal(cover_session_init(&session, &sweep,
                                        &(struct sweep_request){.path = sweep.path},
                                        &sweep.kernels[0], &run, &error),
                     0);
    if (cover_measure(&session, &error) != 0 || cover_entry_make(&session, &entry, &error) != 0 ||
        tuned_file_update("tuned.ini", &entry, 1, &taken, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 1);
    /* though its sizes' tuning is; else an older cover would stay */
    assert_false(tuned.entries[0].incomplete);
    machine.configurations = tuned_entry_count(&tuned.entries[0]);
    machine.measured = tuned.entries[0].cover->public.size_count;
    machine.most_loads = 0;
    for (size_t i = 0; i < machine.configurations; i++) {
        struct bindings parameters = tuned_entry_parameters(&tuned.entries[0], i);
        const struct value *loads = bindings_find(&parameters, "num_load");
        if (loads != NULL && loads->as.integer > machine.most_loads)
            machine.most_loads = loads->as.integer;
        bindings_release(&parameters);
    }
    machine.left_out = session.left_out.count;
    const struct quality quality = judge(&session.range, &tuned.entries[0]);
    tuned_file_release(&tuned);
    cover_session_release(&session);
    sweep_release(&sweep);
    for (size_t i = 0; i < machine.count; i++)
        bindings_release(&machine.variants[i]);
    return quality;
}

/* --- tests --- */

/* A folder with the sums; a test of other kernels overwrites the sweep. */
static int enter_with_sum(void **state)
{
    int status = scratch_enter(state);
    put_sum("", "");
    return status;
}

#define COVER_TEST(function) UNIT_TEST_WITH(function, enter_with_sum, scratch_leave)

COVER_TEST(sizes_that_nobody_measured_lose_little)
{
    struct quality quality = make_cover(in_waves, 0.01, 0);
    assert_true(machine.configurations <= 4 && quality.mean > 0.995 && quality.worst > 0.84);
    put_sum("", WAVES_ESTIMATE);
    quality = make_cover(in_waves, 0.01, 0);
    assert_true(machine.configurations <= 4 && quality.mean > 0.995 && quality.worst > 0.95);
}

COVER_TEST(two_values_with_jumps_lose_little)
{
    put_product();
    struct quality quality = make_cover(shared_tiles, 0.01, 0);
    assert_true(machine.configurations <= 4 &&
                quality.mean > 0.98); /* the number of blocks that share a tile jumps */
}

COVER_TEST(one_that_is_best_everywhere_is_shipped_alone)
{
    struct quality quality = make_cover(one_is_best, 0.003, 0);
    assert_int_equal(machine.configurations, 1);
    assert_true(quality.worst > 0.999);
}

COVER_TEST(of_ties_one_is_shipped)
{
    (void)make_cover(all_tie, 0.01, 0);
    assert_int_equal(machine.configurations, 1);
}

COVER_TEST(what_fails_at_some_sizes_is_not_chosen_there)
{
    struct quality quality = make_cover(some_fail, 0.01, 0);
    assert_int_equal(quality.failures, 0);
    assert_true(quality.mean > 0.995 && quality.worst > 0.84);
}

COVER_TEST(what_is_wrong_at_some_sizes_is_replaced)
{
    (void)make_cover(overflows, 0.01, 0);
    assert_int_equal(machine.most_loads, 4);
    assert_int_equal(machine.left_out, 0);
    assert_int_equal(machine.measured, 40);
}

COVER_TEST(where_everything_fails_it_is_not_tried_for_ever)
{
    (void)make_cover(large_fail, 0.01, 0);
    assert_true(machine.tuned < 20);
}

COVER_TEST(where_there_was_no_time_to_tune_the_cover_is_measured)
{
    machine.starving = true;
    struct quality quality = make_cover(in_waves, 0.01, 5);
    machine.starving = false;
    assert_int_equal(machine.left_out, 0);
    assert_int_equal(machine.measured, 40);
    assert_true(quality.mean > 0.99);
}

COVER_TEST(a_budget_is_kept)
{
    const double budget_s = 2;
    struct quality quality = make_cover(in_waves, 0.01, budget_s);
    assert_true(machine.spent_s > budget_s / 2 && machine.spent_s <= budget_s);
    assert_true(quality.mean > 0.98);
}

#define EXTENT "extent_of_this_problem_number_"

/* The sizes of a cover fit into the lines of a tuned INI; as many times as there are candidates might not. */
COVER_TEST(estimates_of_many_candidates_are_known)
{
    const int64_t size[] = {1000000000, 1000000000, 1000000000, 1000000000};
    const struct sweep_request request = {.path = "sweep.ini"};
    const struct run_options run = {.command = "autotune cover", .tuned = "tuned.ini"};
    struct cover_session session;
    struct sweep sweep = {0};
    struct study study;
    struct error error;
    put_sum(EXTENT "1 = 1\n" EXTENT "2 = 1\n" EXTENT "3 = 1\n" EXTENT "4 = 1\n", "");
    put_file("sweep.ini", "[sweep]\ntemplates = .\n[sum]\ncover = " EXTENT "1, " EXTENT "2, " EXTENT
                          "3, " EXTENT "4 = 1000000000 .. 2000000000\n"
                          "cover_configurations = 1\nblock_size = 128, 256, 512\n"
                          "num_load = 1, 2, 4, 8\n");
    machine.count = 0;
    machine.formula = all_tie;
    if (sweep_open(&sweep, &request, &error) != 0)
        fail_msg("%s", error.message);
    list_variants(&sweep.kernels[0]);
    assert_int_equal(cover_session_init(&session, &sweep,
                                        &(struct sweep_request){.path = sweep.path},
                                        &sweep.kernels[0], &run, &error),
                     0);
    assert_int_equal(cover_entry_check(&session, &error), 0);
    begin_study(&session, size, &study);
    for (size_t i = 0; i < machine.count; i++) {
        put_result(&session, &study, &machine.variants[i], 0);
        (void)nominees_add(&session.nominees, &machine.variants[i]);
    }
    cover_session_add(&session, size, study);
    double *estimates = cover_entry_estimates(&session);
    for (size_t i = 0; i < machine.count; i++) {
        assert_true(estimates[i] > 0);
        bindings_release(&machine.variants[i]);
    }
    free(estimates);
    cover_session_release(&session);
    sweep_release(&sweep);
}
