/*
 * Modules and functions: the kernels of a cubin with what its sections say about them. A cubin is
 * an ELF file whose section .text.NAME is the kernel NAME; .nv.info holds the registers and the
 * stack by symbol, .nv.info.NAME the launch bounds, .nv.shared.NAME the size of its static shared
 * memory.
 */
#include "standin.h"

#include <cuda_occupancy.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA_MACHINE 190

/* Of the records in .nv.info. */
enum {
    INFO_MAX_THREADS = 0x05,
    INFO_FRAME_SIZE = 0x11,
    INFO_REGISTERS = 0x2f,
    INFO_CLUSTER = 0x3d
};
#define INFO_SIZED 0x04 /* a record with two bytes of length and so many of payload */

/* A variable of the source. */
struct variable {
    char *name;
    CUdeviceptr address;
    size_t bytes;
    struct variable *next;
};

struct CUmod_st {
    struct CUfunc_st *functions;
    struct variable *variables;
    uint64_t number; /* 1, 2, … in the order loaded */
    struct CUmod_st *next;
};

static struct CUmod_st *modules;
static uint64_t loads;

struct image {
    const unsigned char *bytes;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const char *section_names;
};

static const char *section_name(const struct image *image, unsigned i)
{
    return image->section_names + image->sections[i].sh_name;
}

static const Elf64_Shdr *find_section(const struct image *image, const char *prefix,
                                      const char *name)
{
    size_t length = strlen(prefix);
    for (unsigned i = 0; i < image->header->e_shnum; i++)
        if (strncmp(section_name(image, i), prefix, length) == 0 &&
            strcmp(section_name(image, i) + length, name) == 0)
            return &image->sections[i];
    return NULL;
}

/* Architecture in the header's flags: the second byte since version 8 of the ABI, before it the
 * first. */
static int image_architecture(const Elf64_Ehdr *header)
{
    unsigned shift = header->e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
    return (int)(header->e_flags >> shift & 0xff);
}

static CUresult image_open(struct image *image, const void *bytes)
{
    if (bytes == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const Elf64_Ehdr *header = bytes;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    if (header->e_machine != EM_CUDA_MACHINE || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shstrndx >= header->e_shnum)
        return CUDA_ERROR_INVALID_IMAGE;
    int architecture = image_architecture(header);
    int capability = control()->compute_capability;
    if (architecture / 10 != capability / 10 || architecture > capability)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    image->bytes = bytes;
    image->header = header;
    image->sections = (const Elf64_Shdr *)(image->bytes + header->e_shoff);
    image->section_names =
        (const char *)image->bytes + image->sections[header->e_shstrndx].sh_offset;
    return CUDA_SUCCESS;
}

/* The record `attribute` of a section, of `count` words, and of the symbol that is its first one (0: any); false if
 * there is none. */
static bool find_info(const struct image *image, const Elf64_Shdr *info, unsigned attribute,
                      uint32_t symbol, uint32_t *words, size_t count)
{
    const unsigned char *at = info != NULL ? image->bytes + info->sh_offset : NULL;
    const unsigned char *end = info != NULL ? at + info->sh_size : NULL;
    const size_t bytes = count * sizeof *words;
    while (end - at >= 4) {
        size_t payload = at[0] == INFO_SIZED ? (size_t)(at[2] | at[3] << 8) : 0;
        if (at[0] == INFO_SIZED && at[1] == attribute && payload >= bytes &&
            (size_t)(end - at) >= 4 + bytes) {
            memcpy(words, at + 4, bytes);
            if (symbol == 0 || words[0] == symbol)
                return true;
        }
        at += 4 + payload;
    }
    return false;
}

static int info_of_symbol(const struct image *image, unsigned attribute, uint32_t symbol)
{
    uint32_t words[2];
    return symbol != 0 && find_info(image, find_section(image, ".nv.info", ""), attribute, symbol,
                                    words, 2)
               ? (int)words[1]
               : 0;
}

/* Threads of the launch bounds in .nv.info.NAME; 0 where there are none. */
static int info_max_threads(const struct image *image, const char *name)
{
    uint32_t extent[3];
    return find_info(image, find_section(image, ".nv.info.", name), INFO_MAX_THREADS, 0, extent, 3)
               ? (int)(extent[0] * extent[1] * extent[2])
               : 0;
}

/* The image's symbols, from index 1 on; `*count` is the index behind the last. */
static const Elf64_Sym *symbol_table(const struct image *image, uint32_t *count, const char **names)
{
    const Elf64_Shdr *table = find_section(image, ".symtab", "");
    *count = 0;
    if (table == NULL || table->sh_link >= image->header->e_shnum)
        return NULL;
    *count = (uint32_t)(table->sh_size / sizeof(Elf64_Sym));
    *names = (const char *)image->bytes + image->sections[table->sh_link].sh_offset;
    return (const Elf64_Sym *)(image->bytes + table->sh_offset);
}

/* Index of the symbol called `name`; 0 if there is none. */
static uint32_t find_symbol(const struct image *image, const char *name)
{
    uint32_t count;
    const char *names;
    const Elf64_Sym *symbols = symbol_table(image, &count, &names);
    for (uint32_t i = 1; i < count; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            strcmp(names + symbols[i].st_name, name) == 0)
            return i;
    return 0;
}

/* The section counts what the driver reserves of each block since 9.0; the driver's attribute does
 * not. */
static int static_shared_bytes(const struct image *image, const char *name)
{
    const Elf64_Shdr *shared = find_section(image, ".nv.shared.", name);
    if (shared == NULL)
        return 0;
    uint64_t reserved = image_architecture(image->header) >= 90 ? 1024 : 0;
    return (int)(shared->sh_size > reserved ? shared->sh_size - reserved : 0);
}

static struct CUfunc_st *read_function(const struct image *image, struct CUmod_st *module,
                                       const char *name)
{
    struct CUfunc_st *function = new_zeroed(sizeof *function);
    function->name = strdup(name);
    uint32_t symbol = find_symbol(image, name);
    function->module = module;
    function->kernel = kernel_find(name);
    function->registers = info_of_symbol(image, INFO_REGISTERS, symbol);
    if (function->registers == 0)
        function->registers = 32;
    function->local_bytes = info_of_symbol(image, INFO_FRAME_SIZE, symbol);
    function->static_shared_bytes = static_shared_bytes(image, name);
    function->max_threads_per_block = info_max_threads(image, name);
    (void)find_info(image, find_section(image, ".nv.info.", name), INFO_CLUSTER, 0,
                    function->cluster, 3);
    function->max_dynamic_shared_bytes =
        (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) -
        function->static_shared_bytes;
    return function;
}

/* Its first contents are those of its section, zeros where that has none. */
static CUresult read_variable(int device, const struct image *image, struct CUmod_st *module,
                              const char *name, const Elf64_Sym *symbol)
{
    struct variable *variable = new_zeroed(sizeof *variable);
    CUresult result = memory_allocate(device, &variable->address, symbol->st_size);
    if (result != CUDA_SUCCESS) {
        free(variable);
        return result;
    }
    variable->name = strdup(name);
    variable->bytes = symbol->st_size;
    variable->next = module->variables;
    module->variables = variable;
    const Elf64_Shdr *section = &image->sections[symbol->st_shndx];
    void *contents = (void *)(uintptr_t)variable->address;
    memset(contents, 0, variable->bytes);
    if (section->sh_type == SHT_PROGBITS)
        memcpy(contents, image->bytes + section->sh_offset + symbol->st_value, variable->bytes);
    return CUDA_SUCCESS;
}

static CUresult read_variables(int device, const struct image *image, struct CUmod_st *module)
{
    CUresult result = CUDA_SUCCESS;
    uint32_t count;
    const char *names;
    const Elf64_Sym *symbols = symbol_table(image, &count, &names);
    for (uint32_t i = 1; i < count && result == CUDA_SUCCESS; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT && symbols[i].st_size > 0 &&
            symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_shndx < image->header->e_shnum)
            result = read_variable(device, image, module, names + symbols[i].st_name, &symbols[i]);
    return result;
}

static void release(struct CUmod_st *module)
{
    while (module->variables != NULL) {
        struct variable *variable = module->variables;
        module->variables = variable->next;
        (void)memory_free(variable->address);
        free(variable->name);
        free(variable);
    }
    while (module->functions != NULL) {
        struct CUfunc_st *function = module->functions;
        module->functions = function->next;
        free(function->name);
        free(function);
    }
    free(module);
}

CUresult module_load(int device, const void *bytes, CUmodule *module)
{
    struct image image;
    CUresult result = image_open(&image, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    struct CUmod_st *made = new_zeroed(sizeof *made);
    made->number = ++loads;
    for (unsigned i = 0; i < image.header->e_shnum; i++) {
        const char *name = section_name(&image, i);
        if (strncmp(name, ".text.", 6) != 0)
            continue;
        struct CUfunc_st *function = read_function(&image, made, name + 6);
        function->next = made->functions;
        made->functions = function;
    }
    result = read_variables(device, &image, made);
    if (result != CUDA_SUCCESS) {
        release(made);
        return result;
    }
    made->next = modules;
    modules = made;
    *module = made;
    return CUDA_SUCCESS;
}

CUresult module_unload(CUmodule module)
{
    for (struct CUmod_st **link = &modules; *link != NULL; link = &(*link)->next) {
        if (*link == module) {
            *link = module->next;
            release(module);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_HANDLE;
}

void module_clear(void)
{
    while (modules != NULL)
        module_unload(modules);
}

__attribute__((destructor)) static void clear_all(void)
{
    module_clear();
}

static bool is_loaded(CUmodule module)
{
    const struct CUmod_st *known = modules;
    while (known != NULL && known != module)
        known = known->next;
    return known != NULL;
}

CUresult module_function(CUmodule module, const char *name, CUfunction *function)
{
    if (!is_loaded(module) || name == NULL || function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    for (struct CUfunc_st *f = module->functions; f != NULL; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            *function = f;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult module_global(CUmodule module, const char *name, CUdeviceptr *address, size_t *bytes)
{
    if (!is_loaded(module))
        return CUDA_ERROR_INVALID_HANDLE;
    for (const struct variable *v = module->variables; v != NULL; v = v->next) {
        if (strcmp(v->name, name) == 0) {
            *address = v->address;
            *bytes = v->bytes;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

void module_swap_globals(const struct CUmod_st *module, bool in)
{
    for (const struct variable *v = module->variables; v != NULL; v = v->next) {
        void *host = kernel_variable(v->name, v->bytes);
        void *own = (void *)(uintptr_t)v->address;
        if (host != NULL)
            memcpy(in ? host : own, in ? own : host, v->bytes);
    }
}

bool module_has_function(CUfunction function)
{
    for (const struct CUmod_st *module = modules; module != NULL; module = module->next)
        for (const struct CUfunc_st *f = module->functions; f != NULL; f = f->next)
            if (f == function)
                return true;
    return false;
}

/* Registers are handed out to warps in units of 256, and a block has at most those of an SM. */
static int threads_by_registers(int registers)
{
    int64_t of_warp = ((int64_t)registers * 32 + 255) / 256 * 256;
    int64_t warps = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK) / of_warp;
    return (int)(warps / 4 * 4 * 32);
}

int module_function_threads(CUfunction function)
{
    int threads = (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (function->max_threads_per_block > 0 && function->max_threads_per_block < threads)
        threads = function->max_threads_per_block;
    int by_registers = threads_by_registers(function->registers);
    return by_registers < threads ? by_registers : threads;
}

static size_t attribute_size(CUdevice_attribute attribute)
{
    return (size_t)device_attribute(attribute);
}

CUresult module_blocks_per_sm(CUfunction function, int block_threads, size_t dynamic_shared_bytes,
                              int *blocks)
{
    if (block_threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    int capability = control()->compute_capability;
    const cudaOccDeviceProp device = {
        .computeMajor = capability / 10,
        .computeMinor = capability % 10,
        .maxThreadsPerBlock = (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsPerMultiprocessor =
            (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        .regsPerBlock = (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .regsPerMultiprocessor =
            (int)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .warpSize = 32,
        .sharedMemPerBlock = attribute_size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .sharedMemPerMultiprocessor =
            attribute_size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .numSms = control()->sm_count,
        .sharedMemPerBlockOptin =
            attribute_size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .reservedSharedMemPerBlock =
            attribute_size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
    };
    const cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = module_function_threads(function),
        .numRegs = function->registers,
        .sharedSizeBytes = (size_t)function->static_shared_bytes,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = (size_t)function->max_dynamic_shared_bytes,
        .numBlockBarriers = 1,
    };
    const cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = -1};
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &attributes, &state,
                                                block_threads,
                                                dynamic_shared_bytes) != CUDA_OCC_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = result.activeBlocksPerMultiprocessor;
    return CUDA_SUCCESS;
}

uint64_t module_number(const struct CUmod_st *module)
{
    return module->number;
}
