/*
 * A small study with everything a study can have: a winner and a tie, failures with and without
 * reasons, values that need quoting. Included by the tests of the modules that keep and print
 * studies.
 */
#ifndef AUTOTUNE_TESTS_STUDY_FIXTURE_H
#define AUTOTUNE_TESTS_STUDY_FIXTURE_H

#include "base/alloc.h"
#include "record/gpu.h"
#include "record/study.h"

#include <string.h>

static inline struct result *fixture_add(struct study *study, int64_t block_size,
                                         const char *finish, enum outcome outcome)
{
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
    bindings_set(&result->parameters, "block_size", value_integer(block_size));
    bindings_set(&result->parameters, "min_blocks", value_integer(0));
    bindings_set(&result->parameters, "finish", value_word(finish));
    bindings_set(&result->parameters, "scale", value_real(2));
    result->outcome = outcome;
    result->bytes = 67108864;
    result->operations = 16777216;
    return result;
}

static inline void fixture_figures(struct result *result, int registers,
                                   int64_t dynamic_shared_bytes)
{
    result->stats = (struct kernel_stats){.known = true,
                                          .registers = registers,
                                          .static_shared_bytes = 128,
                                          .dynamic_shared_bytes = dynamic_shared_bytes,
                                          .block_threads = 512,
                                          .grid_blocks = 264,
                                          .blocks_per_sm = 4,
                                          .occupancy = 1,
                                          .limiters = OCCUPANCY_LIMIT_THREADS};
}

/* Samples at `median_ns` and 0.1 ns below and above it, which no short decimal number hits. */
static inline void fixture_times(struct result *result, double median_ns)
{
    const double samples[] = {median_ns + 0.1, median_ns, median_ns - 0.1};
    result->sample_count = sizeof samples / sizeof *samples;
    result->samples_ns = alloc_zeroed(result->sample_count, sizeof *samples);
    memcpy(result->samples_ns, samples, sizeof samples);
    result->runs = 1;
    result->time = statistics_summarise(result->samples_ns, result->sample_count);
}

/* gpu_from_arch("sm_90") with what a real device adds. */
static inline void fixture_environment(struct environment *environment)
{
    (void)gpu_from_arch("sm_90", &environment->gpu, NULL);
    (void)snprintf(environment->gpu.name, sizeof environment->gpu.name, "NVIDIA H200");
    (void)snprintf(environment->gpu.uuid, sizeof environment->gpu.uuid, "GPU-1234");
    (void)snprintf(environment->gpu.driver, sizeof environment->gpu.driver, "13.0");
    (void)snprintf(environment->nvrtc, sizeof environment->nvrtc, "13.0");
    (void)snprintf(environment->autotune, sizeof environment->autotune, "0.1.0");
    (void)snprintf(environment->host, sizeof environment->host, "lab");
    (void)snprintf(environment->date, sizeof environment->date, "2026-11-21T06:12:00Z");
    environment->command = alloc_string("autotune --config sweep.ini");
    environment->gpu.attributes[GPU_sm_count] = 132;
}

/* Everything but results. */
static inline void fixture_subject(struct study *study)
{
    *study = (struct study){.points = 12, .rejected = 6, .empty_kernel_ns = 2660.25};
    fixture_environment(&study->environment);
    study->kernel = alloc_string("reduce_sum");
    study->template_name = alloc_string("reduce");
    study->template_hash = alloc_string("0123456789abcdef0123456789abcdef");
    study->description = alloc_string("sum of n numbers");
    bindings_set(&study->problem, "n", value_integer(16777216));
    bindings_set(&study->problem, "tolerance", value_real(0.1));
    strcpy(study->cache, "cold");
}

/* A duplicate of the result `twin`, to be linked. */
static inline void fixture_duplicate(struct study *study, size_t twin)
{
    struct result *result = fixture_add(study, 2048, "twin", OUTCOME_DUPLICATE);
    memcpy(result->run_hash, study->results[twin].run_hash, sizeof result->run_hash);
    result->reason = alloc_string("as an earlier sweep had it");
}

static inline void fixture_study(struct study *study)
{
    fixture_subject(study);
    struct result *result = fixture_add(study, 256, "two_pass", OUTCOME_MEASURED);
    fixture_figures(result, 40, 0);
    strcpy(result->run_hash, "00112233445566778899aabbccddeeff");
    fixture_times(result, 31234.5);
    result = fixture_add(study, 512, "two_pass", OUTCOME_MEASURED);
    fixture_figures(result, 32, 0);
    fixture_times(result, 24096);
    result->finalist = result->tied = true;
    result = fixture_add(study, 1024, "two_pass", OUTCOME_COMPILE_ERROR);
    result->reason = alloc_string("reduce.cu(3): error: \"x\" is undefined, twice\nand more");
    result = fixture_add(study, 256, "last_block", OUTCOME_MEASURED);
    fixture_figures(result, 48, 4096);
    fixture_times(result, 24010);
    result->finalist = result->tied = true;
    result = fixture_add(study, 512, "last_block", OUTCOME_TIMEOUT);
    fixture_figures(result, 48, 4096);
    result->reason = alloc_string("no end after 2 s");
    result = fixture_add(study, 1024, "last_block", OUTCOME_TIMEOUT);
    fixture_figures(result, 48, 4096);
    result->reason = alloc_string("no end after 2 s");
    study->complete = true;
    study->has_winner = true;
    study->winner = 1;
}

#endif
