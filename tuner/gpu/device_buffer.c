#include "gpu/device_buffer.h"

#include "template/fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int device_arena_new(struct device_context *device, struct device_arena *arena, uint64_t size,
                     struct error *error)
{
    *arena = (struct device_arena){.size = size};
    int status = CUDA(device, cuMemAlloc, &arena->base, size);
    arena->used = size;
    return status != 0 ? status : device_arena_clear(device, arena, error);
}

int device_arena_clear(struct device_context *device, struct device_arena *arena,
                       struct error *error)
{
    uint64_t bytes = arena->used;
    arena->used = 0;
    if (bytes == 0)
        return 0;
    return CUDA(device, cuMemsetD8Async, arena->base, element_poison(ELEMENT_UINT64), bytes,
                device->stream);
}

struct device_buffer device_arena_rest(const struct device_arena *arena)
{
    uint64_t bytes = arena->size - arena->used;
    return (struct device_buffer){.base = bytes > 0 ? arena->base : 0,
                                  .data = arena->base + arena->used,
                                  .type = ELEMENT_UINT64,
                                  .length = bytes / sizeof(uint64_t),
                                  .bytes = bytes};
}

void device_arena_free(struct device_context *device, struct device_arena *arena)
{
    if (arena->base != 0)
        (void)device->driver.cuMemFree(arena->base);
    *arena = (struct device_arena){0};
}

static bool take_from_arena(struct device_arena *arena, uint64_t bytes,
                            struct device_buffer *buffer)
{
    uint64_t rounded = (bytes + 511) / 512 * 512;
    if (arena == NULL || arena->base == 0 || rounded > arena->size - arena->used)
        return false;
    buffer->base = arena->base + arena->used;
    buffer->borrowed = true;
    arena->used += rounded;
    return true;
}

/* How many bytes are allocated for it, guards included. */
static uint64_t total_of(const struct device_buffer *buffer)
{
    return (buffer->bytes + 15) / 16 * 16 + 2 * (uint64_t)GUARD_BYTES;
}

static int allocate(struct device_context *device, struct device_buffer *buffer,
                    struct device_arena *arena, struct error *error)
{
    uint64_t total = total_of(buffer);
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    if (take_from_arena(arena, total, buffer))
        return 0;
    CUresult result = device->driver.cuMemAlloc(&buffer->base, total);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return device_check(device, result, "cuMemAlloc", error);
    device->last = result;
    device->wanted_bytes = total;
    buffer->base = 0;
    (void)device->driver.cuMemGetInfo(&free_bytes, &all_bytes);
    return error_set(error, ERROR_DEVICE,
                     "CUDA_ERROR_OUT_OF_MEMORY: a buffer needs %" PRIu64
                     " bytes, %zu of %zu are free; make the problem smaller",
                     total, free_bytes, all_bytes);
}

int device_buffer_new(struct device_context *device, struct device_buffer *buffer,
                      struct device_arena *arena, enum element_type type, uint64_t length,
                      struct error *error)
{
    *buffer = (struct device_buffer){.type = type, .length = length};
    if (__builtin_mul_overflow(length, (uint64_t)element_bytes(type), &buffer->bytes) ||
        buffer->bytes > INT64_MAX)
        return error_set(error, ERROR_CONFIG,
                         "a buffer of %" PRIu64 " elements has more than 2^63 bytes", length);
    int status = allocate(device, buffer, arena, error);
    if (status != 0)
        return status;
    buffer->data = buffer->base + GUARD_BYTES;
    status = device_buffer_guard(device, buffer, GUARD_PATTERN, error);
    if (status != 0)
        device_buffer_free(device, buffer);
    return status;
}

int device_buffer_guard(struct device_context *device, const struct device_buffer *buffer,
                        unsigned char pattern, struct error *error)
{
    if (buffer->base == 0)
        return 0;
    int status = CUDA(device, cuMemsetD8Async, buffer->base, pattern, GUARD_BYTES, device->stream);
    return status != 0 ? status
                       : CUDA(device, cuMemsetD8Async, buffer->data + buffer->bytes, pattern,
                              GUARD_BYTES, device->stream);
}

void device_buffer_free(struct device_context *device, struct device_buffer *buffer)
{
    if (buffer->base != 0 && !buffer->borrowed)
        (void)device->driver.cuMemFree(buffer->base);
    *buffer = (struct device_buffer){0};
}

static int fill_from_file(struct device_context *device, const struct device_buffer *buffer,
                          const struct fill *fill, struct error *error)
{
    struct npy npy;
    int status = fill_read_file(fill, buffer->type, buffer->length, &npy, error);
    if (status != 0)
        return status;
    if (buffer->bytes > 0)
        status = device_upload(device, buffer->data, npy.data, buffer->bytes, error);
    npy_release(&npy);
    return status;
}

int device_buffer_fill(struct device_context *device, const struct device_buffer *buffer,
                       const struct fill *fill, uint64_t data_set, const struct scope *scope,
                       struct error *error)
{
    struct fill_numbers numbers;
    if (fill->kind == FILL_NONE)
        return device_buffer_poison(device, buffer, element_poison(buffer->type), error);
    if (fill->kind == FILL_FILE)
        return fill_from_file(device, buffer, fill, error);
    int status = fill_read_numbers(fill, buffer->type, data_set, scope, &numbers, error);
    if (status != 0 || buffer->length == 0)
        return status;
    CUdeviceptr data = buffer->data;
    unsigned long long count = buffer->length;
    long long whole = numbers.whole;
    unsigned long long key = numbers.key;
    int type = (int)buffer->type;
    int kind = (int)fill->kind;
    void *arguments[] = {&data, &count, &type, &kind, &numbers.a, &numbers.b, &whole, &key};
    return device_launch_support(device, SUPPORT_fill, count, arguments, error);
}

int device_buffer_clear_border(struct device_context *device, const struct device_buffer *buffer,
                               const struct fill *fill, const struct scope *scope,
                               struct error *error)
{
    struct fill_border border;
    int status = fill_read_border(fill, scope, buffer->length, &border, error);
    if (status != 0 || border.width == 0 || buffer->length == 0)
        return status;
    CUdeviceptr data = buffer->data;
    unsigned long long count = buffer->length;
    int bytes = (int)element_bytes(buffer->type);
    int dimensions = (int)border.dimensions;
    unsigned long long width = border.width;
    unsigned long long extents[] = {border.extents[0], border.extents[1], border.extents[2]};
    void *arguments[] = {&data,  &count,      &bytes,      &dimensions,
                         &width, &extents[0], &extents[1], &extents[2]};
    return device_launch_support(device, SUPPORT_border, count, arguments, error);
}

int device_buffer_poison(struct device_context *device, const struct device_buffer *buffer,
                         unsigned char poison, struct error *error)
{
    if (buffer->bytes == 0)
        return 0;
    return CUDA(device, cuMemsetD8Async, buffer->data, poison, buffer->bytes, device->stream);
}

int device_buffer_copy(struct device_context *device, const struct device_buffer *to,
                       const struct device_buffer *from, struct error *error)
{
    if (to->bytes == 0)
        return 0;
    return CUDA(device, cuMemcpyDtoDAsync, to->data, from->data, to->bytes, device->stream);
}

/* --- inspecting --- */

int device_buffer_sums(struct device_context *device, const struct device_buffer *buffer,
                       unsigned char poison, CUdeviceptr sums, struct error *error)
{
    CUdeviceptr data = buffer->data;
    int bytes = (int)element_bytes(buffer->type);
    int pattern = poison;
    unsigned long long count = buffer->length;
    void *arguments[] = {&data, &bytes, &count, &pattern, &sums};
    return device_launch_support(device, SUPPORT_checksum, count, arguments, error);
}

int device_buffer_fingerprint(struct device_context *device, const struct device_buffer *buffer,
                              CUdeviceptr sum, struct error *error)
{
    CUdeviceptr data = buffer->data;
    unsigned long long bytes = buffer->bytes;
    void *arguments[] = {&data, &bytes, &sum};
    return device_launch_support(device, SUPPORT_fingerprint, (bytes + 15) / 16, arguments, error);
}

int device_buffer_end_guards(struct device_context *device, struct guard_checks *checks,
                             struct error *error)
{
    int pattern = checks->pattern;
    int count = checks->count;
    void *arguments[] = {checks, &count, &pattern};
    checks->count = 0;
    return count == 0 ? 0
                      : device_launch_support(device, SUPPORT_check_guards, (uint64_t)count * 256,
                                              arguments, error);
}

int device_buffer_check_guards(struct device_context *device, const struct device_buffer *buffer,
                               CUdeviceptr damaged, struct guard_checks *checks,
                               struct error *error)
{
    const CUdeviceptr guards[] = {buffer->base, buffer->data + buffer->bytes};
    for (size_t i = 0; i < 2 && buffer->base != 0; i++) {
        checks->guard[checks->count] = guards[i];
        checks->damaged[checks->count++] = damaged;
    }
    return checks->count < GUARDS ? 0 : device_buffer_end_guards(device, checks, error);
}

/* Fetches an element into `bytes`; false if that fails. */
static bool fetch(struct device_context *device, const struct device_buffer *buffer, uint64_t index,
                  unsigned char bytes[8])
{
    size_t size = element_bytes(buffer->type);
    memset(bytes, 0, 8);
    return device->driver.cuMemcpyDtoH(bytes, buffer->data + index * size, size) == CUDA_SUCCESS;
}

void device_buffer_element_text(struct device_context *device, const struct device_buffer *buffer,
                                uint64_t index, enum element_type result,
                                char text[ELEMENT_TEXT_BYTES])
{
    unsigned char bytes[8];
    (void)snprintf(text, ELEMENT_TEXT_BYTES, "?");
    if (fetch(device, buffer, index, bytes))
        (void)element_text(buffer->type, bytes, element_digits(result), text);
}

bool device_buffer_element_is_poison(struct device_context *device,
                                     const struct device_buffer *buffer, unsigned char poison,
                                     uint64_t index)
{
    unsigned char bytes[8];
    size_t size = element_bytes(buffer->type);
    bool same = size >= ELEMENT_POISON_BYTES && fetch(device, buffer, index, bytes);
    for (size_t i = 0; i < size && same; i++)
        same = bytes[i] == poison;
    return same;
}

/* --- places --- */

/* Makes one more place, unless memory is short. */
static int add_place(struct buffer_places *places, struct device_context *device,
                     const struct device_buffer *buffer, uint64_t *left_bytes, struct error *error)
{
    uint64_t bytes = total_of(buffer);
    if (bytes > *left_bytes)
        return 0;
    CUresult result = device->driver.cuMemAlloc(&places->bases[places->count], bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *left_bytes = 0;
        return 0;
    }
    if (result != CUDA_SUCCESS)
        return device_check(device, result, "cuMemAlloc", error);
    places->count++;
    *left_bytes -= bytes;
    return 0;
}

int device_buffer_place(struct buffer_places *places, struct device_context *device,
                        struct device_buffer *buffer, size_t number, uint64_t *left_bytes,
                        struct error *error)
{
    int status = 0;
    if (buffer->base == 0 || buffer->bytes > PLACES_LARGEST)
        return 0;
    if (places->count == 0)
        places->bases[places->count++] = buffer->base;
    if (number % BUFFER_PLACES >= places->count)
        status = add_place(places, device, buffer, left_bytes, error);
    CUdeviceptr base = places->bases[number % BUFFER_PLACES % places->count];
    if (status != 0 || base == buffer->base)
        return status;
    status = CUDA(device, cuMemcpyDtoDAsync, base, buffer->base,
                  buffer->bytes + 2 * (uint64_t)GUARD_BYTES, device->stream);
    if (status == 0) {
        buffer->base = base;
        buffer->data = base + GUARD_BYTES;
    }
    return status;
}

bool device_buffer_shrink_places(struct buffer_places *places, struct device_context *device,
                                 const struct device_buffer *buffer, uint64_t *left_bytes)
{
    size_t kept = 1;
    for (size_t i = 1; i < places->count; i++) {
        if (places->bases[i] == buffer->base) {
            places->bases[kept++] = buffer->base;
            continue;
        }
        (void)device->driver.cuMemFree(places->bases[i]);
        *left_bytes += total_of(buffer);
    }
    if (kept >= places->count)
        return false;
    places->count = kept;
    return true;
}

void device_buffer_release_places(struct buffer_places *places, struct device_context *device,
                                  struct device_buffer *buffer, uint64_t *left_bytes)
{
    if (places->count == 0)
        return;
    buffer->base = places->bases[0];
    (void)device_buffer_shrink_places(places, device, buffer, left_bytes);
    places->count = 0;
}
