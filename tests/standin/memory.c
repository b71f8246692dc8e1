/*
 * Device memory: pages of the host, each allocation between pages that nothing may touch, so that a
 * kernel that leaves it faults.
 */
#include "kernels.h"
#include "standin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As much as this is filled lazily: touching the pages of a buffer that flushes the L2 takes longer than all else. */
#define LAZY_BYTES ((size_t)8 << 20)

struct allocation {
    int device;
    char *map; /* a page before, the memory, a page after */
    size_t map_bytes;
    CUdeviceptr address;
    size_t bytes;
    uint64_t number;
    struct allocation *next;
};

static struct allocation *allocations;
static size_t used[DEVICES_MAX];
static uint64_t last_number;

void *new_zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        abort();
    return memory;
}

size_t memory_free_bytes(int device)
{
    size_t others;
    (void)control_other_contexts(device, &others, NULL, 0);
    size_t taken = used[device] + others + (size_t)control()->memory_taken;
    size_t limit = (size_t)control()->memory_bytes;
    return taken < limit ? limit - taken : 0;
}

CUresult memory_allocate(int device, CUdeviceptr *address, size_t bytes)
{
    if (address == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > memory_free_bytes(device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t usable = (bytes + page - 1) / page * page;
    char *map = mmap(NULL, usable + 2 * page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, usable, PROT_READ | PROT_WRITE) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
#ifdef MADV_POPULATE_WRITE
    if (usable < LAZY_BYTES) /* all will be written: sooner done for all its pages at once */
        (void)madvise(map + page, usable, MADV_POPULATE_WRITE);
#endif
    struct allocation *allocation = new_zeroed(sizeof *allocation);
    *allocation = (struct allocation){.device = device,
                                      .map = map,
                                      .map_bytes = usable + 2 * page,
                                      .address = (CUdeviceptr)(uintptr_t)(map + page),
                                      .bytes = bytes,
                                      .number = ++last_number,
                                      .next = allocations};
    allocations = allocation;
    used[device] += bytes;
    control_note_context(device, used[device]);
    *address = allocation->address;
    return CUDA_SUCCESS;
}

static void release(struct allocation **link)
{
    struct allocation *allocation = *link;
    *link = allocation->next;
    used[allocation->device] -= allocation->bytes;
    control_note_context(allocation->device, used[allocation->device]);
    munmap(allocation->map, allocation->map_bytes);
    free(allocation);
}

CUresult memory_free(CUdeviceptr address)
{
    if (address == 0)
        return CUDA_SUCCESS;
    for (struct allocation **link = &allocations; *link != NULL; link = &(*link)->next) {
        if ((*link)->address == address) {
            release(link);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

bool memory_holds(CUdeviceptr address, size_t bytes)
{
    for (const struct allocation *a = allocations; a != NULL; a = a->next)
        if (address >= a->address && address - a->address <= a->bytes)
            return bytes <= a->bytes - (size_t)(address - a->address);
    return false;
}

CUdeviceptr memory_next(CUdeviceptr address)
{
    uint64_t number = memory_number(address);
    for (const struct allocation *a = allocations; a != NULL; a = a->next)
        if (number > 0 && a->number == number + 1)
            return a->address;
    return 0;
}

uint64_t memory_number(CUdeviceptr address)
{
    for (const struct allocation *a = allocations; a != NULL; a = a->next)
        if (address >= a->address && address - a->address < a->bytes)
            return a->number;
    return 0;
}

/* Maps one small file, filled with `byte`, over all the pages. A page takes memory only once it is written. */
static bool map_filled(char *begin, const char *end, unsigned char byte)
{
    size_t chunk = (size_t)1 << 20;
    int file = memfd_create("fill", MFD_CLOEXEC);
    char *map = MAP_FAILED;
    if (file >= 0 && ftruncate(file, (off_t)chunk) == 0)
        map = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    bool done = map != MAP_FAILED;
    if (done) {
        memset(map, byte, chunk);
        munmap(map, chunk);
    }
    for (size_t bytes; done && begin < end; begin += bytes) {
        size_t left = (size_t)(end - begin);
        bytes = left < chunk ? left : chunk;
        done = mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) ==
               (void *)begin;
    }
    if (file >= 0)
        close(file);
    return done;
}

void memory_fill(CUdeviceptr address, unsigned char byte, size_t bytes)
{
    char *begin = (char *)(uintptr_t)address, *end = begin + bytes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *first = begin + (page - address % page) % page, *last = end - (address + bytes) % page;
    if (bytes >= LAZY_BYTES && map_filled(first, last, byte)) {
        memset(begin, byte, (size_t)(first - begin));
        memset(last, byte, (size_t)(end - last));
    } else {
        memset(begin, byte, bytes);
    }
}

void memory_clear(int device)
{
    struct allocation **link = &allocations;
    while (*link != NULL) {
        if (device < 0 || (*link)->device == device)
            release(link);
        else
            link = &(*link)->next;
    }
}

__attribute__((destructor)) static void clear_all(void)
{
    memory_clear(-1);
}
