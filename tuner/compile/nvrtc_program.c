#include "compile/nvrtc_program.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "compile/held_signals.h"
#include "template/compiler_option.h"

#include <stdlib.h>
#include <string.h>

/* A program while it is compiled. */
struct program {
    const struct nvrtc *nvrtc;
    const struct unit *unit;
    nvrtcProgram handle;
};

static void add(struct text_list *list, char *text)
{
    *ARRAY_APPEND(list->items, list->count) = text;
}

/* --- leaving out what the launched kernels do not need --- */

/*
 * A kernel that is not launched becomes a template that nothing instantiates: the front end reads
 * it, and nothing else does. Before its name, and behind `extern "C" __global__ void`, this puts the
 * declaration of another kernel, to which these belong then. A name that is used elsewhere is an
 * error, never another meaning.
 */
#define HIDE_FORMAT(between)                                                                       \
    "%s" between "autotune_unlaunched_%s(); extern \"C++\" template <int> __global__ void %s"

/* Options instead of a text in front: a header that is to be precompiled must come first. A #line
 * cannot name every file. */
static bool hides_by_options(const struct program_options *options, const struct unit *unit)
{
    for (size_t i = 0; i < options->option_count; i++)
        if (strstr(options->options[i], "-pch=") != NULL)
            return true;
    return strpbrk(unit->name, "\"\\\n") != NULL;
}

/* The unit's text, with macros in front that hide kernels, and its name unless the compiler knows it; a new
 * string. */
static char *whole_text(const struct program_options *options, const struct unit *unit, bool hide)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < options->option_count && hide; i++) {
        const char *name = compiler_option_value(options->options[i], COMPILER_OPTION_UNLAUNCHED);
        if (name == NULL)
            continue;
        char *longer = alloc_format("%s#define " HIDE_FORMAT(" ") "\n", text, name, name, name);
        free(text);
        text = longer;
    }
    char *whole =
        text[0] != '\0' || (options->nvrtc->root[0] != '\0' && !hides_by_options(options, unit))
            ? alloc_format("%s#line 1 \"%s\"\n%s", text, unit->name, unit->text)
            : alloc_string(unit->text);
    free(text);
    return whole;
}

/* cooperative_groups.h includes most of CCCL unless its own macro says not to, and then takes a
 * tenth of the time. --minimal leaves out textures and the runtime's functions, for example. */
static void add_reductions(struct text_list *list, const struct program_options *options,
                           const struct unit *unit)
{
    bool by_options = hides_by_options(options, unit);
    bool hidden = false;
    for (size_t i = 0; i < options->option_count; i++) {
        const char *name = compiler_option_value(options->options[i], COMPILER_OPTION_UNLAUNCHED);
        if (name == NULL)
            continue;
        hidden = true;
        if (by_options)
            add(list, alloc_format("-D" HIDE_FORMAT("="), name, name, name));
    }
    if (hidden) /* "was declared but never referenced": what only a hidden kernel uses */
        add(list, alloc_string("--diag-suppress=177"));
    add(list, alloc_string("-D_CG_LIMIT_INCLUDED_DEPENDENCIES"));
    if (options->nvrtc->major >= 13)
        add(list, alloc_string("--minimal"));
}

/* --- compiling --- */

/* NVRTC's options. */
static struct text_list all_options(const struct program_options *options, const struct unit *unit,
                                    bool reduced)
{
    const struct nvrtc *nvrtc = options->nvrtc;
    struct text_list list = {0};
    bool standard_given = false;
    add(&list, alloc_format("-arch=%s", options->arch));
    for (size_t i = 0; i < options->option_count; i++) {
        const char *option = options->options[i];
        if (compiler_option_value(option, COMPILER_OPTION_PREFIX) != NULL)
            continue;
        bool folder = strncmp(option, "-I", 2) == 0;
        add(&list, folder ? alloc_format("-I%s%s", nvrtc->root, option + 2) : alloc_string(option));
        if (strncmp(option, "-std", 4) == 0 || strncmp(option, "--std", 5) == 0)
            standard_given = true;
    }
    if (!standard_given)
        add(&list, alloc_string("-std=c++17"));
    if (reduced)
        add_reductions(&list, options, unit);
    if (options->relocatable)
        add(&list, alloc_string("--relocatable-device-code=true"));
    if (!options->quiet)
        add(&list, alloc_string("--ptxas-options=-v"));
    if (nvrtc->major >= 13) /* a result from the driver's cache has no log */
        add(&list, alloc_string("--no-cache"));
    for (size_t i = 0; i < nvrtc->include_options.count; i++)
        add(&list, alloc_string(nvrtc->include_options.items[i]));
    return list;
}

static int failed(const struct program *program, const char *call, nvrtcResult result,
                  const char *log, struct error *error)
{
    const struct nvrtc *nvrtc = program->nvrtc;
    return error_set(error, ERROR_WORKER,
                     "%s failed for '%s' with %s; check the installation of NVRTC %s, '%s'%s%s",
                     call, program->unit->name, nvrtc->GetErrorString(result), nvrtc->version,
                     nvrtc->path, log[0] != '\0' ? ": " : "", log);
}

/* Makes the program, with the standard headers that its options name. */
static int create(struct program *program, const struct program_options *options, bool reduced,
                  struct error *error)
{
    bool hide = reduced && !hides_by_options(options, program->unit);
    const struct nvrtc *nvrtc = program->nvrtc;
    char *text = whole_text(options, program->unit, hide);
    char *name = alloc_format("%s%s", nvrtc->root, program->unit->name);
    struct text_list absolute = {0}; /* each includes the copy */
    const char **names = NULL;
    const char **texts = NULL;
    size_t count = 0;
    for (size_t i = 0; i < options->option_count; i++) {
        const char *value = compiler_option_value(options->options[i], COMPILER_OPTION_HEADER);
        const struct standard_header *header =
            value != NULL ? standard_header_find(value, strcspn(value, " ")) : NULL;
        if (header == NULL)
            continue;
        size_t texts_count = count;
        *ARRAY_APPEND(names, count) = header->name;
        *ARRAY_APPEND(texts, texts_count) = header->text;
    }
    for (size_t i = 0; i < nvrtc->absolute.count; i++) {
        size_t texts_count = count;
        add(&absolute, alloc_format("#include \"%s%s\"\n", nvrtc->root, nvrtc->absolute.items[i]));
        *ARRAY_APPEND(names, count) = nvrtc->absolute.items[i];
        *ARRAY_APPEND(texts, texts_count) = absolute.items[i];
    }
    nvrtcResult result =
        nvrtc->CreateProgram(&program->handle, text, name, (int)count, texts, names);
    text_list_release(&absolute);
    free(text);
    free(name);
    free(names);
    free(texts);
    if (result != NVRTC_SUCCESS)
        return failed(program, "nvrtcCreateProgram", result, "", error);
    for (size_t i = 0; i < program->unit->entry_count && result == NVRTC_SUCCESS; i++)
        result = nvrtc->AddNameExpression(program->handle, program->unit->entries[i]);
    return result == NVRTC_SUCCESS ? 0
                                   : failed(program, "nvrtcAddNameExpression", result, "", error);
}

/* The compiler's log, or ""; free it. */
static char *read_log(const struct program *program)
{
    size_t bytes = 0;
    if (program->nvrtc->GetProgramLogSize(program->handle, &bytes) != NVRTC_SUCCESS)
        return alloc_string("");
    char *log = alloc_zeroed(bytes + 1, 1);
    if (program->nvrtc->GetProgramLog(program->handle, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    const char *root = program->nvrtc->root;
    size_t length = strlen(root);
    for (char *at = log; length > 0 && (at = strstr(at, root)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
    return log;
}

static int read_result(const struct program *program, bool ptx, struct compilation *compilation,
                       struct error *error)
{
    const struct nvrtc *nvrtc = program->nvrtc;
    size_t bytes = 0;
    nvrtcResult result = ptx ? nvrtc->GetPTXSize(program->handle, &bytes)
                             : nvrtc->GetCUBINSize(program->handle, &bytes);
    if (result != NVRTC_SUCCESS || bytes == 0)
        return failed(program, ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", result, "", error);
    compilation->cubin = alloc_zeroed(bytes + 1, 1);
    compilation->cubin_bytes = bytes;
    result = ptx ? nvrtc->GetPTX(program->handle, compilation->cubin)
                 : nvrtc->GetCUBIN(program->handle, compilation->cubin);
    if (result == NVRTC_SUCCESS)
        return 0;
    free(compilation->cubin);
    compilation->cubin = NULL;
    return failed(program, ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", result, "", error);
}

static int read_symbols(const struct program *program, struct compilation *compilation,
                        struct error *error)
{
    for (size_t i = 0; i < program->unit->entry_count; i++) {
        const char *entry = program->unit->entries[i];
        const char *symbol = NULL;
        nvrtcResult result = program->nvrtc->GetLoweredName(program->handle, entry, &symbol);
        if (result != NVRTC_SUCCESS || symbol == NULL)
            return failed(program, "nvrtcGetLoweredName", result, "", error);
        struct compiled_kernel *kernel =
            ARRAY_APPEND(compilation->kernels, compilation->kernel_count);
        kernel->entry = alloc_string(entry);
        kernel->symbol = alloc_string(symbol);
    }
    return 0;
}

/*
 * If the first error is about a C++ name, puts a line in front of the log that says which. NVRTC
 * writes, as if the name were in a file of its own:
 *     __nv_name_map(2): error: namespace "ns" has no member "scale"
 *       #pragma nv_mangled_name ns::scale<float, TILE>
 */
static void explain_entry(struct compilation *compilation)
{
    static const char place[] = "__nv_name_map(";
    static const char pragma[] = "#pragma nv_mangled_name ";
    static const char mark[] = "error: ";
    const char *first = strstr(compilation->log, mark);
    const char *map = strstr(compilation->log, place);
    const char *entry = map != NULL ? strstr(map, pragma) : NULL;
    if (first == NULL || entry == NULL || map > first || memchr(map, '\n', (size_t)(first - map)))
        return;
    first += strlen(mark);
    entry += strlen(pragma);
    char *longer =
        alloc_format(COMPILATION_ENTRY_REFUSED "%.*s': %.*s\n%s", (int)strcspn(entry, "\n"), entry,
                     (int)strcspn(first, "\n"), first, compilation->log);
    free(compilation->log);
    compilation->log = longer;
}

/* The files that a worker has are those that the coordinator has found. */
static void explain_missing(const struct program *program, struct compilation *compilation)
{
    static const char *const marks[] = {"cannot open source file \"",
                                        "could not open source file \""};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks && name == NULL; i++) {
        const char *found = strstr(compilation->log, marks[i]);
        name = found != NULL ? found + strlen(marks[i]) : NULL;
    }
    if (name == NULL || program->nvrtc->root[0] == '\0')
        return;
    char *longer = alloc_format(
        "%s\nIf '%.*s' exists, autotune has not found it in the source; name it in 'depends'\n",
        compilation->log, (int)strcspn(name, "\"\n"), name);
    free(compilation->log);
    compilation->log = longer;
}

bool program_log_lacks_memory(const char *log)
{
    bool stopped = strstr(log, "ptxas fatal   : Ptx assembly aborted due to errors") != NULL;
    return strstr(log, "catastrophic error: out of memory\n") != NULL ||
           strstr(log, "ptxas fatal   : Memory allocation failure") != NULL ||
           (stopped && strstr(log, "error   :") == NULL);
}

static int compile(const struct program *program, const struct program_options *options,
                   bool reduced, struct compilation *compilation, struct error *error)
{
    struct text_list list = all_options(options, program->unit, reduced);
    struct held_signals held;
    held_signals_begin(&held);
    if (program->nvrtc->SetFlowCallback != NULL)
        (void)program->nvrtc->SetFlowCallback(program->handle, held_signals_step, &held);
    nvrtcResult result = program->nvrtc->CompileProgram(program->handle, (int)list.count,
                                                        (const char *const *)list.items);
    held_signals_end(&held);
    text_list_release(&list);
    compilation->log = read_log(program);
    if (result == NVRTC_ERROR_OUT_OF_MEMORY || program_log_lacks_memory(compilation->log))
        return error_set(error, ERROR_MEMORY, "the compiler ran out of memory");
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION) {
        explain_entry(compilation);
        explain_missing(program, compilation);
        return 0;
    }
    if (result != NVRTC_SUCCESS && interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    if (result != NVRTC_SUCCESS)
        return failed(program, "nvrtcCompileProgram", result, compilation->log, error);
    int status = read_result(program, options->ptx, compilation, error);
    return status != 0 ? status : read_symbols(program, compilation, error);
}

static int run(const struct program_options *options, const struct unit *unit, bool reduced,
               struct compilation *compilation, struct error *error)
{
    struct program program = {.nvrtc = options->nvrtc, .unit = unit};
    *compilation = (struct compilation){0};
    int status = create(&program, options, reduced, error);
    if (status == 0)
        status = compile(&program, options, reduced, compilation, error);
    if (program.handle != NULL)
        (void)options->nvrtc->DestroyProgram(&program.handle);
    return status;
}

/* Whether it may be the reductions that the compiler has refused: they cannot trouble ptxas. */
static bool may_be_reductions(const struct compilation *compilation)
{
    return compilation->cubin == NULL && strstr(compilation->log, "error") != NULL &&
           strstr(compilation->log, "ptxas") == NULL;
}

int program_run(const struct program_options *options, const struct unit *unit,
                struct compilation *compilation, struct error *error)
{
    struct nvrtc *nvrtc = options->nvrtc;
    bool reduced = nvrtc->whole == NULL || strcmp(nvrtc->whole, unit->name) != 0;
    int status = run(options, unit, reduced, compilation, error);
    if (status != 0 || !reduced || !may_be_reductions(compilation))
        return status;
    compilation_release(compilation);
    status = run(options, unit, false, compilation, error);
    if (status == 0 && compilation->cubin != NULL) {
        free(nvrtc->whole);
        nvrtc->whole = alloc_string(unit->name);
    }
    return status;
}
