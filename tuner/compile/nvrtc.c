#include "compile/nvrtc.h"

#include "base/alloc.h"
#include "base/read_file.h"
#include "compile/cubin_elf.h"
#include "compile/linker.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_program.h"
#include "template/compiler_option.h"
#include "template/source_signature.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvrtc_open(struct nvrtc **nvrtc, const char *cache, struct error *error)
{
    return nvrtc_library_open(nvrtc, cache, error);
}

void nvrtc_close(struct nvrtc *nvrtc)
{
    if (nvrtc == NULL)
        return;
    linker_close(nvrtc->linker);
    nvrtc_library_close(nvrtc);
}

const char *nvrtc_build(const struct nvrtc *nvrtc)
{
    return nvrtc->build;
}

const char *nvrtc_path(const struct nvrtc *nvrtc)
{
    return nvrtc->path;
}

const int *nvrtc_architectures(const struct nvrtc *nvrtc, size_t *count)
{
    *count = nvrtc->architecture_count;
    return nvrtc->architectures;
}

void nvrtc_set_root(struct nvrtc *nvrtc, const char *root, const char *const *names, size_t count)
{
    nvrtc->root = root;
    text_list_release(&nvrtc->absolute);
    for (size_t i = 0; i < count; i++)
        *ARRAY_APPEND(nvrtc->absolute.items, nvrtc->absolute.count) = alloc_string(names[i]);
}

/* --- architectures --- */

/* True for "sm_90", "sm_90a" or "sm_90f" if the compiler supports 90. */
static bool knows_architecture(const struct nvrtc *nvrtc, const char *arch)
{
    for (size_t i = 0; i < nvrtc->architecture_count; i++) {
        char known[32];
        int length = snprintf(known, sizeof known, "sm_%d", nvrtc->architectures[i]);
        if (length < 0 || strncmp(arch, known, (size_t)length) != 0)
            continue;
        const char *suffix = arch + length;
        if (strcmp(suffix, "") == 0 || strcmp(suffix, "a") == 0 || strcmp(suffix, "f") == 0)
            return true;
    }
    return false;
}

static int unknown_architecture(const struct nvrtc *nvrtc, const char *arch, struct error *error)
{
    char *known = alloc_string("");
    for (size_t i = 0; i < nvrtc->architecture_count; i++) {
        char *longer = alloc_format("%s%ssm_%d", known, i > 0 ? ", " : "", nvrtc->architectures[i]);
        free(known);
        known = longer;
    }
    int status = error_set(error, ERROR_USAGE, "NVRTC %s does not support '%s'; it supports %s",
                           nvrtc->version, arch, known);
    free(known);
    return status;
}

/* --- features of one architecture --- */

enum { FIRST_WITH_FEATURES = 90 };

/* `arch` with the suffix that an option asks for, unless it has one: "sm_90a". Free it. */
static char *full_arch(const char *arch, const char *const *options, size_t option_count)
{
    bool wanted = false;
    for (size_t i = 0; i < option_count; i++)
        wanted = wanted || strcmp(options[i], COMPILER_OPTION_ARCHITECTURE_FEATURES) == 0;
    bool has_suffix = arch[0] != '\0' && strchr("af", arch[strlen(arch) - 1]) != NULL;
    return alloc_format("%s%s", arch, wanted && !has_suffix ? "a" : "");
}

/* A new string, as the compiler would say it; NULL if the architecture has the features. */
static char *refuse_features(const char *arch)
{
    const char *digits = arch + strcspn(arch, "0123456789");
    size_t digit_count = strspn(digits, "0123456789");
    if (digits[digit_count] == '\0' || strtol(digits, NULL, 10) >= FIRST_WITH_FEATURES)
        return NULL;
    return alloc_format("error: 'features = architecture' needs compute capability 9.0 or newer, "
                        "not %.*s",
                        (int)(digits + digit_count - arch), arch);
}

/* --- the units of a source --- */

struct units {
    struct unit *items;
    char **texts; /* of all but the first */
    size_t count;
};

static void units_release(struct units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        free(units->items[i].entries);
        free(units->texts[i]);
    }
    free(units->items);
    free(units->texts);
    *units = (struct units){0};
}

static struct unit *add_unit(struct units *units, const char *name, const char *text, char *owned)
{
    size_t count = units->count;
    *ARRAY_APPEND(units->texts, count) = owned;
    struct unit *unit = ARRAY_APPEND(units->items, units->count);
    unit->name = name;
    unit->text = text;
    return unit;
}

/* Gives an entry to the first unit that declares it itself, or to the first unit of all. */
static void add_entry(const struct units *units, const char *entry)
{
    size_t found = 0;
    for (size_t i = units->count; i-- > 1;)
        if (source_signature_declares(units->items[i].text, entry))
            found = i;
    if (source_signature_declares(units->items[0].text, entry))
        found = 0;
    struct unit *unit = &units->items[found];
    *ARRAY_APPEND(unit->entries, unit->entry_count) = entry;
}

/* The source itself and the units and entries that the options name. */
static int collect_units(struct units *units, const char *root, const char *name, const char *text,
                         const char *const *options, size_t option_count, struct error *error)
{
    int status = 0;
    *units = (struct units){0};
    (void)add_unit(units, name, text, NULL);
    for (size_t i = 0; i < option_count && status == 0; i++) {
        const char *path = compiler_option_value(options[i], COMPILER_OPTION_UNIT);
        char *owned = NULL;
        if (path == NULL)
            continue;
        char *file = alloc_format("%s%s", root, path);
        status = read_file(file, &owned, NULL, error);
        free(file);
        (void)add_unit(units, path, owned, owned);
    }
    for (size_t i = 0; i < option_count && status == 0; i++) {
        const char *entry = compiler_option_value(options[i], COMPILER_OPTION_ENTRY);
        if (entry != NULL)
            add_entry(units, entry);
    }
    return status;
}

/* --- compiling --- */

static bool explains_refusal(const char *log)
{
    return strstr(log, "error") != NULL || strstr(log, "fatal") != NULL;
}

/* Adds the parsed kernel `from` to `compilation`, as `entry`, which is called `symbol` in it. */
static void add_kernel(struct compilation *compilation, const struct compiled_kernel *from,
                       const char *entry, const char *symbol)
{
    struct compiled_kernel *kernel = ARRAY_APPEND(compilation->kernels, compilation->kernel_count);
    *kernel = *from;
    kernel->entry = alloc_string(entry);
    kernel->symbol = symbol != NULL && strcmp(entry, symbol) != 0 ? alloc_string(symbol) : NULL;
    kernel->max_threads_per_block =
        cubin_elf_max_threads(compilation->cubin, compilation->cubin_bytes, from->entry);
}

/* Takes the kernels of the log, under the template's names if it has any for them. Takes over
 * `names`, which are kernels without figures. */
static void take_kernels(struct compilation *compilation, struct compilation *names)
{
    struct compilation parsed = {0};
    nvrtc_parse_log(compilation->log, &parsed.kernels, &parsed.kernel_count);
    for (size_t i = 0; i < parsed.kernel_count; i++) {
        const struct compiled_kernel *kernel = &parsed.kernels[i];
        bool named = false;
        for (size_t j = 0; j < names->kernel_count; j++) {
            if (strcmp(names->kernels[j].symbol, kernel->entry) != 0)
                continue;
            add_kernel(compilation, kernel, names->kernels[j].entry, kernel->entry);
            named = true;
        }
        if (!named)
            add_kernel(compilation, kernel, kernel->entry, NULL);
    }
    compilation_release(&parsed);
    compilation_release(names);
}

/* Takes out what the linker counts in a block that has any shared memory. */
static void deduct_reserved(struct compilation *compilation, const char *arch)
{
    enum { RESERVED_BYTES = 1024 };
    for (size_t i = 0; i < compilation->kernel_count && strncmp(arch, "sm_90", 5) == 0; i++)
        if (compilation->kernels[i].shared_bytes >= RESERVED_BYTES)
            compilation->kernels[i].shared_bytes -= RESERVED_BYTES;
}

/* Moves the kernels that program_run() has named out of `compilation`. */
static void move_names(struct compilation *compilation, struct compilation *names)
{
    for (size_t i = 0; i < compilation->kernel_count; i++)
        *ARRAY_APPEND(names->kernels, names->kernel_count) = compilation->kernels[i];
    free(compilation->kernels);
    compilation->kernels = NULL;
    compilation->kernel_count = 0;
}

/* Compiles a unit; if that fails without a message, once more. */
static int compile_unit(struct program_options *options, const struct unit *unit,
                        struct compilation *compilation, struct error *error)
{
    int status = program_run(options, unit, compilation, error);
    if (status != 0 || compilation->cubin != NULL || explains_refusal(compilation->log))
        return status;
    /* With -v, ptxas does not say that a kernel has too much shared memory: try without. */
    compilation_release(compilation);
    options->quiet = true;
    return program_run(options, unit, compilation, error);
}

static void append_log(struct compilation *compilation, const char *log)
{
    char *longer = alloc_format("%s%s", compilation->log != NULL ? compilation->log : "", log);
    free(compilation->log);
    compilation->log = longer;
}

/* Compiles each unit and links them. What links is the last word on a kernel's resource usage. */
static int compile_and_link(struct nvrtc *nvrtc, struct program_options *options,
                            const struct units *units, struct compilation *compilation,
                            struct compilation *names, struct error *error)
{
    struct linker_input *inputs = alloc_zeroed(units->count, sizeof *inputs);
    struct compilation *parts = alloc_zeroed(units->count, sizeof *parts);
    bool compiled = true;
    int status = 0;
    for (size_t i = 0; i < units->count && status == 0 && compiled; i++) {
        status = compile_unit(options, &units->items[i], &parts[i], error);
        compiled = status == 0 && parts[i].cubin != NULL;
        move_names(&parts[i], names);
        append_log(compilation, parts[i].log != NULL ? parts[i].log : "");
        inputs[i] =
            (struct linker_input){units->items[i].name, parts[i].cubin, parts[i].cubin_bytes};
    }
    if (status == 0 && compiled && nvrtc->linker == NULL)
        status = linker_open(&nvrtc->linker, nvrtc->path, nvrtc->version, error);
    if (status == 0 && compiled)
        status =
            linker_link(nvrtc->linker, options->arch, inputs, units->count, compilation, error);
    for (size_t i = 0; i < units->count; i++)
        compilation_release(&parts[i]);
    free(parts);
    free(inputs);
    return status;
}

/* Compiles for exactly `arch`. */
static int compile_for(struct nvrtc *nvrtc, const char *arch, const struct units *units,
                       const char *const *options, size_t option_count,
                       struct compilation *compilation, struct error *error)
{
    struct compilation names = {0};
    struct program_options all = {.nvrtc = nvrtc,
                                  .arch = arch,
                                  .options = options,
                                  .option_count = option_count,
                                  .relocatable = units->count > 1};
    int status;
    if (units->count > 1) {
        status = compile_and_link(nvrtc, &all, units, compilation, &names, error);
    } else {
        status = compile_unit(&all, &units->items[0], compilation, error);
        move_names(compilation, &names);
    }
    if (status == 0 && compilation->cubin != NULL)
        take_kernels(compilation, &names);
    if (status == 0 && units->count > 1 && linker_counts_reserved(nvrtc->linker))
        deduct_reserved(compilation, arch);
    if (status == 0)
        nvrtc_strip_log(compilation->log);
    compilation_release(&names);
    return status;
}

/* Two threads of an application would each take the other's signals and handlers for those from before
 * (held_signals.h). */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

int nvrtc_compile(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                  const char *const *options, size_t option_count, struct compilation *compilation,
                  struct error *error)
{
    struct units units;
    *compilation = (struct compilation){0};
    if (!knows_architecture(nvrtc, arch))
        return unknown_architecture(nvrtc, arch, error);
    char *full = full_arch(arch, options, option_count);
    compilation->log = refuse_features(full);
    int status = collect_units(&units, nvrtc->root, name, text, options, option_count, error);
    if (status == 0 && compilation->log == NULL) {
        (void)pthread_mutex_lock(&one_at_a_time);
        status = compile_for(nvrtc, full, &units, options, option_count, compilation, error);
        (void)pthread_mutex_unlock(&one_at_a_time);
    }
    units_release(&units);
    free(full);
    return status;
}

/* --- PTX --- */

/* Appends a unit's PTX; a comment says whose it is if there are several. */
static int append_ptx(const struct program_options *options, const struct unit *unit, bool several,
                      char **ptx, struct error *error)
{
    struct compilation compilation;
    int status = program_run(options, unit, &compilation, error);
    if (status == 0 && compilation.cubin == NULL)
        status = error_set(error, ERROR_WORKER, "'%s' does not compile: %s", unit->name,
                           compilation.log);
    if (status == 0) {
        char *longer =
            alloc_format("%s%s%s%s%s", *ptx, several ? "// " : "", several ? unit->name : "",
                         several ? "\n" : "", (const char *)compilation.cubin);
        free(*ptx);
        *ptx = longer;
    }
    compilation_release(&compilation);
    return status;
}

int nvrtc_compile_ptx(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                      const char *const *options, size_t option_count, char **ptx,
                      struct error *error)
{
    struct units units;
    *ptx = NULL;
    if (!knows_architecture(nvrtc, arch))
        return unknown_architecture(nvrtc, arch, error);
    char *full = full_arch(arch, options, option_count);
    char *refusal = refuse_features(full);
    int status = collect_units(&units, nvrtc->root, name, text, options, option_count, error);
    if (status == 0 && refusal != NULL)
        status = error_set(error, ERROR_CONFIG, "%s", refusal);
    const struct program_options all = {.nvrtc = nvrtc,
                                        .arch = full,
                                        .options = options,
                                        .option_count = option_count,
                                        .relocatable = units.count > 1,
                                        .ptx = true,
                                        .quiet = true};
    char *whole = alloc_string("");
    for (size_t i = 0; i < units.count && status == 0; i++)
        status = append_ptx(&all, &units.items[i], units.count > 1, &whole, error);
    if (status == 0)
        *ptx = whole;
    else
        free(whole);
    units_release(&units);
    free(refusal);
    free(full);
    return status;
}

bool nvrtc_reserve_precompiled(struct nvrtc *nvrtc, size_t bytes)
{
    return nvrtc->SetPCHHeapSize != NULL && nvrtc->SetPCHHeapSize(bytes) == NVRTC_SUCCESS;
}
