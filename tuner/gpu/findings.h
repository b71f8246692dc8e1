/*
 * What checking a variant's results finds, in slots of 64 bits that the checking kernels write and
 * the host reads. Each expectation has a comparison {mismatches, ~first, unwritten} or sums
 * (inspect.h), and the fingerprint of the expected result. Each buffer has the number of damaged guard
 * bytes, and the fingerprints of what no variant may change: of itself or its initial contents, and of
 * the copies that batches work on. Each verifier has the sums of its buffer and what it counted. Last come
 * the sums of the memory for scratch buffers that is not in use. A variant cannot know where the slots
 * are, and they are cleared after its run.
 */
#ifndef AUTOTUNE_FINDINGS_H
#define AUTOTUNE_FINDINGS_H

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOUND_MISMATCHES, FOUND_FIRST_INVERTED, FOUND_UNWRITTEN }; /* of a comparison */
enum { FOUND_EXPECTED = SUMS };                                   /* behind it, or behind sums */
enum { FOUND_DAMAGED, FOUND_CONSTANT, FOUND_COPIES, FOUND_OF_BUFFER }; /* of a buffer */
enum { FOUND_WRONG = SUMS }; /* behind the sums of a verifier's buffer */

/* Allocates the slots; device_problem_close() frees them. */
int findings_init(struct device_problem *problem, struct error *error);

/* The slots as last fetched. */
const uint64_t *findings_of_expectation(const struct device_problem *problem, size_t index);
const uint64_t *findings_of_buffer(const struct device_problem *problem, size_t index);
const uint64_t *findings_of_verifier(const struct device_problem *problem, size_t index);
const uint64_t *findings_of_arena(const struct device_problem *problem);

/* The first queues zeroing the slots; the second fetches them, and waits for the stream. */
int findings_clear(struct device_problem *problem, struct error *error);
int findings_fetch(struct device_problem *problem, struct error *error);

/* Queues the comparison of an expectation's elements from `first` on. */
int findings_compare(struct device_problem *problem, const struct device_variant *variant,
                     size_t index, uint64_t first, struct error *error);

/* Queues the checks of the last run's outputs and of the guards. */
int findings_queue(struct device_problem *problem, const struct device_variant *variant,
                   struct error *error);

/* Queues the fingerprints of what no variant may change; `batches` (NULL: none) may have copies. */
int findings_queue_constants(struct device_problem *problem, const struct device_variant *variant,
                             const struct batches *batches, struct error *error);

/* Runs the verifiers on the results of the last run, and waits for them. If one fails, ERROR_DEVICE
 * with its name. */
int findings_verify(struct device_problem *problem, struct device_variant *variant,
                    struct error *error);

#endif
