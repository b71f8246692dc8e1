#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/dependencies.h"
#include "template/fill.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clusters and programmatic launches need compute capability 9.0. */
enum { STEP_LIMIT = 4096, CLUSTER_LIMIT = 1024, CAPABILITY = 90 };

/* The state while a plan is evaluated. After the first failure, everything here does nothing. */
struct evaluation {
    struct launch_plan *launch_plan;
    const struct template *template;
    const struct launch *launch; /* the current one */
    const struct kernel_lookup *lookup;
    struct error *error;
    int status;
    struct bindings local;    /* loop variable, names of buffers */
    struct bindings stats;    /* resource usage of the current launch */
    struct scope local_scope; /* local, stats, NAME_grid of earlier launches, the caller's scope */
    struct scope stats_scope;
    struct scope names_scope;
};

static void refuse(struct evaluation *evaluation, const struct expression *expression,
                   const char *format, ...) __attribute__((format(printf, 3, 4)));

static void refuse(struct evaluation *evaluation, const struct expression *expression,
                   const char *format, ...)
{
    char reason[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (evaluation->status == 0)
        evaluation->status =
            expression_refuse(expression, &evaluation->local_scope, reason, evaluation->error);
}

/* `otherwise` after a failure, or if the expression is NULL. */
static int64_t read_integer(struct evaluation *evaluation, const struct expression *expression,
                            int64_t otherwise)
{
    int64_t integer = otherwise;
    if (evaluation->status == 0 && expression != NULL)
        evaluation->status =
            expression_integer(expression, &evaluation->local_scope, &integer, evaluation->error);
    return evaluation->status == 0 ? integer : otherwise;
}

static bool read_flag(struct evaluation *evaluation, const struct expression *expression,
                      bool otherwise)
{
    bool flag = otherwise;
    if (evaluation->status == 0 && expression != NULL)
        evaluation->status =
            expression_boolean(expression, &evaluation->local_scope, &flag, evaluation->error);
    return flag;
}

static struct value read_value(struct evaluation *evaluation, const struct expression *expression)
{
    struct value value = {0};
    if (evaluation->status == 0)
        evaluation->status =
            expression_value(expression, &evaluation->local_scope, &value, evaluation->error);
    return value;
}

bool scope_integer(const struct scope *scope, const char *name, int64_t *integer)
{
    for (; scope != NULL; scope = scope->outer) {
        const struct value *value = bindings_find(scope->bindings, name);
        if (value != NULL && value->kind == VALUE_INTEGER) {
            *integer = value->as.integer;
            return true;
        }
    }
    return false;
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

static uint32_t read_extent(struct evaluation *evaluation, const struct expression *expression,
                            const char *what, int64_t otherwise)
{
    int64_t extent = read_integer(evaluation, expression, otherwise);
    if (extent < 0 || extent > INT32_MAX)
        refuse(evaluation, expression, "%s of launch '%.50s' would be %" PRId64, what,
               evaluation->launch->name, extent);
    return (uint32_t)extent;
}

/* Evaluates 1 to 3 extents; the rest are 1. Their product is at most `most`. */
static void read_extents(struct evaluation *evaluation, struct expression *const *extents,
                         size_t count, const char *what, int64_t most, uint32_t result[3])
{
    int64_t product;
    for (size_t i = 0; i < 3; i++)
        result[i] = read_extent(evaluation, i < count ? extents[i] : NULL, what, 1);
    if (!multiply(result, most, &product))
        refuse(evaluation, extents[0], "%s of launch '%.50s' would be %u * %u * %u", what,
               evaluation->launch->name, result[0], result[1], result[2]);
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
static void need_capability(struct evaluation *evaluation, const struct expression *expression,
                            const char *what)
{
    int64_t capability;
    if (scope_integer(&evaluation->local_scope, "compute_capability", &capability) &&
        capability < CAPABILITY)
        refuse(evaluation, expression,
               "%s compute capability 9.0 or newer; this GPU has %" PRId64 ".%" PRId64, what,
               capability / 10, capability % 10);
}

static void read_cluster(struct evaluation *evaluation, struct step *step)
{
    const struct launch *launch = evaluation->launch;
    uint32_t *cluster = step->attributes.cluster;
    for (size_t i = 0; i < 3; i++) {
        const struct expression *extent = i < launch->cluster_count ? launch->cluster[i] : NULL;
        int64_t blocks = read_integer(evaluation, extent, 1);
        cluster[i] = (uint32_t)blocks;
        if (blocks < 1 || blocks > CLUSTER_LIMIT) {
            refuse(evaluation, extent, "cluster of launch '%.50s' would be %" PRId64, launch->name,
                   blocks);
            return;
        }
        if (step->grid[i] % blocks != 0)
            refuse(evaluation, extent,
                   "the grid of launch '%.50s', %u blocks, is not a multiple of its cluster",
                   launch->name, step->grid[i]);
    }
    if (launch_attributes_cluster_blocks(&step->attributes) > 1)
        need_capability(evaluation, launch->cluster[0], "clusters need");
}

static enum cluster_scheduling read_scheduling(struct evaluation *evaluation,
                                               const struct expression *expression)
{
    const struct value value = read_value(evaluation, expression);
    for (int i = 0; value.kind == VALUE_WORD && scheduling_names[i] != NULL; i++)
        if (strcmp(scheduling_names[i], value.as.word) == 0) {
            if (i != CLUSTER_SCHEDULING_DEFAULT)
                need_capability(evaluation, expression, "cluster_scheduling needs");
            return (enum cluster_scheduling)i;
        }
    refuse(evaluation, expression, "cluster_scheduling must be default, spread or load_balancing");
    return CLUSTER_SCHEDULING_DEFAULT;
}

static void read_attributes(struct evaluation *evaluation, struct step *step)
{
    const struct launch *launch = evaluation->launch;
    struct launch_attributes *attributes = &step->attributes;
    read_cluster(evaluation, step);
    attributes->programmatic = read_flag(evaluation, launch->programmatic, false);
    if (attributes->programmatic)
        need_capability(evaluation, launch->programmatic, "programmatic launches need");
    if (evaluation->launch_plan->step_count == 0)
        attributes->programmatic = false; /* the previous run is nothing to overlap with */
    if (launch->cluster_scheduling != NULL)
        attributes->cluster_scheduling = read_scheduling(evaluation, launch->cluster_scheduling);
    int64_t percent = read_integer(evaluation, launch->shared_carveout, -1);
    if (percent < -1 || percent > 100)
        refuse(evaluation, launch->shared_carveout,
               "shared_carveout must be 0 to 100 per cent, or -1 for none");
    attributes->shared_carveout = (int)percent;
}

/* --- co-residency --- */

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

static void check_residency(struct evaluation *evaluation, const struct step *step,
                            int blocks_per_sm)
{
    const struct launch *launch = evaluation->launch;
    const struct kernel_lookup *lookup = evaluation->lookup;
    struct launch_plan *launch_plan = evaluation->launch_plan;
    int64_t blocks = step_blocks(step);
    int64_t cluster = launch_attributes_cluster_blocks(&step->attributes);
    int64_t sm_count = 0;
    bool co_resident = read_flag(evaluation, launch->co_resident, false) || step->cooperative;
    if (evaluation->status != 0 || !co_resident || launch_plan->not_resident || blocks == 0 ||
        step_threads(step) == 0)
        return;
    if (scope_integer(&evaluation->local_scope, "sm_count", &sm_count) &&
        blocks > sm_count * blocks_per_sm)
        refuse_residency(launch_plan,
                         "launch '%s' has %" PRId64 " blocks, but %" PRId64 " SMs hold %d each",
                         launch->name, blocks, sm_count, blocks_per_sm);
    else if (cluster > 1 && lookup->active_clusters != NULL) {
        /* The driver knows how many clusters fit: fewer than the SMs have room for, since a cluster
         * cannot spread over all of them. */
        int held = 0;
        evaluation->status = lookup->active_clusters(lookup->user, step, &held, evaluation->error);
        if (evaluation->status == 0 && blocks / cluster > held)
            refuse_residency(launch_plan,
                             "launch '%s' has %" PRId64 " clusters of %" PRId64
                             " blocks, but the GPU holds %d at once",
                             launch->name, blocks / cluster, cluster, held);
    }
}

/* --- launches --- */

static void bind_stat(struct evaluation *evaluation, const char *name, int64_t value)
{
    bindings_set(&evaluation->stats, name, value_integer(value));
}

/* Evaluates in this order, because later expressions may use earlier results: block, shared memory,
 * blocks per SM, grid, arguments. */
static void make_step(struct evaluation *evaluation, struct step *step, int *blocks_per_sm)
{
    const struct launch *launch = evaluation->launch;
    const struct kernel_lookup *lookup = evaluation->lookup;
    step->launch = launch;
    step->entry = launch->entry;
    step->argument_count = launch->argument_count;
    read_extents(evaluation, launch->block, launch->block_count, "block", INT32_MAX, step->block);
    bind_stat(evaluation, "block_threads", step_threads(step));
    step->dynamic_shared_bytes = read_extent(evaluation, launch->shared_bytes, "shared_bytes", 0);
    if (evaluation->status == 0 && lookup != NULL) {
        evaluation->status =
            lookup->blocks_per_sm(lookup->user, launch->entry, (int)step_threads(step),
                                  step->dynamic_shared_bytes, blocks_per_sm, evaluation->error);
        bind_stat(evaluation, "blocks_per_sm", *blocks_per_sm);
    }
    read_extents(evaluation, launch->grid, launch->grid_count, "grid", INT64_MAX, step->grid);
    step->cooperative = read_flag(evaluation, launch->cooperative, false);
    read_attributes(evaluation, step);
    if (evaluation->status == 0)
        evaluation->status = step_arguments_read(&step->arguments, launch, evaluation->template,
                                                 &evaluation->local_scope, evaluation->error);
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
static void add_step(struct evaluation *evaluation, const struct kernel_info *info, bool first)
{
    struct launch_plan *launch_plan = evaluation->launch_plan;
    const struct launch *launch = evaluation->launch;
    struct step step = {0};
    int blocks_per_sm = 0;
    make_step(evaluation, &step, &blocks_per_sm);
    if (evaluation->status == 0 && launch_plan->step_count == STEP_LIMIT)
        evaluation->status =
            error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path, launch->line,
                         "with launch '%s' a run has more than 4096 launches", launch->name);
    check_residency(evaluation, &step, blocks_per_sm);
    int64_t blocks = step_blocks(&step);
    int64_t threads = step_threads(&step);
    if (evaluation->status == 0 && first)
        bind_extents(launch_plan, launch, blocks, threads);
    if (evaluation->status != 0 || blocks == 0 || threads == 0) {
        step_release(&step);
        return;
    }
    if (launch_plan->step_count == 0 || (launch->main && first)) {
        launch_plan->main_step = launch_plan->step_count;
        launch_plan->main = *info;
        launch_plan->main_blocks_per_sm = blocks_per_sm;
    }
    *ARRAY_APPEND(launch_plan->steps, launch_plan->step_count) = step;
}

static void add_loop(struct evaluation *evaluation, const struct kernel_info *info)
{
    const struct launch *launch = evaluation->launch;
    struct value variable = read_value(evaluation, launch->from);
    for (int64_t iteration = 0; evaluation->status == 0; iteration++) {
        bindings_set(&evaluation->local, launch->loop, variable);
        bindings_set(&evaluation->local, "iteration", value_integer(iteration));
        if (!read_flag(evaluation, launch->condition, false))
            break;
        if (iteration == STEP_LIMIT)
            evaluation->status =
                error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path,
                             launch->line, "the loop of launch '%s' does not end", launch->name);
        else
            add_step(evaluation, info, iteration == 0);
        variable = read_value(evaluation, launch->next);
    }
}

static void add_launch(struct evaluation *evaluation)
{
    const struct launch *launch = evaluation->launch;
    const struct kernel_lookup *lookup = evaluation->lookup;
    struct kernel_info info;
    bindings_release(&evaluation->stats); /* the previous launch's */
    bool active = read_flag(evaluation, launch->when, true);
    if (evaluation->status == 0 && active)
        evaluation->status = lookup->info(lookup->user, launch->entry, &info, evaluation->error);
    if (evaluation->status != 0 || !active)
        return;
    bind_stat(evaluation, "registers", info.registers);
    bind_stat(evaluation, "spill_bytes", info.spill_bytes);
    bind_stat(evaluation, "static_shared_bytes", info.static_shared_bytes);
    if (launch->loop != NULL)
        add_loop(evaluation, &info);
    else
        add_step(evaluation, &info, true);
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
    evaluation->stats_scope = (struct scope){&evaluation->stats, &evaluation->names_scope};
    evaluation->local_scope = (struct scope){&evaluation->local, &evaluation->stats_scope};
}

static int end(struct evaluation *evaluation)
{
    bindings_release(&evaluation->local);
    bindings_release(&evaluation->stats);
    if (evaluation->status != 0)
        launch_plan_release(evaluation->launch_plan);
    return evaluation->status;
}

int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error)
{
    struct evaluation evaluation = {
        .launch_plan = launch_plan, .template = template, .lookup = lookup, .error = error};
    begin(&evaluation, scope);
    for (size_t i = 0; i < template->launch_count; i++)
        bind_extents(launch_plan, &template->launches[i], 0, 0);
    for (size_t i = 0; i < template->launch_count; i++) {
        evaluation.launch = &template->launches[i];
        add_launch(&evaluation);
    }
    return end(&evaluation);
}

int launch_plan_helper(struct launch_plan *launch_plan, const struct template *template,
                       const struct launch *helper, const struct scope *scope, struct error *error)
{
    struct evaluation evaluation = {
        .launch_plan = launch_plan, .template = template, .launch = helper, .error = error};
    int blocks_per_sm = 0;
    begin(&evaluation, scope);
    if (helper->counts)
        bindings_set(&evaluation.local, "wrong", value_word("wrong"));
    struct step *step = ARRAY_APPEND(launch_plan->steps, launch_plan->step_count);
    make_step(&evaluation, step, &blocks_per_sm);
    if (evaluation.status == 0 && (step_blocks(step) == 0 || step_threads(step) == 0)) {
        step_release(step);
        launch_plan->step_count = 0;
    }
    return end(&evaluation);
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
            const uint64_t pointer[] = {argument->pointers[j].buffer, argument->pointers[j].part};
            hash_add(hash, pointer, sizeof pointer);
        }
        if (argument->tensor_map != NULL)
            hash_tensor_map(hash, argument->tensor_map);
        hash_add(hash, argument->bytes, sizeof argument->bytes);
    }
}

/* Scratch is made for each variant; all other buffers are the problem's. */
static int hash_scratch(struct hash *hash, const struct buffer *buffer, const struct scope *scope,
                        struct error *error)
{
    enum element_type type;
    int64_t length = 0;
    struct fill_numbers fill = {0};
    struct fill_border border = {0};
    int status = template_element_type(buffer->type, scope, &type, error);
    if (status == 0)
        status = expression_integer(buffer->length, scope, &length, error);
    if (status == 0 && fill_has_numbers(&buffer->fill))
        status = fill_read_numbers(&buffer->fill, type, FILL_USUAL_DATA, scope, &fill, error);
    if (status == 0)
        status = fill_read_border(&buffer->fill, scope, (uint64_t)length, &border, error);
    if (status != 0)
        return status;
    const int64_t numbers[] = {(int64_t)type, length, fill.whole, (int64_t)fill.key};
    hash_add(hash, &border.width, sizeof border.width);
    hash_add(hash, border.extents, sizeof border.extents);
    const double values[] = {fill.a, fill.b};
    hash_add(hash, numbers, sizeof numbers);
    hash_add(hash, values, sizeof values);
    return 0;
}

static int hash_metrics(struct hash *hash, const struct launch_plan *launch_plan,
                        const struct template *template, const struct scope *scope,
                        struct error *error)
{
    double metrics[2];
    int status = launch_plan_metrics(launch_plan, template, scope, &metrics[0], &metrics[1], error);
    if (status == 0)
        hash_add(hash, metrics, sizeof metrics);
    return status;
}

/* Two variants that are judged differently are not one measurement, even if they run the same. */
static void hash_verdict(struct hash *hash, const struct template *template,
                         const struct scope *scope)
{
    for (size_t i = 0; i < template->parameter_count; i++) {
        const char *name = template->parameters[i].name;
        const struct value *value = scope_find(scope, name);
        char text[VALUE_TEXT_BYTES];
        if (value == NULL || !verdict_depends_on(template, name))
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
    int status = hash_metrics(hash, launch_plan, template, scope, error);
    hash_add(hash, counts, sizeof counts);
    hash_verdict(hash, template, scope);
    for (size_t i = 0; i < launch_plan->step_count; i++)
        hash_step(hash, &launch_plan->steps[i]);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH)
            status = hash_scratch(hash, &template->buffers[i], &names, error);
    return status;
}
