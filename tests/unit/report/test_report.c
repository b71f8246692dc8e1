#include "unit/printed.h"
#include "unit/scratch.h"
#include "unit/study_fixture.h"

static struct study study; /* of the test that runs */

static int release_study(void **state)
{
    study_release(&study);
    study = (struct study){0};
    return scratch_leave(state);
}

#define STUDY_TEST(function) UNIT_TEST_WITH(function, scratch_enter, release_study)

static void assert_printed(const struct study *studies, size_t count, enum report_format format,
                           const char *expected)
{
    char *text = printed(studies, count, format, 0);
    assert_string_equal(text, expected);
    free(text);
}

/* The fixture as static mode would have it. */
static void static_study(void)
{
    fixture_study(&study);
    study.environment.static_mode = true;
    study.has_winner = false;
    study.empty_kernel_ns = 0;
    const double occupancies[] = {0.5, 1, 0, 0.75, 0.5, 0.25};
    for (size_t i = 0; i < study.result_count; i++) {
        struct result *result = &study.results[i];
        free(result->samples_ns);
        result->samples_ns = NULL;
        result->sample_count = 0;
        result->time = (struct summary){0};
        result->finalist = result->tied = false;
        result->stats.occupancy = occupancies[i];
        result->stats.grid_blocks = 0;
        if (result->outcome == OUTCOME_COMPILE_ERROR)
            continue;
        result->outcome = OUTCOME_COMPILED;
        free(result->reason);
        result->reason = NULL;
    }
}

STUDY_TEST(test_table_of_measurements)
{
    fixture_study(&study);
    study.results[0].stats.spill_bytes = 16;
    assert_printed(
        &study, 1, REPORT_TABLE,
        "reduce_sum n=16777216 tolerance=0.1 on NVIDIA H200: sum of n numbers\n"
        "sm_90, 132 SMs, driver 13.0, NVRTC 13.0, autotune 0.1.0, cold L2, empty kernel 2.660 us, "
        "2026-11-21T06:12:00Z\n"
        "all variants: min_blocks=0, scale=2\n"
        "\n"
        "      time         95 %  noise                       spill  shared  blocks  occ.  limited "
        " "
        "block_\n"
        "        us     interval      %  GB/s  GFLOP/s  regs      B       B     /SM     %  by      "
        " "
        "  size  finish\n"
        "  *  24.10  24.10-24.10    0.0  2785    696.3    32      0     128       4   100  threads "
        " "
        "   512  two_pass\n"
        "  =  24.01  24.01-24.01    0.0  2795    698.8    48      0    4224       4   100  threads "
        " "
        "   256  last_block\n"
        "     31.23  31.23-31.23    0.0  2149    537.1    40     16     128       4   100  threads "
        " "
        "   256  two_pass\n"
        "\n"
        "6 variants of 12 points (6 rejected by constraints): 3 measured, 1 compile_error, "
        "2 timeout\n"
        "\n"
        "compile_error (it did not compile, or the compiler crashed or timed out):\n"
        "      1  reduce.cu(3): error: \"x\" is undefined, twice\n"
        "\n"
        "timeout (the kernel did not finish by its deadline):\n"
        "      2  no end after 2 s\n"
        "\n"
        "winner: block_size=512 finish=two_pass, 24.10 us (median of 3 samples)\n"
        "tied:   block_size=256 finish=last_block, 24.01 us\n"
        "within 0.25 % of the fastest, fewer registers win, then fewer threads per block\n"
        "\n"
        "share of the variance of the time that each parameter explains: alone, with its "
        "interactions (total),\n"
        "and with them among variants within a factor of two of the best (near):\n"
        "              alone  total  near\n"
        "  parameter       %      %     %  value and best us\n"
        "  finish       26.0   76.0  76.0  two_pass*24.10, last_block 24.01\n"
        "  block_size   24.0   74.0  74.0  256 24.01, 512*24.10, 1024 none\n");
}

STUDY_TEST(test_table_of_static_mode)
{
    static_study();
    assert_printed(&study, 1, REPORT_TABLE,
                   "reduce_sum n=16777216 tolerance=0.1: sum of n numbers\n"
                   "static mode: compiled for sm_90 but not run, limits of NVIDIA H200\n"
                   "NVRTC 13.0, autotune 0.1.0, 2026-11-21T06:12:00Z\n"
                   "all variants: min_blocks=0, scale=2, no spills\n"
                   "\n"
                   "        shared  blocks  occ.  limited  block_\n"
                   "  regs       B     /SM     %  by         size  finish      outcome\n"
                   "    32     128       4   100  threads     512  two_pass    compiled\n"
                   "    48    4224       4    75  threads     256  last_block  compiled\n"
                   "    40     128       4    50  threads     256  two_pass    compiled\n"
                   "    48    4224       4    50  threads     512  last_block  compiled\n"
                   "    48    4224       4    25  threads    1024  last_block  compiled\n"
                   "     -       -       -     -  -          1024  two_pass    compile_error\n"
                   "\n"
                   "6 variants of 12 points (6 rejected by constraints): 5 compiled, "
                   "1 compile_error\n"
                   "\n"
                   "compile_error (it did not compile, or the compiler crashed or timed out):\n"
                   "      1  reduce.cu(3): error: \"x\" is undefined, twice\n"
                   "\n"
                   "variants below 100 % occupancy, and how reducing one resource would raise it:\n"
                   "  threads        shared  blocks  occ.  limited\n"
                   "   /block  regs       B     /SM     %  by       more occupancy with\n"
                   "      512    48    4224       4    75  threads  registers <= 32: 100 %\n"
                   "      512    40     128       4    50  threads  registers <= 32: 100 %\n"
                   "\n"
                   "share of the variance of the occupancy that each parameter explains: alone, "
                   "with its interactions (total),\n"
                   "and with them among variants within a factor of two of the best (near):\n"
                   "              alone  total  near\n"
                   "  parameter       %      %     %  value and best occ. %\n"
                   "  block_size   51.9   76.9  90.9  256 75, 512*100, 1024 25\n"
                   "  finish       23.1   48.1  90.9  two_pass*100, last_block 75\n");
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

/* The sweep that people run first, its widest values in every column. */
STUDY_TEST(test_table_of_a_large_sweep_fits_the_terminal)
{
    fixture_subject(&study);
    for (int64_t i = 0; i < 504; i++) {
        struct result *result = ARRAY_APPEND(study.results, study.result_count);
        bindings_set(&result->parameters, "block_size", value_integer(i % 2 ? 1024 : 64));
        bindings_set(&result->parameters, "num_load", value_integer(i % 3 ? 16 : 1));
        bindings_set(&result->parameters, "min_blocks", value_integer(i % 4 ? 16 : 0));
        bindings_set(&result->parameters, "vector_width", value_integer(i % 5 ? 4 : 1));
        bindings_set(&result->parameters, "finish", value_word(i % 7 ? "last_block" : "atomic"));
        result->outcome = OUTCOME_MEASURED;
        result->bytes = 1e9;
        result->operations = 1e9;
        fixture_figures(result, 168, 49152);
        result->stats.limiters = OCCUPANCY_LIMIT_REGISTERS | OCCUPANCY_LIMIT_SHARED;
        fixture_times(result, 1234567 + (double)i);
    }
    char *text = printed(&study, 1, REPORT_TABLE, 0);
    assert_in_range(longest_line(text), 80, 120);
    assert_int_equal(count_text(text, "registers+shared"), 10);
    assert_non_null(strstr(text, "\n10 of 504 measured variants, fastest first; "
                                 "--top 504 shows all\n"));
    free(text);
    text = printed(&study, 1, REPORT_TABLE, 25);
    assert_int_equal(count_text(text, "registers+shared"), 25);
    free(text);
}

/* A kernel whose operations are rounds of a barrier: GFLOP/s would be 0.0000. */
STUDY_TEST(test_few_operations_are_shown_by_their_time)
{
    fixture_study(&study);
    for (size_t i = 0; i < study.result_count; i++) {
        study.results[i].bytes = 0;
        study.results[i].operations = 100;
    }
    char *text = printed(&study, 1, REPORT_TABLE, 0);
    assert_null(strstr(text, "GFLOP/s"));
    assert_non_null(strstr(text, "  *  24.10  24.10-24.10    0.0  241.0 "));
    free(text);
}

STUDY_TEST(test_table_groups_reasons)
{
    fixture_subject(&study);
    for (int i = 0; i < 20; i++) {
        struct result *result = fixture_add(&study, i, "atomic", OUTCOME_WRONG_RESULT);
        result->reason = alloc_format("out[%d] is wrong\nwith more to say", i < 10 ? 0 : i);
    }
    char *text = printed(&study, 1, REPORT_TABLE, 0);
    assert_non_null(strstr(text, "wrong_result (verification failed):\n"
                                 "     10  out[0] is wrong\n"
                                 "      1  out[10] is wrong\n"));
    assert_non_null(strstr(text, "      6  for 6 other reasons; --format csv lists them\n"));
    assert_null(strstr(text, "more to say"));
    free(text);
}

STUDY_TEST(test_the_table_says_how_far_apart_gpus_were)
{
    fixture_study(&study);
    static const struct study_gpu gpus[] = {
        {.uuid = "GPU-a", .ratio = 1},
        {.uuid = "GPU-b", .compared = 9, .ratio = 1.012, .spread = 0.014},
        {.uuid = "GPU-c", .compared = 1, .failed = 2, .ratio = 0.9999}};
    study.gpu_count = 3;
    study.gpus = alloc_zeroed(3, sizeof *study.gpus);
    memcpy(study.gpus, gpus, sizeof gpus);
    char *text = printed(&study, 1, REPORT_TABLE, 0);
    assert_has(text,
               TEXTS("screened on 3 GPUs; finals on GPU-a\n"
                     "  GPU-b: 1.2 % slower (9 variants compared, each within 1.4 % of that)\n"
                     "  GPU-c: as fast (1 variant compared); 2 variants FAILED THERE that passed "
                     "elsewhere\n"));
    free(text);
}

#define CSV_TAIL                                                                                   \
    "outcome,reason,registers,spill_bytes,stack_bytes,static_shared_bytes,dynamic_shared_bytes,"   \
    "block_threads,grid_blocks,blocks_per_sm,occupancy,limiter,other_launches,median_us,low_us,"   \
    "high_us,relative_iqr,samples,runs,gb_per_s,gflop_per_s,finalist,tied,winner,empty_us,"        \
    "sm_clock_mhz,dropped_samples,throttled_samples,other_processes,gpu_uuid,tool\n"
#define CSV_HEADER "kernel,gpu,n,tolerance,block_size,min_blocks,finish,scale," CSV_TAIL
#define CSV_SUBJECT "reduce_sum,NVIDIA H200,16777216,0.1,"
#define CSV_STUDY                                                                                  \
    CSV_SUBJECT                                                                                    \
    "256,0,two_pass,2,measured,,40,0,0,128,0,512,264,4,1.0000,threads,,"                           \
    "31.2345,31.2344,31.2346,0.0000,3,1,2148.55,537.14,0,0,0,2.6603,,,,,,\n" CSV_SUBJECT           \
    "512,0,two_pass,2,measured,,32,0,0,128,0,512,264,4,1.0000,threads,,"                           \
    "24.0960,24.0959,24.0961,0.0000,3,1,2785.06,696.27,1,1,1,2.6603,,,,,,\n" CSV_SUBJECT           \
    "1024,0,two_pass,2,compile_error,"                                                             \
    "\"reduce.cu(3): error: \"\"x\"\" is undefined, twice\nand more\""                             \
    ",,,,,,,,,,,,,,,,,,,,0,0,0,,,,,,,\n" CSV_SUBJECT                                               \
    "256,0,last_block,2,measured,,48,0,0,128,4096,512,264,4,1.0000,threads,,"                      \
    "24.0100,24.0099,24.0101,0.0000,3,1,2795.04,698.76,1,1,0,2.6603,,,,,,\n" CSV_SUBJECT           \
    "512,0,last_block,2,timeout,no end after 2 s,48,0,0,128,4096,512,264,4,1.0000,"                \
    "threads,,,,,,,,,,0,0,0,,,,,,,\n" CSV_SUBJECT                                                  \
    "1024,0,last_block,2,timeout,no end after 2 s,48,0,0,128,4096,512,264,4,1.0000,"               \
    "threads,,,,,,,,,,0,0,0,,,,,,,\n"

STUDY_TEST(test_csv_has_every_variant_under_one_header)
{
    struct study studies[2];
    fixture_study(&studies[0]);
    fixture_study(&studies[1]);
    assert_printed(studies, 1, REPORT_CSV, CSV_HEADER CSV_STUDY);
    assert_printed(studies, 2, REPORT_CSV, CSV_HEADER CSV_STUDY CSV_STUDY);
    bindings_set(&studies[1].problem, "m", value_integer(1));
    char *text = printed(studies, 2, REPORT_CSV, 0);
    assert_int_equal(count_text(text, CSV_TAIL), 2);
    assert_non_null(strstr(text, "kernel,gpu,n,tolerance,m,block_size,"));
    free(text);
    study_release(&studies[0]);
    study_release(&studies[1]);
}

/* What cli/report.bats does not see: numbers to the last bit, and bytes that are no text. */
STUDY_TEST(test_json_is_exact_and_valid)
{
    fixture_study(&study);
    free(study.results[4].reason);
    study.results[4].reason = alloc_string("cut within a letter: \xc3");
    char *text = printed(&study, 1, REPORT_JSON, 0);
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *variants = json_object_get(json_array_get(array, 0), "variants");
    json_t *timeout = json_array_get(variants, 4);
    double sample, median;
    assert_int_equal(json_array_size(variants), 6);
    assert_int_equal(json_unpack(json_array_get(variants, 0), "{s:{s:F}, s:[F]}", "time",
                                 "median_ns", &median, "samples_ns", &sample),
                     0);
    assert_memory_equal(&median, &study.results[0].time.median_ns, sizeof median);
    assert_memory_equal(&sample, &study.results[0].samples_ns[0], sizeof sample);
    assert_true(json_is_null(json_object_get(timeout, "time")));
    assert_string_equal(json_string_value(json_object_get(timeout, "reason")),
                        "cut within a letter: ?");
    json_decref(array);
    free(text);
}

static const struct report_options csv = {.format = REPORT_CSV};

STUDY_TEST(test_csv_files_lie_in_their_gpus_folder)
{
    fixture_study(&study);
    assert_int_equal(report_write("results/", &study, 1, &csv, NULL), 0);
    char *text = scratch_read("results/nvidia-h200/reduce_sum/n-16777216-tolerance-0.1.csv");
    assert_non_null(text);
    assert_string_equal(text, CSV_HEADER CSV_STUDY);
    free(text);
    bindings_release(&study.problem);
    strcpy(study.environment.gpu.name, "Tesla V100-SXM2 (16GB)");
    assert_int_equal(report_write("results/", &study, 1, &csv, NULL), 0);
    assert_int_equal(access("results/tesla-v100-sxm2-16gb/reduce_sum/default.csv", R_OK), 0);
    study.environment.static_mode = true;
    assert_int_equal(report_write("results/", &study, 1, &csv, NULL), 0);
    assert_int_equal(access("results/static-sm_90/reduce_sum/default.csv", R_OK), 0);
}

/* How many files the command finds below results/, with its lines in `list`. */
static size_t find_results(const char *arguments, char list[1024])
{
    char *command = alloc_format("cd results && find . %s | sort", arguments);
    FILE *stream = popen(command, "r");
    free(command);
    assert_non_null(stream);
    list[fread(list, 1, 1023, stream)] = '\0';
    assert_int_equal(pclose(stream), 0);
    return count_text(list, "\n");
}

static void write_csv_of(const char *kernel, const char *word)
{
    struct error error;
    free(study.kernel);
    study.kernel = alloc_string(kernel);
    bindings_set(&study.problem, "word", value_word(word));
    if (report_write("results/", &study, 1, &csv, &error) != 0)
        fail_msg("%s", error.message);
}

/* Kernel names are what a sweep's section says, a problem has any number of values. */
STUDY_TEST(test_names_of_files_are_safe_and_differ)
{
    char list[1024];
    fixture_study(&study);
    bindings_release(&study.problem);
    write_csv_of("..", "inside");
    write_csv_of(".hidden", "inside");
    write_csv_of("a/../../b", "inside");
    write_csv_of("a*b", "inside");
    write_csv_of("a?b", "inside");
    write_csv_of("a-b", "inside");
    assert_int_equal(find_results("-name word-inside.csv", list), 6);
    assert_int_equal(find_results("-mindepth 3 -type f", list), 6);
    assert_non_null(strstr(list, "./nvidia-h200/a-b/word-inside.csv\n"));
    assert_null(strstr(list, "/."));
    assert_int_equal(access("nvidia-h200", F_OK), -1);

    /* two problems whose names differ behind what a file name has room for */
    for (int i = 0; i < 8; i++) {
        char name[] = "a_name_of_exactly_31_letters__0";
        name[sizeof name - 2] = (char)('0' + i);
        bindings_set(&study.problem, name, value_integer(INT64_MIN));
    }
    bindings_set(&study.problem, "last", value_integer(1));
    write_csv_of("long", "first");
    bindings_set(&study.problem, "last", value_integer(2));
    write_csv_of("long", "first");
    assert_int_equal(find_results("-path '*/long/*'", list), 2);
}

STUDY_TEST(test_table_says_what_was_seen)
{
    static const struct {
        struct gpu_conditions seen;
        const char *line;
    } cases[] = {
        {{true, 0, 0, 1980, 0},
         "\nThe mean SM clock was 1980 MHz. No throttling was detected. No other process used the "
         "GPU.\n"},
        {{true, 12, 0, 1755.4, 1},
         "\nThe mean SM clock was 1755 MHz. Of the samples taken while the GPU was throttled, 12 "
         "were "
         "replaced and 0 kept. 1 other process used the GPU.\n"},
        {{true, 48, 90, 1200, 2},
         "\nThe mean SM clock was 1200 MHz. Of the samples taken while the GPU was throttled, 48 "
         "were "
         "replaced and 90 kept. 2 other processes used the GPU.\n"},
    };
    fixture_study(&study);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        study.conditions = cases[i].seen;
        char *text = printed(&study, 1, REPORT_TABLE, 0);
        assert_has(text, TEXTS(cases[i].line));
        free(text);
    }
}
