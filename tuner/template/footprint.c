#include "template/footprint.h"

#include "template/device_attributes.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Must match device_buffer_new(). */
static uint64_t buffer_bytes(enum element_type type, uint64_t length)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(length, element_bytes(type), &bytes))
        bytes = UINT64_MAX;
    return add(bytes, 15 + 2 * (uint64_t)GUARD_BYTES) / 16 * 16;
}

static void add_buffer(struct footprint *footprint, const struct buffer *buffer,
                       const struct scope *scope)
{
    enum element_type type;
    uint64_t length;
    if (buffer_describe(buffer, scope, &type, &length, NULL) != 0)
        return;
    uint64_t bytes = buffer_bytes(type, length);
    if (buffer->access == ACCESS_SCRATCH && bytes <= ARENA_BYTES)
        return;
    footprint->bytes = add(footprint->bytes, bytes);
    if (buffer->access == ACCESS_READ_WRITE)
        footprint->bytes = add(footprint->bytes, bytes);
    if (footprint->largest == NULL || bytes > footprint->largest_bytes) {
        footprint->largest = buffer->name;
        footprint->largest_bytes = bytes;
    }
}

struct footprint footprint_of(const struct template *template, const struct bindings *fixed,
                              const struct bindings *parameters, bool cold)
{
    static const struct bindings none = {0};
    struct footprint footprint = {.bytes = ARENA_BYTES};
    const struct scope outer = {fixed, NULL};
    const struct scope scope = {parameters != NULL ? parameters : &none, &outer};
    for (size_t i = 0; i < template->buffer_count; i++)
        add_buffer(&footprint, &template->buffers[i],
                   template->buffers[i].access == ACCESS_SCRATCH ? &outer : &scope);
    for (size_t i = 0; i < template->expectation_count; i++) {
        const struct expectation *expectation = &template->expectations[i];
        enum element_type type;
        uint64_t length;
        if (buffer_describe(&template->buffers[expectation->buffer], &scope, &type, &length,
                            NULL) == 0 &&
            template_expected_type(template, expectation, &scope, &type, NULL) == 0)
            footprint.bytes = add(footprint.bytes, buffer_bytes(type, length));
    }
    const struct value *l2 = bindings_find(fixed, gpu_attribute_name(GPU_l2_bytes));
    if (cold && l2 != NULL && l2->as.integer > 0)
        footprint.bytes = add(footprint.bytes, FLUSH_L2_TIMES * (uint64_t)l2->as.integer);
    return footprint;
}

/* Writes for example "12.3 GB": decimal units, as in data sheets. */
static void format_bytes(uint64_t bytes, char text[32])
{
    if (bytes >= 1000000000)
        (void)snprintf(text, 32, "%.4g GB", (double)bytes * 1e-9);
    else if (bytes >= 1000000)
        (void)snprintf(text, 32, "%.4g MB", (double)bytes * 1e-6);
    else
        (void)snprintf(text, 32, "%" PRIu64 " bytes", bytes);
}

int footprint_refuse(const struct footprint *footprint, const struct template *template,
                     const struct bindings *problem, uint64_t available_bytes,
                     const char *available, struct error *error)
{
    char needed[32];
    char largest[32];
    char free_text[32];
    char *values = bindings_text(problem);
    format_bytes(footprint->bytes, needed);
    format_bytes(footprint->largest_bytes, largest);
    format_bytes(available_bytes, free_text);
    int status = error_set_at(
        error, ERROR_MEMORY, template->path, 0,
        "problem '%s' needs %s of device memory (buffer '%s' alone %s), but %s %s%s; choose a "
        "smaller problem or free memory",
        values, needed, footprint->largest != NULL ? footprint->largest : "", largest, free_text,
        available,
        footprint->bytes <= available_bytes ? ", too little with the driver's overhead" : "");
    free(values);
    return status;
}
