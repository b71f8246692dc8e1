#include "gpu/data_items.h"

#include "base/alloc.h"
#include "template/dependencies.h"

#include <stdlib.h>

size_t data_items_members(const struct data_items *items)
{
    return items->template->buffer_count + items->template->expectation_count;
}

void data_items_init(struct data_items *items, struct device_context *device,
                     const struct template *template)
{
    size_t buffers = template->buffer_count;
    *items = (struct data_items){.device = device, .template = template};
    items->depends =
        alloc_zeroed(data_items_members(items) * template->parameter_count, sizeof(bool));
    for (size_t i = 0; i < data_items_members(items); i++)
        for (size_t j = 0; j < template->parameter_count; j++) {
            const char *name = template->parameters[j].name;
            items->depends[i * template->parameter_count + j] =
                i < buffers ? buffer_depends_on(template, i, name)
                            : expectation_depends_on(template, i - buffers, name);
        }
}

bool data_items_is_scratch(const struct data_items *items, size_t member)
{
    return member < items->template->buffer_count &&
           items->template->buffers[member].access == ACCESS_SCRATCH;
}

static const bool *depends_of(const struct data_items *items, size_t member)
{
    return items->depends + member * items->template->parameter_count;
}

bool data_items_is_dependent(const struct data_items *items, size_t member)
{
    const bool *depends = depends_of(items, member);
    bool any = false;
    for (size_t i = 0; i < items->template->parameter_count; i++)
        any = any || depends[i];
    return any;
}

struct bindings data_items_key(const struct data_items *items, size_t member,
                               const struct bindings *parameters)
{
    struct bindings key = {0};
    const bool *depends = depends_of(items, member);
    for (size_t i = 0; i < items->template->parameter_count; i++) {
        const struct parameter *parameter = &items->template->parameters[i];
        const struct value *value =
            depends[i] && parameters != NULL ? bindings_find(parameters, parameter->name) : NULL;
        if (depends[i])
            bindings_set(&key, parameter->name, value != NULL ? *value : parameter->fallback);
    }
    return key;
}

struct data_item *data_items_find(const struct data_items *items, size_t member,
                                  const struct bindings *key)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i]->member == member && bindings_equal(&items->list[i]->key, key))
            return items->list[i];
    return NULL;
}

const struct device_buffer *data_item_constant(const struct data_items *items,
                                               const struct data_item *item)
{
    if (item->member >= items->template->buffer_count)
        return &item->buffer;
    switch (items->template->buffers[item->member].access) {
    case ACCESS_READ:
        return &item->buffer;
    case ACCESS_READ_WRITE:
        return &item->pristine;
    default:
        return NULL;
    }
}

struct data_item *data_items_add(struct data_items *items, size_t member, struct bindings *key)
{
    struct data_item *item = alloc_zeroed(1, sizeof *item);
    *item = (struct data_item){.member = member, .key = *key, .used = items->time};
    *key = (struct bindings){0};
    *ARRAY_APPEND(items->list, items->count) = item;
    return item;
}

static void remove_at(struct data_items *items, size_t index)
{
    struct data_item *item = items->list[index];
    if (data_items_is_dependent(items, item->member))
        items->kept_bytes -= item->buffer.bytes + item->pristine.bytes;
    data_places_release(&item->places, items->device, &item->buffer, &items->place_bytes);
    device_buffer_free(items->device, &item->buffer);
    device_buffer_free(items->device, &item->pristine);
    bindings_release(&item->key);
    free(item);
    items->list[index] = items->list[--items->count];
}

void data_items_remove(struct data_items *items, const struct data_item *item)
{
    size_t index = 0;
    while (items->list[index] != item)
        index++;
    remove_at(items, index);
}

void data_items_serve(struct data_items *items, const struct bindings *parameters)
{
    items->time++;
    for (size_t i = 0; i < data_items_members(items); i++) {
        struct bindings key = data_items_key(items, i, parameters);
        struct data_item *item = data_items_find(items, i, &key);
        if (item != NULL)
            item->used = items->time;
        bindings_release(&key);
    }
}

bool data_items_remove_oldest(struct data_items *items)
{
    size_t oldest = items->count;
    for (size_t i = 0; i < items->count; i++) {
        const struct data_item *item = items->list[i];
        if (item->used < items->time && data_items_is_dependent(items, item->member) &&
            (oldest == items->count || item->used < items->list[oldest]->used))
            oldest = i;
    }
    if (oldest == items->count)
        return false;
    remove_at(items, oldest);
    return true;
}

bool data_items_remove_places(struct data_items *items)
{
    bool any = false;
    for (size_t i = 0; i < items->count; i++) {
        struct data_item *item = items->list[i];
        any |= data_places_shrink(&item->places, items->device, &item->buffer, &items->place_bytes);
    }
    return any;
}

void data_items_release(struct data_items *items)
{
    while (items->count > 0)
        remove_at(items, items->count - 1);
    free(items->list);
    free(items->depends);
    *items = (struct data_items){0};
}
