#include "gpu/data_store.h"

#include "base/alloc.h"
#include "template/dependencies.h"
#include "template/fill.h"

#include <stdlib.h>
#include <string.h>

/* --- a variant's data --- */

void device_data_init(struct device_data *data, const struct template *template)
{
    data->template = template;
    data->buffers = alloc_zeroed(template->buffer_count, sizeof *data->buffers);
    data->pristine = alloc_zeroed(template->buffer_count, sizeof *data->pristine);
    data->fingerprints = alloc_zeroed(template->buffer_count, sizeof *data->fingerprints);
    data->expected = alloc_zeroed(template->expectation_count, sizeof *data->expected);
}

void device_data_release(struct device_data *data)
{
    free(data->buffers);
    free(data->pristine);
    free(data->fingerprints);
    free(data->expected);
    *data = (struct device_data){0};
}

int device_data_restore(const struct device_data *data, struct device_context *device,
                        struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < data->template->buffer_count && status == 0; i++)
        if (data->pristine[i].base != 0)
            status = device_buffer_copy(device, &data->buffers[i], &data->pristine[i], error);
    return status;
}

/* --- the list of what has been made --- */

/* Members are the template's buffers, followed by its expectations. */
static size_t member_count(const struct data_store *store)
{
    return store->template->buffer_count + store->template->expectation_count;
}

static bool is_buffer(const struct data_store *store, size_t member)
{
    return member < store->template->buffer_count;
}

static bool is_scratch(const struct data_store *store, size_t member)
{
    return is_buffer(store, member) && store->template->buffers[member].access == ACCESS_SCRATCH;
}

static const struct expectation *expectation_of(const struct data_store *store, size_t member)
{
    return &store->template->expectations[member - store->template->buffer_count];
}

/* Whether both are one member, or expected results that one run of the template's references fills. */
static bool are_together(const struct data_store *store, size_t a, size_t b)
{
    return a == b || (!is_buffer(store, a) && !is_buffer(store, b) &&
                      expectation_of(store, a)->kind == EXPECT_LAUNCHES &&
                      expectation_of(store, b)->kind == EXPECT_LAUNCHES);
}

/* Whether a helper computes it. */
static bool has_reference(const struct data_store *store, size_t member)
{
    return !is_buffer(store, member) && (expectation_of(store, member)->kind == EXPECT_REFERENCE ||
                                         expectation_of(store, member)->kind == EXPECT_LAUNCHES);
}

/* The parameters that a member depends on (template/dependencies.h). */
static uint64_t depends_on(const struct data_store *store, size_t member)
{
    return is_buffer(store, member) ? store->template->buffers[member].depends
                                    : expectation_of(store, member)->depends;
}

static bool is_dependent(const struct data_store *store, size_t member)
{
    return depends_on(store, member) != 0;
}

bool data_store_is_dependent(const struct data_store *store)
{
    return contents_depend_on(store->template) != 0;
}

/* The values of just the parameters that a member depends on; release it. */
static struct bindings key_of(const struct data_store *store, size_t member,
                              const struct bindings *parameters)
{
    struct bindings key = {0};
    for (size_t i = 0; i < store->template->parameter_count; i++) {
        if ((depends_on(store, member) >> i & 1) == 0)
            continue;
        const struct parameter *parameter = &store->template->parameters[i];
        const struct value *value =
            parameters != NULL ? bindings_find(parameters, parameter->name) : NULL;
        bindings_set(&key, parameter->name, value != NULL ? *value : parameter->fallback);
    }
    return key;
}

/* NULL if it has not been made. */
static struct data_item *find(const struct data_store *store, size_t member,
                              const struct bindings *parameters)
{
    struct bindings key = key_of(store, member, parameters);
    struct data_item *found = NULL;
    for (size_t i = 0; i < store->count && found == NULL; i++)
        if (store->list[i]->member == member && bindings_equal(&store->list[i]->key, &key))
            found = store->list[i];
    bindings_release(&key);
    return found;
}

/* What no variant may change: a read buffer, the initial contents of a read_write one, or an expected
 * result; NULL for a write buffer. */
static const struct device_buffer *constant_of(const struct data_store *store,
                                               const struct data_item *item)
{
    enum buffer_access access = is_buffer(store, item->member)
                                    ? store->template->buffers[item->member].access
                                    : ACCESS_READ;
    return access == ACCESS_READ         ? &item->buffer
           : access == ACCESS_READ_WRITE ? &item->pristine
                                         : NULL;
}

static void remove_at(struct data_store *store, size_t index)
{
    struct data_item *item = store->list[index];
    if (is_dependent(store, item->member))
        store->kept_bytes -= item->buffer.bytes + item->pristine.bytes;
    device_buffer_release_places(&item->places, store->device, &item->buffer, &store->place_bytes);
    device_buffer_free(store->device, &item->buffer);
    device_buffer_free(store->device, &item->pristine);
    bindings_release(&item->key);
    free(item);
    store->list[index] = store->list[--store->count];
}

/* Frees the least recently used item that the variant being served does not use; false if there is none. */
static bool remove_oldest(struct data_store *store)
{
    size_t oldest = store->count;
    for (size_t i = 0; i < store->count; i++) {
        const struct data_item *item = store->list[i];
        if (item->used < store->time && is_dependent(store, item->member) &&
            (oldest == store->count || item->used < store->list[oldest]->used))
            oldest = i;
    }
    if (oldest == store->count)
        return false;
    remove_at(store, oldest);
    return true;
}

/* Frees all places that no buffer needs; false if there are none. */
static bool remove_places(struct data_store *store)
{
    bool any = false;
    for (size_t i = 0; i < store->count; i++) {
        struct data_item *item = store->list[i];
        any |= device_buffer_shrink_places(&item->places, store->device, &item->buffer,
                                           &store->place_bytes);
    }
    return any;
}

bool data_store_shrink(struct data_store *store)
{
    bool any = remove_places(store);
    while (remove_oldest(store))
        any = true;
    return any;
}

/* --- making --- */

/* What is being made, for whom. */
struct making {
    struct data_store *store;
    struct device_data *data;
    struct scope outer, scope;
    struct error *error;
};

/* Makes room by freeing what the variant being served does not use. */
static int allocate_memory(const struct making *making, enum element_type type, uint64_t length,
                           struct device_buffer *buffer)
{
    struct data_store *store = making->store;
    int status;
    do
        status = device_buffer_new(store->device, buffer, NULL, type, length, making->error);
    while (status == ERROR_DEVICE && store->device->last == CUDA_ERROR_OUT_OF_MEMORY &&
           (remove_places(store) || remove_oldest(store)));
    if (status != 0)
        *buffer = (struct device_buffer){0};
    return status;
}

static int allocate(const struct making *making, const struct data_item *item,
                    enum element_type type, uint64_t length, struct device_buffer *buffer)
{
    struct data_store *store = making->store;
    uint64_t bytes = 0;
    bool dependent = is_dependent(store, item->member);
    if (dependent && !__builtin_mul_overflow(length, (uint64_t)element_bytes(type), &bytes))
        while (store->kept_bytes > 0 &&
               (bytes > store->limit_bytes || store->kept_bytes > store->limit_bytes - bytes))
            if (!remove_oldest(store))
                break;
    int status = allocate_memory(making, type, length, buffer);
    if (status == 0 && dependent)
        store->kept_bytes += buffer->bytes;
    return status;
}

/* Fetches `count` numbers that were queued for store->sums, and waits for them. */
static int fetch_sums(const struct making *making, uint64_t *sums, size_t count)
{
    struct device_context *device = making->store->device;
    struct error *error = making->error;
    int status = CUDA(device, cuMemcpyDtoHAsync, sums, making->store->sums, count * sizeof *sums,
                      device->stream);
    return status != 0 ? status : device_synchronise(device, error);
}

static int clear_sums(const struct making *making)
{
    struct device_context *device = making->store->device;
    struct error *error = making->error;
    return CUDA(device, cuMemsetD8Async, making->store->sums, 0, (SUMS + 1) * sizeof(uint64_t),
                device->stream);
}

/* The sums of the item's buffer, and the fingerprint of what no variant may change. */
static int sum_item(const struct making *making, struct data_item *item)
{
    const struct data_store *store = making->store;
    const struct device_buffer *constant = constant_of(store, item);
    uint64_t sums[SUMS + 1];
    int status = clear_sums(making);
    if (status == 0)
        status = device_buffer_sums(store->device, &item->buffer, element_poison(item->buffer.type),
                                    store->sums, making->error);
    if (status == 0 && constant != NULL)
        status = device_buffer_fingerprint(store->device, constant,
                                           store->sums + SUMS * sizeof *sums, making->error);
    if (status == 0)
        status = fetch_sums(making, sums, SUMS + 1);
    if (status != 0)
        return status;
    memcpy(item->sums, sums, sizeof item->sums);
    item->fingerprint = sums[SUMS];
    return 0;
}

enum { SEEN_CONTENTS, SEEN_DAMAGE, SEEN };

/* What a buffer holds, and how many bytes of its guards are damaged. */
static int look(const struct making *making, const struct device_buffer *buffer,
                uint64_t seen[SEEN])
{
    const struct data_store *store = making->store;
    struct guard_checks checks = {.pattern = GUARD_PATTERN};
    int status = clear_sums(making);
    if (status == 0)
        status = device_buffer_fingerprint(store->device, buffer, store->sums, making->error);
    if (status == 0)
        status = device_buffer_check_guards(store->device, buffer,
                                            store->sums + SEEN_DAMAGE * sizeof *seen, &checks,
                                            making->error);
    if (status == 0)
        status = device_buffer_end_guards(store->device, &checks, making->error);
    return status != 0 ? status : fetch_sums(making, seen, SEEN);
}

/* A helper while it runs: what it may write to, which are parts of no variant's data, or what it fills; and what the
 * other buffers held before. */
struct running {
    const struct making *making;
    const char *what;
    struct device_buffer *own;
    size_t own_count;
    uint64_t (*before)[SEEN];
};

static bool is_own(const struct running *running, const struct device_buffer *buffer)
{
    for (size_t i = 0; i < running->own_count; i++)
        if (running->own[i].base == buffer->base)
            return true;
    return false;
}

/* Variants must not be blamed for what a helper does to their data: it may write to its own and, since
 * they are poisoned again, to outputs, but not beyond them. */
static int check_helper(void *user, const struct launch *launch, struct error *error)
{
    const struct running *running = user;
    const struct making *making = running->making;
    const struct template *template = making->store->template;
    uint64_t seen[SEEN];
    int status = 0;
    for (size_t i = 0; i < running->own_count && status == 0; i++) {
        status = look(making, &running->own[i], seen);
        if (status == 0 && seen[SEEN_DAMAGE] != 0)
            status = error_set_at(error, ERROR_CONFIG, template->path, launch->line,
                                  "%s '%s' writes outside its result%s", running->what,
                                  launch->entry, running->own_count > 1 ? "s or scratch" : "");
    }
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        const struct device_buffer *buffer = &making->data->buffers[i];
        if (buffer->base == 0 || is_own(running, buffer))
            continue;
        status = look(making, buffer, seen);
        bool outside = status == 0 && seen[SEEN_DAMAGE] != running->before[i][SEEN_DAMAGE];
        bool changed = status == 0 && template->buffers[i].access != ACCESS_WRITE &&
                       seen[SEEN_CONTENTS] != running->before[i][SEEN_CONTENTS];
        if (outside || changed)
            status =
                error_set_at(error, ERROR_CONFIG, template->path, launch->line,
                             "%s '%s' %s buffer '%s'", running->what, launch->entry,
                             outside ? "writes outside" : "changes", template->buffers[i].name);
    }
    making->store->spoilt = making->store->spoilt || status == ERROR_CONFIG;
    return status;
}

/* Variants may have run on the data before. A helper finds it as every variant does, and leaves it
 * so. */
static int run_helper(const struct making *making, struct helper_run run, struct device_buffer *own,
                      size_t own_count)
{
    const struct data_store *store = making->store;
    struct error *error = making->error;
    struct running running = {
        .making = making,
        .what = run.what,
        .own = own,
        .own_count = own_count,
        .before = alloc_zeroed(store->template->buffer_count, sizeof *running.before)};
    run.after = check_helper;
    run.user = &running;
    int status = device_data_restore(making->data, store->device, error);
    for (size_t i = 0; i < own_count && status == 0; i++) /* a variant may have damaged them */
        status = device_buffer_guard(store->device, &own[i], GUARD_PATTERN, error);
    for (size_t i = 0; i < store->template->buffer_count && status == 0; i++) {
        const struct device_buffer *buffer = &making->data->buffers[i];
        if (store->template->buffers[i].access == ACCESS_WRITE && buffer->base != 0)
            status =
                device_buffer_poison(store->device, buffer, element_poison(buffer->type), error);
    }
    for (size_t i = 0; i < store->template->buffer_count && status == 0; i++)
        if (making->data->buffers[i].base != 0)
            status = look(making, &making->data->buffers[i], running.before[i]);
    if (status == 0)
        status = helper_code_run(store->helpers, &run, &making->scope, error);
    free(running.before);
    return status != 0 ? status : device_data_restore(making->data, store->device, error);
}

static int fill_by_kernel(const struct making *making, struct data_item *item)
{
    const struct data_store *store = making->store;
    const struct launch *kernel = store->template->buffers[item->member].fill.kernel;
    struct helper_run run = {.helper = {kernel, 1},
                             .what = "fill",
                             .elements = item->buffer.length,
                             .buffers.problem = making->data->buffers};
    making->data->buffers[item->member] = item->buffer;
    int status = device_buffer_poison(store->device, &item->buffer,
                                      element_poison(item->buffer.type), making->error);
    if (status == 0)
        status = run_helper(making, run, &item->buffer, 1);
    if (status == 0)
        status = sum_item(making, item);
    if (status == 0 && item->buffer.length > 0 && item->sums[SUM_POISONED] == item->buffer.length)
        status = error_set_at(making->error, ERROR_CONFIG, store->template->path, kernel->line,
                              "fill '%s' wrote nothing; is the buffer among its arguments?",
                              kernel->entry);
    return status;
}

/* The contents of a buffer that has its memory. */
static int fill_buffer(const struct making *making, struct data_item *item)
{
    const struct data_store *store = making->store;
    const struct buffer *buffer = &store->template->buffers[item->member];
    int status = buffer->fill.kind == FILL_KERNEL
                     ? fill_by_kernel(making, item)
                     : device_buffer_fill(store->device, &item->buffer, &buffer->fill,
                                          store->data_set, &making->scope, making->error);
    if (status == 0)
        status = device_buffer_clear_border(store->device, &item->buffer, &buffer->fill,
                                            &making->scope, making->error);
    if (status == 0 && buffer->access == ACCESS_READ_WRITE)
        status = device_buffer_copy(store->device, &item->pristine, &item->buffer, making->error);
    if (status == 0 && buffer->access != ACCESS_WRITE)
        status = sum_item(making, item);
    return template_in_buffer(store->template, item->member, status, making->error);
}

static int allocate_buffer(const struct making *making, struct data_item *item)
{
    const struct data_store *store = making->store;
    const struct buffer *buffer = &store->template->buffers[item->member];
    enum element_type type;
    uint64_t length;
    int status = buffer_describe(buffer, &making->scope, &type, &length, making->error);
    if (status == 0)
        status = allocate(making, item, type, length, &item->buffer);
    if (status == 0 && buffer->access == ACCESS_READ_WRITE)
        status = allocate(making, item, type, length, &item->pristine);
    return template_in_buffer(store->template, item->member, status, making->error);
}

/* Fails if a reference wrote nothing: a variant that writes nothing would pass. */
static int check_reference(const struct making *making, const struct expectation *expectation,
                           const struct data_item *item)
{
    if (expectation->compare == COMPARE_UNORDERED || item->buffer.length == 0 ||
        item->sums[SUM_POISONED] < item->buffer.length)
        return 0;
    const struct template *template = making->store->template;
    if (expectation->kind == EXPECT_LAUNCHES)
        return error_set_at(making->error, ERROR_CONFIG, template->path, expectation->line,
                            "no reference wrote to expected(%s)",
                            template->buffers[expectation->buffer].name);
    return error_set_at(making->error, ERROR_CONFIG, template->path, expectation->line,
                        "reference '%s' wrote nothing; does it write to its argument `reference`?",
                        expectation->reference.entry);
}

static int expected_type(const struct making *making, const struct expectation *expectation,
                         enum element_type *type)
{
    const struct template *template = making->store->template;
    const struct device_buffer *buffer = &making->data->buffers[expectation->buffer];
    *type = buffer->type;
    int status = template_expected_type(template, expectation, &making->scope, type, making->error);
    if (status == 0 && expectation->compare == COMPARE_UNORDERED && *type != buffer->type)
        status = error_set_at(making->error, ERROR_CONFIG, template->path, expectation->line,
                              "an unordered comparison needs a reference of the buffer's own type");
    return status;
}

/* The scratch buffers that a reference uses, one per template->buffers[i], as a variant would find them. */
static int make_scratch(const struct making *making, const struct helper *helper,
                        struct device_buffer *scratch)
{
    const struct data_store *store = making->store;
    int status = 0;
    for (size_t i = 0; i < store->template->buffer_count && status == 0; i++) {
        const struct buffer *buffer = &store->template->buffers[i];
        enum element_type type;
        uint64_t length;
        if (buffer->access != ACCESS_SCRATCH || !helper_uses_buffer(helper, buffer->name))
            continue;
        status = buffer_describe(buffer, &making->scope, &type, &length, making->error);
        if (status == 0)
            status = allocate_memory(making, type, length, &scratch[i]);
        if (status == 0)
            status = device_buffer_fill(store->device, &scratch[i], &buffer->fill, FILL_USUAL_DATA,
                                        &making->scope, making->error);
        if (status == 0)
            status = device_buffer_clear_border(store->device, &scratch[i], &buffer->fill,
                                                &making->scope, making->error);
        status = template_in_buffer(store->template, i, status, making->error);
    }
    return status;
}

/* Runs the reference of an expectation, for all that it fills: they have their memory in the variant's data. */
static int run_reference(const struct making *making, size_t member)
{
    const struct data_store *store = making->store;
    const struct template *template = store->template;
    struct helper_run run = {.helper = expectation_helper(template, expectation_of(store, member)),
                             .what = "reference",
                             .buffers.problem = making->data->buffers,
                             .buffers.expected = making->data->expected};
    struct device_buffer *scratch = alloc_zeroed(template->buffer_count, sizeof *scratch);
    struct device_buffer *own = NULL;
    size_t count = 0;
    int status = make_scratch(making, &run.helper, scratch);
    for (size_t i = 0; i < template->expectation_count && status == 0; i++) {
        const struct device_buffer *buffer = &making->data->expected[i].buffer;
        if (!are_together(store, template->buffer_count + i, member))
            continue;
        status = device_buffer_poison(store->device, buffer, element_poison(buffer->type),
                                      making->error);
        run.elements += buffer->length;
        *ARRAY_APPEND(own, count) = *buffer;
    }
    for (size_t i = 0; i < template->buffer_count; i++)
        if (scratch[i].base != 0)
            *ARRAY_APPEND(own, count) = scratch[i];
    run.buffers.scratch = scratch;
    if (status == 0)
        status = run_helper(making, run, own, count);
    for (size_t i = 0; i < template->buffer_count; i++)
        device_buffer_free(store->device, &scratch[i]);
    free(scratch);
    free(own);
    return status;
}

static int allocate_expectation(const struct making *making, struct data_item *item)
{
    const struct expectation *expectation = expectation_of(making->store, item->member);
    enum element_type type;
    int status = expected_type(making, expectation, &type);
    return status != 0 ? status
                       : allocate(making, item, type,
                                  making->data->buffers[expectation->buffer].length, &item->buffer);
}

/* --- serving a variant --- */

static void give(const struct data_store *store, const struct data_item *item,
                 struct device_data *data)
{
    if (is_buffer(store, item->member)) {
        data->buffers[item->member] = item->buffer;
        data->pristine[item->member] = item->pristine;
        data->fingerprints[item->member] = item->fingerprint;
    } else {
        struct expected *expected = &data->expected[item->member - store->template->buffer_count];
        expected->buffer = item->buffer;
        expected->fingerprint = item->fingerprint;
        memcpy(expected->sums, item->sums, sizeof item->sums);
    }
}

static int move(const struct making *making, struct data_item *item, size_t place)
{
    struct data_store *store = making->store;
    bool moves =
        is_buffer(store, item->member) && store->template->buffers[item->member].symbol == NULL;
    return !moves ? 0
                  : device_buffer_place(&item->places, store->device, &item->buffer, place,
                                        &store->place_bytes, making->error);
}

/* Adds an item with its memory. */
static int add(const struct making *making, size_t member, const struct bindings *parameters)
{
    struct data_store *store = making->store;
    struct data_item *item = alloc_zeroed(1, sizeof *item);
    *item = (struct data_item){.member = member,
                               .key = key_of(store, member, parameters),
                               .stale = true,
                               .used = store->time};
    *ARRAY_APPEND(store->list, store->count) = item;
    int status = is_buffer(store, member) ? allocate_buffer(making, item)
                                          : allocate_expectation(making, item);
    for (size_t i = 0; status != 0 && i < store->count; i++)
        if (store->list[i] == item) {
            remove_at(store, i);
            break;
        }
    return status;
}

/* The contents of an item that has its memory, and whose reference has run. */
static int fill(const struct making *making, struct data_item *item)
{
    struct data_store *store = making->store;
    int status = 0;
    if (is_buffer(store, item->member)) {
        status = fill_buffer(making, item);
    } else {
        const struct expectation *expectation = expectation_of(store, item->member);
        const bool computed = has_reference(store, item->member);
        if (!computed)
            status = device_buffer_fill(store->device, &item->buffer, &expectation->fill,
                                        store->data_set, &making->scope, making->error);
        if (status == 0)
            status = sum_item(making, item);
        if (status == 0 && computed)
            status = check_reference(making, expectation, item);
    }
    item->stale = status != 0;
    item->intact = 0;
    return status;
}

/* Finds a member or makes its memory. Sets `*stale` if it needs contents. */
static int take_memory(const struct making *making, size_t member,
                       const struct bindings *parameters, size_t place, bool *stale)
{
    struct data_store *store = making->store;
    struct data_item *item = find(store, member, parameters);
    int status = item != NULL ? move(making, item, place) : add(making, member, parameters);
    if (status != 0)
        return status;
    item = find(store, member, parameters);
    *stale = *stale || item->stale;
    if (!is_buffer(store, member)) /* the reference finds its results there */
        give(store, item, making->data);
    return 0;
}

/* Gives the variant a buffer or an expected result, and all that is made together with it. */
static int take(const struct making *making, size_t member, const struct bindings *parameters,
                size_t place)
{
    struct data_store *store = making->store;
    const size_t count = member_count(store);
    bool stale = false;
    int status = 0;
    for (size_t i = 0; i < member; i++)
        if (are_together(store, i, member))
            return 0;
    for (size_t i = member; i < count && status == 0; i++)
        if (are_together(store, i, member))
            status = take_memory(making, i, parameters, place, &stale);
    if (status == 0 && stale && has_reference(store, member))
        status = run_reference(making, member);
    for (size_t i = member; i < count && status == 0; i++) {
        if (!are_together(store, i, member))
            continue;
        struct data_item *item = find(store, i, parameters);
        status = stale ? fill(making, item) : 0;
        if (status == 0)
            give(store, item, making->data);
    }
    store->refills += stale;
    return status;
}

int data_store_take(struct data_store *store, const struct bindings *parameters, size_t place,
                    struct device_data *data, struct error *error)
{
    static const struct bindings none = {0};
    const struct template *template = store->template;
    struct making making = {.store = store, .data = data, .error = error};
    int status = 0;
    making.outer = (struct scope){store->fixed, NULL};
    making.scope = (struct scope){parameters != NULL ? parameters : &none, &making.outer};
    for (size_t i = 0; i < template->buffer_count; i++)
        data->buffers[i] = data->pristine[i] = (struct device_buffer){0};
    for (size_t i = 0; i < template->expectation_count; i++)
        data->expected[i].buffer = (struct device_buffer){0};
    store->time++;
    for (size_t i = 0; i < member_count(store); i++) { /* in use from now on */
        struct data_item *item = find(store, i, parameters);
        if (item != NULL)
            item->used = store->time;
    }
    for (size_t i = 0; i < member_count(store) && status == 0; i++)
        if (!is_scratch(store, i) && (parameters != NULL || !is_dependent(store, i)))
            status = take(&making, i, parameters, place);
    return status;
}

void data_store_draw(struct data_store *store, uint64_t data_set)
{
    if (data_set == store->data_set)
        return;
    store->data_set = data_set;
    for (size_t i = 0; i < store->count; i++)
        store->list[i]->stale = true;
}

void data_store_trust(struct data_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        if (store->list[i]->used == store->time)
            store->list[i]->intact = store->runs;
}

void data_store_note_run(struct data_store *store)
{
    store->runs++;
}

int data_store_check_buffer(struct data_store *store, const struct device_buffer *buffer,
                            bool constant, uint64_t *fingerprint, bool *damaged,
                            struct error *error)
{
    const struct making making = {.store = store, .error = error};
    uint64_t seen[SEEN];
    if (buffer->base == 0)
        return 0;
    int status = look(&making, buffer, seen);
    if (status != 0)
        return status;
    *damaged =
        *damaged || seen[SEEN_DAMAGE] != 0 || (constant && seen[SEEN_CONTENTS] != *fingerprint);
    *fingerprint = seen[SEEN_CONTENTS];
    return seen[SEEN_DAMAGE] == 0
               ? 0
               : device_buffer_guard(store->device, buffer, GUARD_PATTERN, error);
}

/* Mends the guards of an item, and marks it if there is damage. */
static int check_item(struct data_store *store, struct data_item *item, bool *damaged,
                      struct error *error)
{
    const struct device_buffer *constant = constant_of(store, item);
    uint64_t fingerprints[] = {item->fingerprint, item->fingerprint};
    bool bad = false;
    if (item->stale || item->intact == store->runs)
        return 0;
    int status = data_store_check_buffer(store, &item->buffer, constant == &item->buffer,
                                         &fingerprints[0], &bad, error);
    if (status == 0)
        status = data_store_check_buffer(store, &item->pristine, constant == &item->pristine,
                                         &fingerprints[1], &bad, error);
    item->stale = item->stale || bad;
    *damaged = *damaged || bad;
    return status;
}

int data_store_check(struct data_store *store, const struct bindings *parameters,
                     struct error *error)
{
    bool damaged = false;
    int status = 0;
    for (size_t i = 0; i < member_count(store) && status == 0; i++) {
        struct data_item *item = find(store, i, parameters);
        if (item != NULL)
            status = check_item(store, item, &damaged, error);
    }
    return status;
}

int data_store_check_others(struct data_store *store, bool *damaged, struct error *error)
{
    int status = 0;
    *damaged = false;
    for (size_t i = 0; i < store->count && status == 0; i++)
        if (store->list[i]->used < store->time) {
            status = check_item(store, store->list[i], damaged, error);
            store->list[i]->intact = store->runs;
        }
    return status;
}

bool data_store_has(const struct data_store *store, const struct bindings *parameters)
{
    bool has = true;
    for (size_t i = 0; i < member_count(store) && has; i++) {
        const struct data_item *item = find(store, i, parameters);
        has = is_scratch(store, i) || (item != NULL && !item->stale);
    }
    return has;
}

int data_store_init(struct data_store *store, struct device_context *device,
                    const struct template *template, const struct bindings *fixed,
                    const struct helper_code *helpers, struct error *error)
{
    *store = (struct data_store){.device = device,
                                 .template = template,
                                 .fixed = fixed,
                                 .helpers = helpers,
                                 .limit_bytes = UINT64_MAX,
                                 .runs = 1};
    return CUDA(device, cuMemAlloc, &store->sums, (SUMS + 1) * sizeof(uint64_t));
}

void data_store_release(struct data_store *store)
{
    while (store->count > 0)
        remove_at(store, store->count - 1);
    free(store->list);
    if (store->sums != 0)
        (void)store->device->driver.cuMemFree(store->sums);
    *store = (struct data_store){0};
}
