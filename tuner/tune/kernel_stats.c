#include "tune/kernel_stats.h"

#include "base/alloc.h"
#include "compile/launch_check.h"
#include "template/launch_plan.h"
#include "template/problem_check.h"

#include <stdlib.h>

void kernel_stats_limit(const struct kernel_stats_source *source, const char *entry,
                        struct kernel_stats *stats)
{
    const struct compiled_kernel *kernel = compilation_kernel(source->compilation, entry);
    struct occupancy occupancy;
    int64_t most = source->gpu->attributes[GPU_max_threads_per_sm];
    int64_t warp = source->gpu->attributes[GPU_warp_size];
    int64_t warps = warp > 0 ? (stats->block_threads + warp - 1) / warp : 0;
    stats->known = true;
    stats->occupancy = most > 0 ? (double)(stats->blocks_per_sm * warps * warp) / (double)most : 0;
    if (kernel != NULL &&
        launch_check_occupancy(source->gpu, kernel, stats->block_threads,
                               stats->dynamic_shared_bytes, &occupancy, NULL) == 0)
        stats->limiters = occupancy.limiters;
}

static void take_main(const struct kernel_stats_source *source,
                      const struct launch_plan *launch_plan, struct kernel_stats *stats)
{
    const struct step *step = &launch_plan->steps[launch_plan->main_step];
    *stats = (struct kernel_stats){
        .registers = launch_plan->main.registers,
        .spill_bytes = launch_plan->main.spill_bytes,
        .stack_bytes = launch_plan->main.stack_bytes,
        .static_shared_bytes = launch_plan->main.static_shared_bytes,
        .dynamic_shared_bytes = step->dynamic_shared_bytes,
        .block_threads = (int)step_threads(step),
        .grid_blocks = step_blocks(step),
        .blocks_per_sm = launch_plan->main_blocks_per_sm,
    };
    kernel_stats_limit(source, step->entry, stats);
}

/* What result->other_launches says; a new string, or NULL. A launch that a loop repeats counts as it is at first. */
static char *describe_others(const struct kernel_stats_source *source,
                             const struct launch_plan *launch_plan)
{
    const struct launch *main = launch_plan->steps[launch_plan->main_step].launch;
    char *text = NULL;
    for (size_t i = 0; i < source->template->launch_count; i++) {
        const struct launch *launch = &source->template->launches[i];
        const struct step *step = launch_plan->steps;
        const struct step *end = step + launch_plan->step_count;
        struct occupancy occupancy;
        while (step < end && step->launch != launch)
            step++;
        if (launch == main || step == end)
            continue;
        const struct compiled_kernel *kernel = compilation_kernel(source->compilation, step->entry);
        if (kernel != NULL &&
            launch_check_occupancy(source->gpu, kernel, (int)step_threads(step),
                                   step->dynamic_shared_bytes, &occupancy, NULL) == 0)
            alloc_append(&text, "%s%s %d regs %.0f %%", text != NULL ? "; " : "", launch->name,
                         kernel->registers, 100 * occupancy.fraction);
    }
    return text;
}

/* Without a hash the variant is nobody's twin; what is wrong with it the GPU worker says. */
static void fill_hash(const struct kernel_stats_source *source,
                      const struct launch_plan *launch_plan, const struct scope *scope,
                      char run_hash[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_add_text(hash, source->compilation->cubin_hash);
    /* C++ names can stand for other kernels in other variants of the same code */
    for (size_t i = 0; i < launch_plan->step_count; i++) {
        const char *entry = launch_plan->steps[i].entry;
        const char *symbol = compilation_symbol(source->compilation, entry);
        if (symbol != entry)
            hash_add_text(hash, symbol);
    }
    bool whole = launch_hash_add(hash, launch_plan, source->template, scope, NULL) == 0 &&
                 source->compilation->cubin_hash[0] != '\0';
    hash_finish(hash, run_hash);
    if (!whole)
        run_hash[0] = '\0';
}

void kernel_stats_fill(const struct kernel_stats_source *source, struct result *result,
                       enum outcome *outcome, struct error *reason)
{
    struct launch_check check = {
        .template = source->template, .gpu = source->gpu, .compilation = source->compilation};
    const struct kernel_lookup functions = launch_check_lookup(&check);
    struct scope fixed = {source->fixed, NULL};
    struct scope scope = {source->parameters, &fixed};
    struct launch_plan launch_plan;
    check.scope = &scope;
    *outcome = OUTCOME_COMPILED;
    if (launch_plan_make(&launch_plan, source->template, &scope, &functions, reason) != 0) {
        *outcome = check.missing ? OUTCOME_LOAD_ERROR : OUTCOME_INVALID;
        return;
    }
    free(result->other_launches);
    result->other_launches = NULL;
    if (launch_plan.step_count > 0) {
        take_main(source, &launch_plan, &result->stats);
        result->other_launches = describe_others(source, &launch_plan);
    }
    if (launch_plan_check(&launch_plan, reason) != 0 ||
        launch_plan_metrics(&launch_plan, source->template, &scope, &result->bytes,
                            &result->operations, reason) != 0 ||
        problem_check_variant(source->template, &scope, reason) != 0)
        *outcome = OUTCOME_INVALID;
    else
        *outcome = launch_check_variant(&check, &launch_plan, reason);
    if (*outcome == OUTCOME_COMPILED && launch_plan.not_resident) {
        *outcome = OUTCOME_NOT_RESIDENT;
        (void)error_set(reason, ERROR_DEVICE, "%s", launch_plan.residency);
    }
    if (*outcome == OUTCOME_COMPILED)
        fill_hash(source, &launch_plan, &scope, result->run_hash);
    launch_plan_release(&launch_plan);
}

int kernel_stats_allowed(const struct kernel_stats_source *source, const struct kernel_stats *stats,
                         const struct expression *const *constraints, size_t count, bool *allowed,
                         size_t *index, struct error *error)
{
    struct bindings local = {0};
    struct scope fixed = {source->fixed, NULL};
    struct scope parameters = {source->parameters, &fixed};
    struct scope scope = {&local, &parameters};
    struct error failure;
    int status = 0;
    *allowed = true;
    bindings_set(&local, "registers", value_integer(stats->registers));
    bindings_set(&local, "spill_bytes", value_integer(stats->spill_bytes));
    bindings_set(&local, "static_shared_bytes", value_integer(stats->static_shared_bytes));
    bindings_set(&local, "shared_bytes",
                 value_integer(stats->static_shared_bytes + stats->dynamic_shared_bytes));
    bindings_set(&local, "blocks_per_sm", value_integer(stats->blocks_per_sm));
    bindings_set(&local, "block_threads", value_integer(stats->block_threads));
    bindings_set(&local, "occupancy", value_real(stats->occupancy));
    for (size_t i = 0; i < count && status == 0 && *allowed; i++) {
        if (!constraint_needs_stats(constraints[i]))
            continue;
        *index = i;
        status = expression_boolean(constraints[i], &scope, allowed, &failure);
    }
    if (status != 0)
        (void)error_set_at(error, failure.code, failure.file, failure.line, "constraint: %s",
                           failure.message);
    bindings_release(&local);
    return status;
}
