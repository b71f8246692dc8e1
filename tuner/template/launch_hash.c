#include "template/launch_hash.h"

#include "template/dependencies.h"
#include "template/fill.h"

static void add_tensor_map(struct hash *hash, const struct tensor_map *map)
{
    const uint64_t numbers[] = {(uint64_t)map->type, map->rank, map->swizzle,
                                map->interleave,     map->l2,   map->fill_nan};
    hash_add(hash, numbers, sizeof numbers);
    hash_add(hash, map->dimensions, sizeof map->dimensions);
    hash_add(hash, map->strides, sizeof map->strides);
    hash_add(hash, map->box, sizeof map->box);
    hash_add(hash, map->steps, sizeof map->steps);
}

static void add_step(struct hash *hash, const struct step *step)
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
            add_tensor_map(hash, argument->tensor_map);
        hash_add(hash, argument->bytes, sizeof argument->bytes);
    }
}

/* Scratch is made for each variant; all other buffers are the problem's. */
static int add_scratch(struct hash *hash, const struct buffer *buffer, const struct scope *scope,
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

static int add_metrics(struct hash *hash, const struct launch_plan *launch_plan,
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
static void add_verdict(struct hash *hash, const struct template *template,
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
    int status = add_metrics(hash, launch_plan, template, scope, error);
    hash_add(hash, counts, sizeof counts);
    add_verdict(hash, template, scope);
    for (size_t i = 0; i < launch_plan->step_count; i++)
        add_step(hash, &launch_plan->steps[i]);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH)
            status = add_scratch(hash, &template->buffers[i], &names, error);
    return status;
}
