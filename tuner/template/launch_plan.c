#include "template/launch_plan.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_LIMIT = 4096 };

/* The state while a plan is evaluated. */
struct evaluation {
    struct launch_plan *launch_plan;
    const struct template *template;
    const struct kernel_lookup *lookup;
    struct error *error;
    struct bindings local;    /* loop variable, names of buffers */
    struct bindings stats;    /* resource usage of the current launch */
    struct scope local_scope; /* local, stats, NAME_grid of earlier launches, the caller's scope */
    struct scope kernel_stats_scope;
    struct scope names_scope;
};

static int out_of_range(const struct evaluation *evaluation, const struct expression *expression,
                        const char *what, int64_t value, const char *name)
{
    char reason[128];
    (void)snprintf(reason, sizeof reason, "%s of launch '%.50s' would be %" PRId64, what, name,
                   value);
    return expression_refuse(expression, &evaluation->local_scope, reason, evaluation->error);
}

/* The product of the extents; false if it exceeds `most`. */
static bool multiply(const uint32_t extents[3], int64_t most, int64_t *product)
{
    *product = 1;
    for (size_t i = 0; i < 3; i++)
        if (extents[i] == 0)
            *product = 0;
    for (size_t i = 0; i < 3; i++)
        if (__builtin_mul_overflow(*product, extents[i], product) || *product > most)
            return false;
    return true;
}

/* Evaluates 1 to 3 extents; the rest are 1. Their product is at most `most`. */
static int read_extents(struct evaluation *evaluation, const struct launch *launch,
                        struct expression *const *extents, size_t count, const char *what,
                        int64_t most, uint32_t result[3])
{
    int64_t product;
    for (size_t i = 0; i < 3; i++) {
        int64_t value = 1;
        if (i < count) {
            int status =
                expression_integer(extents[i], &evaluation->local_scope, &value, evaluation->error);
            if (status != 0)
                return status;
        }
        if (value < 0 || value > INT32_MAX)
            return out_of_range(evaluation, extents[i], what, value, launch->name);
        result[i] = (uint32_t)value;
    }
    if (multiply(result, most, &product))
        return 0;
    char reason[160];
    (void)snprintf(reason, sizeof reason, "%s of launch '%.50s' would be %u * %u * %u", what,
                   launch->name, result[0], result[1], result[2]);
    return expression_refuse(extents[0], &evaluation->local_scope, reason, evaluation->error);
}

static int read_shared(struct evaluation *evaluation, const struct launch *launch,
                       struct step *step)
{
    int64_t bytes = 0;
    if (launch->shared_bytes != NULL) {
        int status = expression_integer(launch->shared_bytes, &evaluation->local_scope, &bytes,
                                        evaluation->error);
        if (status != 0)
            return status;
    }
    if (bytes < 0 || bytes > INT32_MAX)
        return out_of_range(evaluation, launch->shared_bytes, "shared_bytes", bytes, launch->name);
    step->dynamic_shared_bytes = (uint32_t)bytes;
    return 0;
}

static int read_flag(struct evaluation *evaluation, const struct expression *expression, bool *flag)
{
    *flag = false;
    if (expression == NULL)
        return 0;
    return expression_boolean(expression, &evaluation->local_scope, flag, evaluation->error);
}

/* --- launches --- */

static void bind_stat(struct evaluation *evaluation, const char *name, int64_t value)
{
    bindings_set(&evaluation->stats, name, value_integer(value));
}

/* Replaces the stats of the previous launch. */
static void bind_info(struct evaluation *evaluation, const struct kernel_info *info)
{
    bindings_release(&evaluation->stats);
    bind_stat(evaluation, "registers", info->registers);
    bind_stat(evaluation, "spill_bytes", info->spill_bytes);
    bind_stat(evaluation, "static_shared_bytes", info->static_shared_bytes);
}

int64_t step_threads(const struct step *step)
{
    int64_t threads;
    (void)multiply(step->block, INT64_MAX, &threads); /* make_step() has checked it */
    return threads;
}

int64_t step_blocks(const struct step *step)
{
    int64_t blocks;
    (void)multiply(step->grid, INT64_MAX, &blocks);
    return blocks;
}

static void refuse_residency(struct launch_plan *launch_plan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse_residency(struct launch_plan *launch_plan, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    launch_plan->not_resident = true;
    (void)vsnprintf(launch_plan->residency, sizeof launch_plan->residency, format, arguments);
    va_end(arguments);
}

/* The driver knows how many clusters fit: fewer than the SMs have room for, since a cluster cannot
 * spread over all of them. */
static int check_clusters(struct evaluation *evaluation, const struct launch *launch,
                          const struct step *step)
{
    const struct kernel_lookup *lookup = evaluation->lookup;
    int64_t blocks = launch_attributes_cluster_blocks(&step->attributes);
    int held = 0;
    int status = lookup->active_clusters(lookup->user, step, &held, evaluation->error);
    if (status == 0 && step_blocks(step) / blocks > held)
        refuse_residency(evaluation->launch_plan,
                         "launch '%s' has %" PRId64 " clusters of %" PRId64
                         " blocks, but the GPU holds %d at once",
                         launch->name, step_blocks(step) / blocks, blocks, held);
    return status;
}

static int check_residency(struct evaluation *evaluation, const struct launch *launch,
                           const struct step *step, int blocks_per_sm)
{
    bool co_resident;
    int64_t sm_count = 0;
    int status = read_flag(evaluation, launch->co_resident, &co_resident);
    if (status != 0 || !(co_resident || step->cooperative))
        return status;
    if (evaluation->launch_plan->not_resident || step_blocks(step) == 0 || step_threads(step) == 0)
        return 0;
    if (scope_integer(&evaluation->local_scope, "sm_count", &sm_count) &&
        step_blocks(step) > sm_count * blocks_per_sm)
        refuse_residency(evaluation->launch_plan,
                         "launch '%s' has %" PRId64 " blocks, but %" PRId64 " SMs hold %d each",
                         launch->name, step_blocks(step), sm_count, blocks_per_sm);
    else if (launch_attributes_cluster_blocks(&step->attributes) > 1 &&
             evaluation->lookup->active_clusters != NULL)
        return check_clusters(evaluation, launch, step);
    return 0;
}

/* Evaluates in this order, because later expressions may use earlier results: block, shared memory,
 * blocks per SM, grid, arguments. */
static int make_step(struct evaluation *evaluation, const struct launch *launch, struct step *step,
                     int *blocks_per_sm)
{
    step->launch = launch;
    step->entry = launch->entry;
    step->argument_count = launch->argument_count;
    int status = read_extents(evaluation, launch, launch->block, launch->block_count, "block",
                              INT32_MAX, step->block);
    if (status != 0)
        return status;
    int64_t threads = step_threads(step);
    bind_stat(evaluation, "block_threads", threads);
    status = read_shared(evaluation, launch, step);
    if (status == 0 && evaluation->lookup != NULL) {
        status = evaluation->lookup->blocks_per_sm(evaluation->lookup->user, launch->entry,
                                                   (int)threads, step->dynamic_shared_bytes,
                                                   blocks_per_sm, evaluation->error);
        bind_stat(evaluation, "blocks_per_sm", *blocks_per_sm);
    }
    if (status == 0)
        status = read_extents(evaluation, launch, launch->grid, launch->grid_count, "grid",
                              INT64_MAX, step->grid);
    if (status == 0)
        status = read_flag(evaluation, launch->cooperative, &step->cooperative);
    if (status == 0)
        status = launch_attributes_read(&step->attributes, launch, step->grid,
                                        &evaluation->local_scope, evaluation->error);
    if (evaluation->launch_plan->step_count == 0)
        step->attributes.programmatic = false; /* the previous run is nothing to overlap with */
    if (status == 0)
        status = step_arguments_read(&step->arguments, launch, evaluation->template,
                                     &evaluation->local_scope, evaluation->error);
    return status;
}

static void step_release(struct step *step)
{
    step_arguments_release(step->arguments, step->argument_count);
    *step = (struct step){0};
}

/* Binds the launch's name with `what` behind it. */
static void bind_extent(struct launch_plan *launch_plan, const struct launch *launch,
                        const char *what, int64_t extent)
{
    char *name = alloc_zeroed(strlen(launch->name) + strlen(what) + 1, 1);
    (void)stpcpy(stpcpy(name, launch->name), what);
    bindings_set(&launch_plan->names, name, value_integer(extent));
    free(name);
}

/* Adds one launch to the plan, unless it has nothing to do. */
static int add_step(struct evaluation *evaluation, const struct launch *launch,
                    const struct kernel_info *info, bool first)
{
    struct launch_plan *launch_plan = evaluation->launch_plan;
    struct step step = {0};
    int blocks_per_sm = 0;
    int status = make_step(evaluation, launch, &step, &blocks_per_sm);
    if (status == 0 && launch_plan->step_count == STEP_LIMIT)
        status =
            error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path, launch->line,
                         "with launch '%s' a run has more than 4096 launches", launch->name);
    if (status == 0)
        status = check_residency(evaluation, launch, &step, blocks_per_sm);
    if (status != 0) {
        step_release(&step);
        return status;
    }
    if (first) {
        bind_extent(launch_plan, launch, "_grid", step_blocks(&step));
        bind_extent(launch_plan, launch, "_block", step_threads(&step));
    }
    if (step_blocks(&step) == 0 || step_threads(&step) == 0) {
        step_release(&step);
        return 0;
    }
    if (launch_plan->step_count == 0 || (launch->main && first)) {
        launch_plan->main_step = launch_plan->step_count;
        launch_plan->main = *info;
        launch_plan->main_blocks_per_sm = blocks_per_sm;
    }
    *ARRAY_APPEND(launch_plan->steps, launch_plan->step_count) = step;
    return 0;
}

static int add_loop(struct evaluation *evaluation, const struct launch *launch,
                    const struct kernel_info *info)
{
    struct value variable;
    int status =
        expression_value(launch->from, &evaluation->local_scope, &variable, evaluation->error);
    for (int64_t iteration = 0; status == 0; iteration++) {
        bool more = false;
        bindings_set(&evaluation->local, launch->loop, variable);
        bindings_set(&evaluation->local, "iteration", value_integer(iteration));
        status = expression_boolean(launch->condition, &evaluation->local_scope, &more,
                                    evaluation->error);
        if (status != 0 || !more)
            break;
        if (iteration == STEP_LIMIT)
            return error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path,
                                launch->line, "the loop of launch '%s' does not end", launch->name);
        status = add_step(evaluation, launch, info, iteration == 0);
        if (status == 0)
            status = expression_value(launch->next, &evaluation->local_scope, &variable,
                                      evaluation->error);
    }
    return status;
}

/* Binds every buffer's name to itself as a word, so that an expression can choose a buffer. */
static void begin(struct evaluation *evaluation, const struct scope *scope)
{
    struct launch_plan *launch_plan = evaluation->launch_plan;
    *launch_plan = (struct launch_plan){0};
    for (size_t i = 0; i < evaluation->template->buffer_count; i++) {
        const char *name = evaluation->template->buffers[i].name;
        bindings_set(&evaluation->local, name, value_word(name));
    }
    bindings_set(&evaluation->local, "reference", value_word("reference"));
    evaluation->names_scope = (struct scope){&launch_plan->names, scope};
    evaluation->kernel_stats_scope = (struct scope){&evaluation->stats, &evaluation->names_scope};
    evaluation->local_scope = (struct scope){&evaluation->local, &evaluation->kernel_stats_scope};
}

static void end(struct evaluation *evaluation)
{
    bindings_release(&evaluation->local);
    bindings_release(&evaluation->stats);
}

static void bind_inactive(struct launch_plan *launch_plan, const struct template *template)
{
    for (size_t i = 0; i < template->launch_count; i++) {
        bind_extent(launch_plan, &template->launches[i], "_grid", 0);
        bind_extent(launch_plan, &template->launches[i], "_block", 0);
    }
}

static int add_launch(struct evaluation *evaluation, size_t index)
{
    const struct launch *launch = &evaluation->template->launches[index];
    struct kernel_info info;
    bool active = true;
    int status = 0;
    if (launch->when != NULL)
        status = read_flag(evaluation, launch->when, &active);
    if (status != 0 || !active)
        return status;
    status =
        evaluation->lookup->info(evaluation->lookup->user, launch->entry, &info, evaluation->error);
    if (status != 0)
        return status;
    bind_info(evaluation, &info);
    return launch->loop != NULL ? add_loop(evaluation, launch, &info)
                                : add_step(evaluation, launch, &info, true);
}

int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error)
{
    struct evaluation evaluation = {
        .launch_plan = launch_plan, .template = template, .lookup = lookup, .error = error};
    int status = 0;
    begin(&evaluation, scope);
    bind_inactive(launch_plan, template);
    for (size_t i = 0; i < template->launch_count && status == 0; i++)
        status = add_launch(&evaluation, i);
    end(&evaluation);
    if (status != 0)
        launch_plan_release(launch_plan);
    return status;
}

int launch_plan_helper(struct launch_plan *launch_plan, const struct template *template,
                       const struct launch *helper, const struct scope *scope, struct error *error)
{
    struct evaluation evaluation = {
        .launch_plan = launch_plan, .template = template, .error = error};
    struct step *step;
    int blocks_per_sm = 0;
    begin(&evaluation, scope);
    if (helper->counts)
        bindings_set(&evaluation.local, "wrong", value_word("wrong"));
    step = ARRAY_APPEND(launch_plan->steps, launch_plan->step_count);
    int status = make_step(&evaluation, helper, step, &blocks_per_sm);
    end(&evaluation);
    if (status == 0 && (step_blocks(step) == 0 || step_threads(step) == 0)) {
        step_release(step);
        launch_plan->step_count = 0;
    }
    if (status != 0)
        launch_plan_release(launch_plan);
    return status;
}

static int evaluate_metric(const struct expression *metric, const struct scope *scope,
                           double *value, struct error *error)
{
    *value = 0;
    int status = metric == NULL ? 0 : expression_real(metric, scope, value, error);
    bool fit = isfinite(*value) && *value >= 0;
    if (!fit)
        *value = 0;
    if (status == 0 && !fit)
        status =
            expression_refuse(metric, scope, "a metric must be a finite number from 0 on", error);
    return status;
}

int launch_plan_metrics(const struct launch_plan *launch_plan, const struct template *template,
                        const struct scope *scope, double *bytes, double *operations,
                        struct error *error)
{
    struct scope names = {&launch_plan->names, scope};
    int status = evaluate_metric(template->bytes, &names, bytes, error);
    return status != 0 ? status : evaluate_metric(template->operations, &names, operations, error);
}

int launch_plan_check(const struct launch_plan *launch_plan, struct error *error)
{
    if (launch_plan->step_count > 0)
        return 0;
    return error_set(error, ERROR_CONFIG,
                     "it launches nothing: every grid or block is 0, or every 'when' is false");
}

void launch_plan_release(struct launch_plan *launch_plan)
{
    for (size_t i = 0; i < launch_plan->step_count; i++)
        step_release(&launch_plan->steps[i]);
    free(launch_plan->steps);
    bindings_release(&launch_plan->names);
    *launch_plan = (struct launch_plan){0};
}
