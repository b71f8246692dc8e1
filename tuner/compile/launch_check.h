/*
 * Checks what a template launches against what was compiled, before anything runs: entries,
 * arguments, limits. Also looks kernels up in a compilation, as launch_plan_make() needs them.
 */
#ifndef AUTOTUNE_LAUNCH_CHECK_H
#define AUTOTUNE_LAUNCH_CHECK_H

#include "base/error.h"
#include "compile/compilation.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/launch_plan.h"
#include "template/template.h"

#include <stdbool.h>

/* If the compiler's log says that it has refused an entry's C++ name: ERROR_CONFIG at the template's
 * line, with the reason. If it has refused code of the host, or lacks something that `host_code = ignore` leaves out:
 * ERROR_CONFIG at the source's line, with advice. Otherwise 0. `log` may be NULL. */
int launch_check_refusal(const struct template *template, const char *log, struct error *error);

struct launch_check {
    const struct template *template;
    const struct gpu *gpu;
    const struct compilation *compilation; /* without its cubin, arguments' sizes are not checked */
    const struct scope *scope; /* of everything; NULL: arguments' types are not checked */
    bool missing;              /* set when an entry is not there */
};

/* Looks kernels up in the compiler's log; an entry that is not there is ERROR_CONFIG at its line. */
struct kernel_lookup launch_check_lookup(struct launch_check *check);

/* Returns 0 or an error of occupancy_compute(); a block without threads has no occupancy. */
int launch_check_occupancy(const struct gpu *gpu, const struct compiled_kernel *kernel,
                           int block_threads, int64_t dynamic_shared_bytes,
                           struct occupancy *occupancy, struct error *error);

/* Checks the launches of a variant's plan. Returns OUTCOME_COMPILED, or with a reason
 * OUTCOME_INVALID (arguments) or OUTCOME_LAUNCH_ERROR (limits). */
enum outcome launch_check_variant(struct launch_check *check, const struct launch_plan *launch_plan,
                                  struct error *reason);

/* Checks every helper (template.h) with the parameters' defaults; their kernels are in
 * check->compilation; `fixed` binds problem values and device attributes. Returns 0 or ERROR_CONFIG
 * at the template's line. */
int launch_check_helpers(struct launch_check *check, const struct bindings *fixed,
                         struct error *error);

/* Returns 0, or ERROR_CONFIG at the template's line for the first launch whose arguments differ in
 * number or size from the kernel's parameters. Says nothing about a cubin of an unknown format
 * (cubin_elf.h). */
int launch_arguments_check(const struct launch_plan *launch_plan, const struct template *template,
                           const struct compilation *compilation, struct error *error);

#endif
