#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/dependencies.h"
#include "template/fill.h"
#include "template/value_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clusters and programmatic launches need compute capability 9.0. */
enum { STEP_LIMIT = 4096, CLUSTER_LIMIT = 1024, CAPABILITY = 90 };

/* Of all loops together: those that are nested can take long even if they launch nothing. */
enum { ITERATION_LIMIT = 16 * STEP_LIMIT };

/* The state while a plan is evaluated. After the first failure, everything here does nothing. */
struct planning {
    struct launch_plan *launch_plan;
    const struct template *template;
    const struct launch *launch;        /* the current one */
    const struct kernel_lookup *lookup; /* NULL: of a helper */
    struct evaluation values;           /* in local_scope */
    struct bindings local;              /* loop variable, names of buffers */
    struct bindings stats;              /* resource usage of the current launch */
    struct scope local_scope; /* local, stats, NAME_grid of earlier launches, the caller's scope */
    struct scope stats_scope;
    struct scope names_scope;
    int64_t iterations; /* of all loops so far */
    bool main_known;
};

bool scope_integer(const struct scope *scope, const char *name, int64_t *integer)
{
    const struct value *value = scope_find(scope, name);
    if (value == NULL || value->kind != VALUE_INTEGER)
        return false;
    *integer = value->as.integer;
    return true;
}

/* --- grid, block and shared memory --- */

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

int64_t step_threads(const struct step *step)
{
    int64_t threads;
    (void)multiply(step->block, INT64_MAX, &threads); /* read_extents() has checked it */
    return threads;
}

int64_t step_blocks(const struct step *step)
{
    int64_t blocks;
    (void)multiply(step->grid, INT64_MAX, &blocks);
    return blocks;
}

int64_t evaluate_extent(struct evaluation *evaluation, const struct expression *expression,
                        int64_t otherwise, int64_t least, int64_t most, const char *what,
                        const struct launch *launch)
{
    int64_t extent = evaluate_integer(evaluation, expression, otherwise);
    if (extent < least || extent > most)
        evaluation_refuse(evaluation, expression, "%s of launch '%.50s' would be %" PRId64, what,
                          launch->name, extent);
    return extent;
}

/* Evaluates 1 to 3 extents; the rest are 1. Their product is at most `most`. */
static void read_extents(struct planning *planning, struct expression *const *extents, size_t count,
                         const char *what, int64_t most, uint32_t result[3])
{
    int64_t product;
    for (size_t i = 0; i < 3; i++)
        result[i] = (uint32_t)evaluate_extent(&planning->values, i < count ? extents[i] : NULL, 1,
                                              0, INT32_MAX, what, planning->launch);
    if (!multiply(result, most, &product))
        evaluation_refuse(&planning->values, extents[0],
                          "%s of launch '%.50s' would be %u * %u * %u", what,
                          planning->launch->name, result[0], result[1], result[2]);
}

/* --- attributes --- */

static const char *const scheduling_names[] = {[CLUSTER_SCHEDULING_DEFAULT] = "default",
                                               [CLUSTER_SCHEDULING_SPREAD] = "spread",
                                               [CLUSTER_SCHEDULING_LOAD_BALANCING] =
                                                   "load_balancing",
                                               NULL};

const char *const *cluster_scheduling_names(void)
{
    return scheduling_names;
}

int64_t launch_attributes_cluster_blocks(const struct launch_attributes *attributes)
{
    return (int64_t)attributes->cluster[0] * attributes->cluster[1] * attributes->cluster[2];
}

bool launch_attributes_any(const struct launch_attributes *attributes)
{
    return launch_attributes_cluster_blocks(attributes) > 1 || attributes->programmatic ||
           attributes->cluster_scheduling != CLUSTER_SCHEDULING_DEFAULT ||
           attributes->shared_carveout >= 0;
}

/* `what` of a launch needs compute capability 9.0. */
static void need_capability(struct planning *planning, const struct expression *expression,
                            const char *what)
{
    int64_t capability;
    if (scope_integer(&planning->local_scope, "compute_capability", &capability) &&
        capability < CAPABILITY)
        evaluation_refuse(&planning->values, expression,
                          "%s compute capability 9.0 or newer; this GPU has %" PRId64 ".%" PRId64,
                          what, capability / 10, capability % 10);
}

static void read_cluster(struct planning *planning, struct step *step)
{
    const struct launch *launch = planning->launch;
    uint32_t *cluster = step->attributes.cluster;
    for (size_t i = 0; i < 3; i++) {
        const struct expression *extent = i < launch->cluster_count ? launch->cluster[i] : NULL;
        int64_t blocks =
            evaluate_extent(&planning->values, extent, 1, 1, CLUSTER_LIMIT, "cluster", launch);
        cluster[i] = (uint32_t)blocks;
        if (planning->values.status != 0)
            return;
        if (step->grid[i] % blocks != 0)
            evaluation_refuse(
                &planning->values, extent,
                "the grid of launch '%.50s', %u blocks, is not a multiple of its cluster",
                launch->name, step->grid[i]);
    }
    if (launch_attributes_cluster_blocks(&step->attributes) > 1)
        need_capability(planning, launch->cluster[0], "clusters need");
}

static enum cluster_scheduling read_scheduling(struct planning *planning,
                                               const struct expression *expression)
{
    const struct value value = evaluate_value(&planning->values, expression, value_integer(0));
    int i = value.kind == VALUE_WORD ? names_index(scheduling_names, value.as.word) : -1;
    if (i < 0)
        evaluation_refuse(&planning->values, expression,
                          "cluster_scheduling must be default, spread or load_balancing");
    else if (i != CLUSTER_SCHEDULING_DEFAULT)
        need_capability(planning, expression, "cluster_scheduling needs");
    return i < 0 ? CLUSTER_SCHEDULING_DEFAULT : (enum cluster_scheduling)i;
}

static void read_attributes(struct planning *planning, struct step *step)
{
    const struct launch *launch = planning->launch;
    struct launch_attributes *attributes = &step->attributes;
    read_cluster(planning, step);
    attributes->programmatic = evaluate_boolean(&planning->values, launch->programmatic, false);
    if (attributes->programmatic)
        need_capability(planning, launch->programmatic, "programmatic launches need");
    if (planning->launch_plan->step_count == 0)
        attributes->programmatic = false; /* the previous run is nothing to overlap with */
    if (launch->cluster_scheduling != NULL)
        attributes->cluster_scheduling = read_scheduling(planning, launch->cluster_scheduling);
    int64_t percent = evaluate_integer(&planning->values, launch->shared_carveout, -1);
    if (percent < -1 || percent > 100)
        evaluation_refuse(&planning->values, launch->shared_carveout,
                          "shared_carveout must be 0 to 100 per cent, or -1 for none");
    attributes->shared_carveout = (int)percent;
}

/* --- co-residency --- */

static void check_residency(struct planning *planning, const struct kernel_info *info,
                            const struct step *step, int blocks_per_sm)
{
    const struct launch *launch = planning->launch;
    const struct kernel_lookup *lookup = planning->lookup;
    struct launch_plan *launch_plan = planning->launch_plan;
    int64_t blocks = step_blocks(step);
    int64_t cluster = launch_attributes_cluster_blocks(&step->attributes);
    int64_t sm_count = 0;
    if (cluster == 1) /* the launch leaves it to the code */
        cluster = info->cluster_blocks;
    bool co_resident =
        evaluate_boolean(&planning->values, launch->co_resident, false) || step->cooperative;
    if (planning->values.status != 0 || !co_resident || launch_plan->not_resident || blocks == 0 ||
        step_threads(step) == 0)
        return;
    if (scope_integer(&planning->local_scope, "sm_count", &sm_count) &&
        blocks > sm_count * blocks_per_sm)
        (void)snprintf(launch_plan->residency, sizeof launch_plan->residency,
                       "launch '%s' has %" PRId64 " blocks, but %" PRId64 " SMs hold %d each",
                       launch->name, blocks, sm_count, blocks_per_sm);
    else if (cluster > 1 && lookup->active_clusters != NULL) {
        /* The driver knows how many clusters fit: fewer than the SMs have room for, since a cluster
         * cannot spread over all of them. */
        int held = 0;
        planning->values.status =
            lookup->active_clusters(lookup->user, step, &held, planning->values.error);
        if (planning->values.status == 0 && blocks / cluster > held)
            (void)snprintf(launch_plan->residency, sizeof launch_plan->residency,
                           "launch '%s' has %" PRId64 " clusters of %" PRId64
                           " blocks, but the GPU holds %d at once",
                           launch->name, blocks / cluster, cluster, held);
    }
    launch_plan->not_resident = launch_plan->residency[0] != '\0';
}

/* --- launches --- */

static void bind_stat(struct planning *planning, const char *name, int64_t value)
{
    bindings_set(&planning->stats, name, value_integer(value));
}

/* Evaluates in this order, because later expressions may use earlier results: block, shared memory,
 * blocks per SM, grid, arguments. */
static void make_step(struct planning *planning, struct step *step, int *blocks_per_sm)
{
    const struct launch *launch = planning->launch;
    const struct kernel_lookup *lookup = planning->lookup;
    step->launch = launch;
    step->entry = launch->entry;
    step->argument_count = launch->argument_count;
    read_extents(planning, launch->block, launch->block_count, "block", INT32_MAX, step->block);
    bind_stat(planning, "block_threads", step_threads(step));
    step->dynamic_shared_bytes = (uint32_t)evaluate_extent(&planning->values, launch->shared_bytes,
                                                           0, 0, INT32_MAX, "shared_bytes", launch);
    if (planning->values.status == 0 && lookup != NULL) {
        planning->values.status = lookup->blocks_per_sm(
            lookup->user, launch->entry, (int)step_threads(step), step->dynamic_shared_bytes,
            blocks_per_sm, planning->values.error);
        bind_stat(planning, "blocks_per_sm", *blocks_per_sm);
    }
    read_extents(planning, launch->grid, launch->grid_count, "grid", INT64_MAX, step->grid);
    step->cooperative = evaluate_boolean(&planning->values, launch->cooperative, false);
    read_attributes(planning, step);
    if (planning->values.status == 0)
        planning->values.status =
            step_arguments_read(&step->arguments, launch, planning->template,
                                &planning->local_scope, planning->values.error);
}

static void step_release(struct step *step)
{
    step_arguments_release(step->arguments, step->argument_count);
    *step = (struct step){0};
}

static void bind_extents(struct launch_plan *launch_plan, const struct launch *launch,
                         int64_t blocks, int64_t threads)
{
    char *grid = alloc_format("%s_grid", launch->name);
    char *block = alloc_format("%s_block", launch->name);
    bindings_set(&launch_plan->names, grid, value_integer(blocks));
    bindings_set(&launch_plan->names, block, value_integer(threads));
    free(grid);
    free(block);
}

/* Adds one launch to the plan, unless it has nothing to do. */
static void add_step(struct planning *planning, const struct kernel_info *info, bool first)
{
    struct launch_plan *launch_plan = planning->launch_plan;
    const struct launch *launch = planning->launch;
    struct step step = {0};
    int blocks_per_sm = 0;
    make_step(planning, &step, &blocks_per_sm);
    if (planning->values.status == 0 && launch_plan->step_count == STEP_LIMIT)
        planning->values.status = error_set_at(
            planning->values.error, ERROR_CONFIG, planning->template->path, launch->line,
            "with launch '%s' a run has more than 4096 launches", launch->name);
    check_residency(planning, info, &step, blocks_per_sm);
    int64_t blocks = step_blocks(&step);
    int64_t threads = step_threads(&step);
    if (planning->values.status == 0 && first && planning->lookup != NULL)
        bind_extents(launch_plan, launch, blocks, threads);
    if (planning->values.status != 0 || blocks == 0 || threads == 0) {
        step_release(&step);
        return;
    }
    if (launch_plan->step_count == 0 || (launch->main && !planning->main_known)) {
        planning->main_known = launch->main;
        launch_plan->main_step = launch_plan->step_count;
        launch_plan->main = *info;
        launch_plan->main_blocks_per_sm = blocks_per_sm;
    }
    *ARRAY_APPEND(launch_plan->steps, launch_plan->step_count) = step;
}

static void add_launches(struct planning *planning, const struct launch *first, size_t count,
                         const struct loop *outer);

/* Repeats the launches of a section, or with `info` the current launch, whose own loop it is. Around the loop,
 * `iteration` is what it was. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the template's loops are nested */
static void repeat(struct planning *planning, const struct loop *loop,
                   const struct kernel_info *info)
{
    const struct value *counted = bindings_find(&planning->local, "iteration");
    const struct value outer = counted != NULL ? *counted : value_integer(0);
    struct value variable = evaluate_value(&planning->values, loop->from, value_integer(0));
    for (size_t i = 0; planning->lookup != NULL && i < loop->count;
         i++) /* what an iteration of the loop around it left */
        bind_extents(planning->launch_plan, &loop->first[i], 0, 0);
    for (int64_t iteration = 0; planning->values.status == 0; iteration++) {
        bindings_set(&planning->local, loop->name, variable);
        bindings_set(&planning->local, "iteration", value_integer(iteration));
        if (!evaluate_boolean(&planning->values, loop->condition, false))
            break;
        if (iteration == STEP_LIMIT || ++planning->iterations > ITERATION_LIMIT)
            planning->values.status = error_set_at(
                planning->values.error, ERROR_CONFIG, planning->template->path, loop->line,
                info != NULL ? "the loop of launch '%s' does not end" : "loop '%s' does not end",
                info != NULL ? planning->launch->name : loop->name);
        else if (info != NULL)
            add_step(planning, info, iteration == 0);
        else
            add_launches(planning, loop->first, loop->count, loop);
        variable = evaluate_value(&planning->values, loop->next, value_integer(0));
    }
    bindings_set(&planning->local, "iteration", outer);
}

/* NOLINTNEXTLINE(misc-no-recursion): as repeat() */
static void add_launch(struct planning *planning)
{
    const struct launch *launch = planning->launch;
    const struct kernel_lookup *lookup = planning->lookup;
    struct kernel_info info = {0};
    bindings_release(&planning->stats); /* the previous launch's */
    bool active = evaluate_boolean(&planning->values, launch->when, true);
    if (lookup != NULL) {
        bind_extents(planning->launch_plan, launch, 0, 0); /* an earlier iteration's */
        if (planning->values.status == 0 && active)
            planning->values.status =
                lookup->info(lookup->user, launch->entry, &info, planning->values.error);
        bind_stat(planning, "registers", info.registers);
        bind_stat(planning, "spill_bytes", info.spill_bytes);
        bind_stat(planning, "static_shared_bytes", info.static_shared_bytes);
    }
    if (planning->values.status != 0 || !active)
        return;
    if (launch->loop.name != NULL)
        repeat(planning, &launch->loop, &info);
    else
        add_step(planning, &info, true);
}

/* Adds consecutive launches, which `outer` repeats (NULL: nothing does). */
/* NOLINTNEXTLINE(misc-no-recursion): as repeat() */
static void add_launches(struct planning *planning, const struct launch *first, size_t count,
                         const struct loop *outer)
{
    for (const struct launch *launch = first;
         launch < first + count && planning->values.status == 0;) {
        const struct loop *loop = launch->outer; /* the one in `outer` that begins here */
        while (loop != outer && loop->outer != outer)
            loop = loop->outer;
        if (loop != outer) {
            repeat(planning, loop, NULL);
            launch += loop->count;
        } else {
            planning->launch = launch++;
            add_launch(planning);
        }
    }
}

/* Binds every buffer's name to itself as a word, so that an expression can choose a buffer. */
static void begin(struct planning *planning, const struct scope *scope)
{
    struct launch_plan *launch_plan = planning->launch_plan;
    *launch_plan = (struct launch_plan){0};
    for (size_t i = 0; i < planning->template->buffer_count; i++) {
        const char *name = planning->template->buffers[i].name;
        bindings_set(&planning->local, name, value_word(name));
    }
    bindings_set(&planning->local, "null", value_word("null"));
    planning->names_scope = (struct scope){&launch_plan->names, scope};
    planning->stats_scope = (struct scope){&planning->stats, &planning->names_scope};
    planning->local_scope = (struct scope){&planning->local, &planning->stats_scope};
    planning->values.scope = &planning->local_scope;
}

static int end(struct planning *planning)
{
    const struct launch *constants = &planning->template->constants;
    struct step *step = &planning->launch_plan->constants;
    *step = (struct step){.launch = constants, .entry = constants->entry};
    step->argument_count = constants->argument_count;
    if (planning->values.status == 0 && constants->argument_count > 0)
        planning->values.status =
            step_arguments_read(&step->arguments, constants, planning->template,
                                &planning->local_scope, planning->values.error);
    bindings_release(&planning->local);
    bindings_release(&planning->stats);
    if (planning->values.status != 0)
        launch_plan_release(planning->launch_plan);
    return planning->values.status;
}

int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error)
{
    struct planning planning = {.launch_plan = launch_plan,
                                .template = template,
                                .lookup = lookup,
                                .values = {.error = error}};
    begin(&planning, scope);
    for (size_t i = 0; i < template->launch_count; i++)
        bind_extents(launch_plan, &template->launches[i], 0, 0);
    add_launches(&planning, template->launches, template->launch_count, NULL);
    return end(&planning);
}

int launch_plan_helper(struct launch_plan *launch_plan, const struct template *template,
                       struct helper helper, const struct scope *scope, struct error *error)
{
    struct planning planning = {
        .launch_plan = launch_plan, .template = template, .values = {.error = error}};
    begin(&planning, scope);
    bindings_set(&planning.local, "reference", value_word("reference"));
    bindings_set(&planning.local, "wrong", value_word("wrong"));
    for (size_t i = 0; i < template->expectation_count; i++) {
        char *name = alloc_format(EXPECTED_PREFIX "%s",
                                  template->buffers[template->expectations[i].buffer].name);
        bindings_set(&planning.local, name, value_word(name));
        free(name);
    }
    add_launches(&planning, helper.launches, helper.count, NULL);
    return end(&planning);
}

/* 0 for one that is not a number of something. */
static double evaluate_metric(struct evaluation *evaluation, const struct expression *metric)
{
    double value = evaluate_real(evaluation, metric, 0);
    if (isfinite(value) && value >= 0)
        return value;
    evaluation_refuse(evaluation, metric, "a metric must be a finite number from 0 on");
    return 0;
}

int launch_plan_metrics(const struct launch_plan *launch_plan, const struct template *template,
                        const struct scope *scope, double *bytes, double *operations,
                        struct error *error)
{
    const struct scope names = {&launch_plan->names, scope};
    struct evaluation evaluation = {&names, error, 0};
    *bytes = evaluate_metric(&evaluation, template->bytes);
    *operations = evaluate_metric(&evaluation, template->operations);
    return evaluation.status;
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
    step_release(&launch_plan->constants);
    free(launch_plan->steps);
    bindings_release(&launch_plan->names);
    *launch_plan = (struct launch_plan){0};
}

/* --- the hash --- */

static void hash_tensor_map(struct hash *hash, const struct tensor_map *map)
{
    const uint64_t numbers[] = {(uint64_t)map->type, map->rank, map->swizzle,
                                map->interleave,     map->l2,   map->fill_nan};
    hash_add(hash, numbers, sizeof numbers);
    hash_add(hash, map->dimensions, sizeof map->dimensions);
    hash_add(hash, map->strides, sizeof map->strides);
    hash_add(hash, map->box, sizeof map->box);
    hash_add(hash, map->steps, sizeof map->steps);
}

static void hash_step(struct hash *hash, const struct step *step)
{
    const uint32_t numbers[] = {step->grid[0],
                                step->grid[1],
                                step->grid[2],
                                step->block[0],
                                step->block[1],
                                step->block[2],
                                step->dynamic_shared_bytes,
                                step->cooperative,
                                step->attributes.cluster[0],
                                step->attributes.cluster[1],
                                step->attributes.cluster[2],
                                step->attributes.programmatic,
                                (uint32_t)step->attributes.cluster_scheduling,
                                (uint32_t)step->attributes.shared_carveout,
                                (uint32_t)step->argument_count};
    hash_add_text(hash, step->entry);
    hash_add(hash, numbers, sizeof numbers);
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct step_argument *argument = &step->arguments[i];
        const uint64_t kind[] = {(uint64_t)argument->kind, argument->buffer, argument->size,
                                 argument->pointer_count};
        const uint64_t texture[] = {argument->width,
                                    argument->height,
                                    argument->texture.linear,
                                    (uint64_t)argument->texture.address,
                                    argument->texture.normalized,
                                    argument->texture.as_float};
        hash_add(hash, kind, sizeof kind);
        hash_add(hash, texture, sizeof texture);
        for (size_t j = 0; j < argument->pointer_count; j++) {
            const struct step_pointer *at = &argument->pointers[j];
            const uint64_t pointer[] = {at->buffer, at->part, at->offset};
            hash_add(hash, pointer, sizeof pointer);
        }
        if (argument->tensor_map != NULL)
            hash_tensor_map(hash, argument->tensor_map);
        hash_add(hash, argument->bytes, argument->size);
    }
}

/* Scratch is made for each variant; all other buffers are the problem's. */
static int hash_scratch(struct hash *hash, const struct buffer *buffer, const struct scope *scope,
                        struct error *error)
{
    enum element_type type;
    uint64_t length = 0;
    struct fill_numbers fill = {0};
    struct fill_border border = {0};
    int status = buffer_describe(buffer, scope, &type, &length, error);
    if (status == 0 && fill_has_numbers(&buffer->fill))
        status = fill_read_numbers(&buffer->fill, type, FILL_USUAL_DATA, scope, &fill, error);
    if (status == 0)
        status = fill_read_border(&buffer->fill, scope, length, &border, error);
    if (status != 0)
        return status;
    const int64_t numbers[] = {(int64_t)type, (int64_t)length, fill.whole, (int64_t)fill.key};
    hash_add(hash, &border.width, sizeof border.width);
    hash_add(hash, border.extents, sizeof border.extents);
    const double values[] = {fill.a, fill.b};
    hash_add(hash, numbers, sizeof numbers);
    hash_add(hash, values, sizeof values);
    return 0;
}

/* Two variants that are judged differently are not one measurement, even if they run the same. */
static void hash_verdict(struct hash *hash, const struct template *template,
                         const struct scope *scope)
{
    uint64_t depends = verdict_depends_on(template);
    for (size_t i = 0; i < template->parameter_count; i++) {
        const char *name = template->parameters[i].name;
        const struct value *value = scope_find(scope, name);
        char text[VALUE_TEXT_BYTES];
        if (value == NULL || (depends >> i & 1) == 0)
            continue;
        hash_add_text(hash, name);
        hash_add_text(hash, value_exact_text(*value, text));
    }
}

int launch_hash_add(struct hash *hash, const struct launch_plan *launch_plan,
                    const struct template *template, const struct scope *scope, struct error *error)
{
    struct scope names = {&launch_plan->names, scope};
    const uint64_t counts[] = {launch_plan->step_count, launch_plan->main_step};
    double metrics[2];
    int status = launch_plan_metrics(launch_plan, template, scope, &metrics[0], &metrics[1], error);
    hash_add(hash, metrics, sizeof metrics);
    hash_add(hash, counts, sizeof counts);
    hash_verdict(hash, template, scope);
    for (size_t i = 0; i < launch_plan->step_count; i++)
        hash_step(hash, &launch_plan->steps[i]);
    if (launch_plan->constants.argument_count > 0)
        hash_step(hash, &launch_plan->constants);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH)
            status = hash_scratch(hash, &template->buffers[i], &names, error);
    return status;
}
