#include "compile/nvrtc.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/read_file.h"
#include "compile/cubin_elf.h"
#include "compile/nvrtc_library.h"
#include "template/compiler_option.h"
#include "template/source_signature.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- signals --- */

/*
 * SIGINT and SIGTERM while NVRTC compiles. In the first compilation of a process, NVRTC handles them for
 * some tens of milliseconds, by ending the process with status 4, whatever the program would do. They are
 * blocked meanwhile; then the program has its handlers back, with the flags that NVRTC loses, and answers
 * them while NVRTC goes on.
 * They are blocked in the calling thread only. If NVRTC's handler runs in another one, the process ends.
 */
enum { HELD_SIGNAL_COUNT = 2 };

struct held_signals {
    bool held;
    sigset_t previous; /* the thread's mask */
    struct sigaction actions[HELD_SIGNAL_COUNT];
};

static const int signals[HELD_SIGNAL_COUNT] = {SIGINT, SIGTERM};

static void held_signals_begin(struct held_signals *held)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < HELD_SIGNAL_COUNT; i++) {
        (void)sigaddset(&set, signals[i]);
        (void)sigaction(signals[i], NULL, &held->actions[i]);
    }
    held->held = pthread_sigmask(SIG_BLOCK, &set, &held->previous) == 0;
}

/* NVRTC puts handlers back with signal(), which loses their flags. Returns false while the handler is
 * NVRTC's. */
static bool restore_flags(int number, const struct sigaction *before)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler != before->sa_handler)
        return false;
    return now.sa_flags == before->sa_flags || sigaction(number, before, NULL) == 0;
}

static bool restore_all_flags(const struct held_signals *held)
{
    bool restored = true;
    for (size_t i = 0; i < HELD_SIGNAL_COUNT; i++)
        restored = restore_flags(signals[i], &held->actions[i]) && restored;
    return restored;
}

static void let_in(struct held_signals *held)
{
    held->held = false;
    (void)pthread_sigmask(SIG_SETMASK, &held->previous, NULL);
}

/* For nvrtcSetFlowCallback(): lets the signals in as soon as NVRTC no longer handles them, and ends the
 * compilation if the user wants to end. */
static int held_signals_step(void *payload, void *reserved)
{
    struct held_signals *held = payload;
    (void)reserved;
    if (held->held && restore_all_flags(held))
        let_in(held);
    return interrupt_requested() ? 1 : 0;
}

/* Lets the signals in, unless held_signals_step() has. */
static void held_signals_end(struct held_signals *held)
{
    if (!held->held)
        return;
    (void)restore_all_flags(held);
    let_in(held);
}

/* --- the log --- */

enum { LOG_BYTES = 64 * 1024 };

/* The number at the start of `text`, or -1; sets *rest to what follows it. */
static long read_count(const char *text, const char **rest)
{
    char *end = NULL;
    long count = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    *rest = end != NULL ? end : text;
    return count;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int to_int(long count)
{
    return count > INT_MAX ? INT_MAX : (int)count;
}

/* One item of a line: "4096 bytes smem", "Used 32 registers", "used 1 barriers". */
static void read_item(const char *item, struct compiled_kernel *kernel)
{
    item += strspn(item, " .");
    if (begins_with(item, "Used ") || begins_with(item, "used "))
        item += 5;
    const char *what = NULL;
    long count = read_count(item, &what);
    if (count < 0)
        return;
    if (begins_with(what, " registers"))
        kernel->registers = to_int(count);
    else if (begins_with(what, " barriers"))
        kernel->barriers = to_int(count);
    else if (begins_with(what, " bytes smem"))
        kernel->shared_bytes = count;
    else if (begins_with(what, " bytes spill stores"))
        kernel->spill_store_bytes = count;
    else if (begins_with(what, " bytes spill loads"))
        kernel->spill_load_bytes = count;
    else if (begins_with(what, " bytes stack frame") ||
             begins_with(what, " bytes cumulative stack size") || begins_with(what, " stack"))
        kernel->stack_bytes = count > kernel->stack_bytes ? count : kernel->stack_bytes;
}

static void read_items(char *line, struct compiled_kernel *kernel)
{
    char *rest = NULL;
    for (char *item = strtok_r(line, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        read_item(item, kernel);
}

/* The text after `key` in `line`, or NULL. */
static char *after(char *line, const char *key)
{
    char *found = strstr(line, key);
    return found != NULL ? found + strlen(key) : NULL;
}

static bool is_ptxas_info(const char *line)
{
    return begins_with(line, "ptxas info ") || begins_with(line, "ptxas         .");
}

/* As the linker has it. */
static bool is_link_info(const char *line)
{
    return begins_with(line, "info    : ") || begins_with(line, "nvlink info");
}

struct parsing {
    struct compiled_kernel *kernels;
    size_t count;
    struct compiled_kernel *current; /* that the lines describe; NULL: none of them */
};

static void parse_ptxas_line(struct parsing *parsing, char *line)
{
    char *name = NULL;
    if ((name = after(line, "Compiling entry function '")) != NULL) {
        parsing->current = ARRAY_APPEND(parsing->kernels, parsing->count);
        parsing->current->entry = alloc_string_n(name, strcspn(name, "'"));
    } else if (parsing->count > 0 && (name = after(line, "Function properties for ")) != NULL) {
        struct compiled_kernel *last = &parsing->kernels[parsing->count - 1];
        parsing->current = strcmp(name, last->entry) == 0 ? last : NULL;
    } else if (parsing->current != NULL) {
        char *items = begins_with(line, "ptxas info ") ? after(line, ": ") : after(line, ".");
        if (items != NULL)
            read_items(items, parsing->current);
    }
}

static void parse_link_line(struct parsing *parsing, char *line)
{
    char *name = after(line, "Function properties for '");
    if (name == NULL && parsing->current != NULL)
        read_items(after(line, ": "), parsing->current);
    if (name == NULL)
        return;
    parsing->current = NULL;
    name[strcspn(name, "'")] = '\0';
    for (size_t i = 0; i < parsing->count; i++)
        if (strcmp(parsing->kernels[i].entry, name) == 0)
            parsing->current = &parsing->kernels[i];
}

/*
 * For each entry function ptxas writes
 *     ptxas info    : Compiling entry function 'NAME' for 'sm_90'
 *     ptxas info    : Function properties for NAME
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 10 registers, used 1 barriers, 4096 bytes smem, 364 bytes cmem[0]
 * and then the properties of each function that was not inlined; these are ignored. For a source of
 * several units nvJitLink writes behind that, for each entry function,
 *     info    : Function properties for 'NAME':
 *     info    : used 46 registers, used 1 barriers, 32 stack, 1152 bytes smem, 536 bytes cmem[0]
 */
void nvrtc_parse_log(const char *log, struct compiled_kernel **kernels, size_t *count)
{
    struct parsing parsing = {0};
    char *copy = alloc_string(log);
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (is_link_info(line))
            parse_link_line(&parsing, line);
        else if (is_ptxas_info(line))
            parse_ptxas_line(&parsing, line);
    free(copy);
    *kernels = parsing.kernels;
    *count = parsing.count;
}

/* Cuts a log after LOG_BYTES, between two characters, and says so in its last line. */
static void shorten(char *log, size_t length)
{
    char note[64];
    if (length <= LOG_BYTES)
        return;
    size_t end = LOG_BYTES;
    while (end > 0 && ((unsigned char)log[end] & 0xc0) == 0x80)
        end--;
    int bytes = snprintf(note, sizeof note, "\n… (%zu more bytes)", length - end);
    if (length - end > (size_t)bytes)
        memcpy(log + end, note, (size_t)bytes + 1);
}

void nvrtc_strip_log(char *log)
{
    char *to = log;
    for (char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (!is_ptxas_info(line) && !is_link_info(line)) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    while (to > log && to[-1] == '\n')
        to--;
    *to = '\0';
    shorten(log, (size_t)(to - log));
    for (char *at = log; *at != '\0'; at++)
        if (((unsigned char)*at < ' ' && *at != '\n' && *at != '\t') || *at == '\x7f')
            *at = '?'; /* what a terminal would obey */
}

/* --- one run of the compiler over one unit --- */

/* A translation unit. Its texts are borrowed. */
struct unit {
    const char *name; /* in messages */
    const char *text;
    const char **entries; /* the C++ names of the kernels that it has, to be instantiated; */
    char **symbols;       /* and what they are called in its cubin */
    size_t entry_count;
};

/* How the units of a source are compiled. */
struct program_options {
    struct nvrtc *nvrtc;
    const struct nvrtc_job *job;
    const char *arch; /* with its suffix, "sm_90a" */
    bool relocatable; /* to be linked */
    bool ptx;
    bool quiet; /* no resource usage in the log */
};

/* A unit while it is compiled. */
struct program {
    const struct program_options *options;
    const struct nvrtc *nvrtc;
    struct unit *unit;
    bool reduced; /* leaves out what the launched kernels do not need */
    nvrtcProgram handle;
};

/* The value of the next of our options that begin with the prefix, from `*at` on, which moves behind it; NULL:
 * there is none. */
static const char *next_option(const struct nvrtc_job *job, size_t *at, const char *prefix)
{
    const char *value = NULL;
    while (*at < job->option_count && value == NULL)
        value = compiler_option_value(job->options[(*at)++], prefix);
    return value;
}

static void add_text(struct text_list *list, char *text)
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
static bool hides_by_options(const struct program *program)
{
    const struct nvrtc_job *job = program->options->job;
    for (size_t i = 0; i < job->option_count; i++)
        if (strstr(job->options[i], "-pch=") != NULL)
            return true;
    return strpbrk(program->unit->name, "\"\\\n") != NULL;
}

/* The unit's text, with macros in front that hide kernels, and its name unless the compiler knows it; a new
 * string. */
static char *whole_text(const struct program *program)
{
    const struct unit *unit = program->unit;
    bool by_options = hides_by_options(program);
    char *text = alloc_string("");
    const char *name;
    size_t at = 0;
    while (program->reduced && !by_options &&
           (name = next_option(program->options->job, &at, COMPILER_OPTION_UNLAUNCHED)) != NULL)
        alloc_append(&text, "#define " HIDE_FORMAT(" ") "\n", name, name, name);
    if (text[0] != '\0' || (program->nvrtc->root[0] != '\0' && !by_options))
        alloc_append(&text, "#line 1 \"%s\"\n", unit->name);
    alloc_append(&text, "%s", unit->text);
    return text;
}

/* cooperative_groups.h includes most of CCCL unless its own macro says not to, and then takes a
 * tenth of the time. --minimal leaves out textures and the runtime's functions, for example. */
static void add_reductions(struct text_list *list, const struct program *program)
{
    bool by_options = hides_by_options(program);
    bool hidden = false;
    const char *name;
    for (size_t at = 0;
         (name = next_option(program->options->job, &at, COMPILER_OPTION_UNLAUNCHED)) != NULL;) {
        hidden = true;
        if (by_options)
            add_text(list, alloc_format("-D" HIDE_FORMAT("="), name, name, name));
    }
    if (hidden) /* "was declared but never referenced": what only a hidden kernel uses */
        add_text(list, alloc_string("--diag-suppress=177"));
    add_text(list, alloc_string("-D_CG_LIMIT_INCLUDED_DEPENDENCIES"));
    if (program->nvrtc->major >= 13)
        add_text(list, alloc_string("--minimal"));
}

/* --- compiling --- */

/* NVRTC's options. */
static struct text_list all_options(const struct program *program)
{
    const struct program_options *options = program->options;
    const struct nvrtc *nvrtc = program->nvrtc;
    struct text_list list = {0};
    bool standard_given = false;
    add_text(&list, alloc_format("-arch=%s", options->arch));
    for (size_t i = 0; i < options->job->option_count; i++) {
        const char *option = options->job->options[i];
        if (compiler_option_value(option, COMPILER_OPTION_PREFIX) != NULL)
            continue;
        bool folder = begins_with(option, "-I");
        add_text(&list,
                 folder ? alloc_format("-I%s%s", nvrtc->root, option + 2) : alloc_string(option));
        if (begins_with(option, "-std") || begins_with(option, "--std"))
            standard_given = true;
    }
    if (!standard_given)
        add_text(&list, alloc_string("-std=c++17"));
    if (program->reduced)
        add_reductions(&list, program);
    if (options->relocatable)
        add_text(&list, alloc_string("--relocatable-device-code=true"));
    if (!options->quiet && !options->ptx)
        add_text(&list, alloc_string("--ptxas-options=-v"));
    if (nvrtc->major >= 13) /* a result from the driver's cache has no log */
        add_text(&list, alloc_string("--no-cache"));
    for (size_t i = 0; i < nvrtc->include_options.count; i++)
        add_text(&list, alloc_string(nvrtc->include_options.items[i]));
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

/* Makes the program, with the standard headers that its options name, and with a header for each absolute path in
 * #includes, which includes the copy. */
static int create_program(struct program *program, struct error *error)
{
    const struct nvrtc *nvrtc = program->nvrtc;
    char *text = whole_text(program);
    char *name = alloc_format("%s%s", nvrtc->root, program->unit->name);
    struct text_list absolute = {0};
    const char **names = NULL;
    const char **texts = NULL;
    const char *value;
    size_t count = 0;
    size_t texts_count = 0;
    for (size_t at = 0;
         (value = next_option(program->options->job, &at, COMPILER_OPTION_HEADER)) != NULL;) {
        const struct standard_header *header = standard_header_find(value, strcspn(value, " "));
        if (header == NULL)
            continue;
        *ARRAY_APPEND(names, count) = header->name;
        *ARRAY_APPEND(texts, texts_count) = header->text;
    }
    for (size_t i = 0; i < nvrtc->absolute.count; i++) {
        add_text(&absolute,
                 alloc_format("#include \"%s%s\"\n", nvrtc->root, nvrtc->absolute.items[i]));
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

static int read_result(const struct program *program, struct compilation *compilation,
                       struct error *error)
{
    const struct nvrtc *nvrtc = program->nvrtc;
    bool ptx = program->options->ptx;
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

static int read_symbols(const struct program *program, struct error *error)
{
    struct unit *unit = program->unit;
    for (size_t i = 0; i < unit->entry_count; i++) {
        const char *symbol = NULL;
        nvrtcResult result =
            program->nvrtc->GetLoweredName(program->handle, unit->entries[i], &symbol);
        if (result != NVRTC_SUCCESS || symbol == NULL)
            return failed(program, "nvrtcGetLoweredName", result, "", error);
        free(unit->symbols[i]);
        unit->symbols[i] = alloc_string(symbol);
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

/* The files that a worker has are those that the coordinator has found: says so in the line about another one. */
static void explain_missing(const struct program *program, struct compilation *compilation)
{
    const char *found = strstr(compilation->log, "t open source file \"");
    if (found == NULL || program->nvrtc->root[0] == '\0')
        return;
    size_t end = (size_t)(found - compilation->log) + strcspn(found, "\n");
    char *longer =
        alloc_format("%.*s; if it exists, name it in 'depends': the source does not name it%s",
                     (int)end, compilation->log, compilation->log + end);
    free(compilation->log);
    compilation->log = longer;
}

bool nvrtc_log_lacks_memory(const char *log)
{
    bool stopped = strstr(log, "ptxas fatal   : Ptx assembly aborted due to errors") != NULL;
    return strstr(log, "catastrophic error: out of memory\n") != NULL ||
           strstr(log, "ptxas fatal   : Memory allocation failure") != NULL ||
           (stopped && strstr(log, "error   :") == NULL);
}

static int compile_program(const struct program *program, struct compilation *compilation,
                           struct error *error)
{
    struct text_list list = all_options(program);
    struct held_signals held;
    held_signals_begin(&held);
    if (program->nvrtc->SetFlowCallback != NULL)
        (void)program->nvrtc->SetFlowCallback(program->handle, held_signals_step, &held);
    nvrtcResult result = program->nvrtc->CompileProgram(program->handle, (int)list.count,
                                                        (const char *const *)list.items);
    held_signals_end(&held);
    text_list_release(&list);
    compilation->log = read_log(program);
    if (result == NVRTC_ERROR_OUT_OF_MEMORY || nvrtc_log_lacks_memory(compilation->log))
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
    int status = read_result(program, compilation, error);
    return status != 0 ? status : read_symbols(program, error);
}

static int run_program(const struct program_options *options, struct unit *unit, bool reduced,
                       struct compilation *compilation, struct error *error)
{
    struct program program = {
        .options = options, .nvrtc = options->nvrtc, .unit = unit, .reduced = reduced};
    *compilation = (struct compilation){0};
    int status = create_program(&program, error);
    if (status == 0)
        status = compile_program(&program, compilation, error);
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

/*
 * Compiles without the kernels that the options say are not launched, and without the parts of
 * CUDA C++ that --minimal leaves out; if the front end refuses that, compiles the whole unit.
 * Returns 0 with a log, and if the unit compiled, with the cubin or PTX and with the unit's symbols. Returns
 * ERROR_WORKER if NVRTC itself fails.
 */
static int program_run(const struct program_options *options, struct unit *unit,
                       struct compilation *compilation, struct error *error)
{
    struct nvrtc *nvrtc = options->nvrtc;
    bool reduced = nvrtc->whole == NULL || strcmp(nvrtc->whole, unit->name) != 0;
    int status = run_program(options, unit, reduced, compilation, error);
    if (status != 0 || !reduced || !may_be_reductions(compilation))
        return status;
    compilation_release(compilation);
    status = run_program(options, unit, false, compilation, error);
    if (status == 0 && compilation->cubin != NULL) {
        free(nvrtc->whole);
        nvrtc->whole = alloc_string(unit->name);
    }
    return status;
}

/* --- the compiler --- */

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
        alloc_append(&known, "%ssm_%d", i > 0 ? ", " : "", nvrtc->architectures[i]);
    }
    int status = error_set(error, ERROR_USAGE, "NVRTC %s does not support '%s'; it supports %s",
                           nvrtc->version, arch, known);
    free(known);
    return status;
}

/* --- features of one architecture --- */

enum { FIRST_WITH_FEATURES = 90 };

/* `arch` with the suffix that an option asks for, unless it has one: "sm_90a". Free it. */
static char *full_arch(const struct nvrtc_job *job)
{
    size_t at = 0;
    bool wanted = next_option(job, &at, COMPILER_OPTION_ARCHITECTURE_FEATURES) != NULL;
    bool has_suffix =
        job->arch[0] != '\0' && strchr("af", job->arch[strlen(job->arch) - 1]) != NULL;
    return alloc_format("%s%s", job->arch, wanted && !has_suffix ? "a" : "");
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
        struct unit *unit = &units->items[i];
        for (size_t j = 0; j < unit->entry_count; j++)
            free(unit->symbols[j]);
        free(unit->entries);
        free(unit->symbols);
        free(units->texts[i]);
    }
    free(units->items);
    free(units->texts);
}

static void add_unit(struct units *units, const char *name, const char *text, char *owned)
{
    size_t count = units->count;
    *ARRAY_APPEND(units->texts, count) = owned;
    *ARRAY_APPEND(units->items, units->count) = (struct unit){.name = name, .text = text};
}

/* Gives an entry to the first unit that declares it itself, or to the first unit of all. */
static void add_entry(const struct units *units, const char *entry)
{
    size_t found = 0;
    while (found < units->count && !source_signature_declares(units->items[found].text, entry))
        found++;
    struct unit *unit = &units->items[found < units->count ? found : 0];
    size_t count = unit->entry_count;
    *ARRAY_APPEND(unit->symbols, count) = NULL;
    *ARRAY_APPEND(unit->entries, unit->entry_count) = entry;
}

/* The source itself and the units and entries that the options name. */
static int collect_units(struct units *units, const char *root, const struct nvrtc_job *job,
                         struct error *error)
{
    int status = 0;
    const char *value;
    *units = (struct units){0};
    add_unit(units, job->name, job->text, NULL);
    for (size_t at = 0;
         status == 0 && (value = next_option(job, &at, COMPILER_OPTION_UNIT)) != NULL;) {
        char *owned = NULL;
        char *file = alloc_format("%s%s", root, value);
        status = read_file(file, &owned, NULL, error);
        free(file);
        add_unit(units, value, owned, owned);
    }
    for (size_t at = 0;
         status == 0 && (value = next_option(job, &at, COMPILER_OPTION_ENTRY)) != NULL;)
        add_entry(units, value);
    return status;
}

/* --- compiling --- */

static bool explains_refusal(const char *log)
{
    return strstr(log, "error") != NULL || strstr(log, "fatal") != NULL;
}

/* Adds a kernel of the log to `compilation`, as `entry`; NULL: as it is called there. */
static void add_kernel(struct compilation *compilation, const struct compiled_kernel *from,
                       const char *entry)
{
    struct compiled_kernel *kernel = ARRAY_APPEND(compilation->kernels, compilation->kernel_count);
    *kernel = *from;
    kernel->entry = alloc_string(entry != NULL ? entry : from->entry);
    kernel->symbol = strcmp(kernel->entry, from->entry) != 0 ? alloc_string(from->entry) : NULL;
    kernel->max_threads_per_block =
        cubin_elf_max_threads(compilation->cubin, compilation->cubin_bytes, from->entry);
}

/* Takes the kernels of the log, under the template's names if it has any for them. */
static void take_kernels(struct compilation *compilation, const struct units *units)
{
    struct compilation parsed = {0};
    nvrtc_parse_log(compilation->log, &parsed.kernels, &parsed.kernel_count);
    for (size_t i = 0; i < parsed.kernel_count; i++) {
        const struct compiled_kernel *kernel = &parsed.kernels[i];
        size_t before = compilation->kernel_count;
        for (const struct unit *unit = units->items; unit < units->items + units->count; unit++)
            for (size_t j = 0; j < unit->entry_count; j++)
                if (unit->symbols[j] != NULL && strcmp(unit->symbols[j], kernel->entry) == 0)
                    add_kernel(compilation, kernel, unit->entries[j]);
        if (compilation->kernel_count == before)
            add_kernel(compilation, kernel, NULL);
    }
    compilation_release(&parsed);
}

/* Takes out what the linker counts in a block that has any shared memory. */
static void deduct_reserved(struct compilation *compilation, const char *arch)
{
    enum { RESERVED_BYTES = 1024 };
    for (size_t i = 0; i < compilation->kernel_count && strncmp(arch, "sm_90", 5) == 0; i++)
        if (compilation->kernels[i].shared_bytes >= RESERVED_BYTES)
            compilation->kernels[i].shared_bytes -= RESERVED_BYTES;
}

/* Compiles a unit; if that fails without a message, once more. */
static int compile_unit(struct program_options *options, struct unit *unit,
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

/* Compiles each unit and links them. What links is the last word on a kernel's resource usage. */
static int compile_and_link(struct program_options *options, const struct units *units,
                            struct compilation *compilation, struct error *error)
{
    struct nvrtc *nvrtc = options->nvrtc;
    struct linker_input *inputs = alloc_zeroed(units->count, sizeof *inputs);
    struct compilation *parts = alloc_zeroed(units->count, sizeof *parts);
    bool compiled = true;
    int status = 0;
    for (size_t i = 0; i < units->count && status == 0 && compiled; i++) {
        status = compile_unit(options, &units->items[i], &parts[i], error);
        compiled = status == 0 && parts[i].cubin != NULL;
        alloc_append(&compilation->log, "%s", parts[i].log != NULL ? parts[i].log : "");
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

/* Compiles each unit to PTX, a text in place of the cubin; a comment says whose it is if there are several. */
static int compile_ptx(const struct program_options *options, const struct units *units,
                       struct compilation *compilation, struct error *error)
{
    char *ptx = NULL;
    int status = 0;
    bool compiled = true;
    for (size_t i = 0; i < units->count && compiled; i++) {
        struct compilation part;
        status = program_run(options, &units->items[i], &part, error);
        compiled = status == 0 && part.cubin != NULL;
        if (compiled && units->count > 1)
            alloc_append(&ptx, "// %s\n", units->items[i].name);
        if (compiled)
            alloc_append(&ptx, "%s", (const char *)part.cubin);
        alloc_append(&compilation->log, "%s", part.log != NULL ? part.log : "");
        compilation_release(&part);
    }
    if (!compiled) {
        free(ptx);
        return status;
    }
    compilation->cubin = ptx; /* a source has a unit */
    compilation->cubin_bytes = ptx != NULL ? strlen(ptx) : 0;
    return 0;
}

static int compile_cubin(struct program_options *options, const struct units *units,
                         struct compilation *compilation, struct error *error)
{
    int status = units->count > 1 ? compile_and_link(options, units, compilation, error)
                                  : compile_unit(options, &units->items[0], compilation, error);
    if (status == 0 && compilation->cubin != NULL)
        take_kernels(compilation, units);
    if (status == 0 && units->count > 1 && linker_counts_reserved(options->nvrtc->linker))
        deduct_reserved(compilation, options->arch);
    if (status == 0)
        nvrtc_strip_log(compilation->log);
    return status;
}

/* Two threads of an application would each take the other's signals and handlers for those from before (struct
 * held_signals). */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

int nvrtc_compile(struct nvrtc *nvrtc, const struct nvrtc_job *job, struct compilation *compilation,
                  struct error *error)
{
    struct units units;
    *compilation = (struct compilation){0};
    if (!knows_architecture(nvrtc, job->arch))
        return unknown_architecture(nvrtc, job->arch, error);
    char *arch = full_arch(job);
    compilation->log = refuse_features(arch);
    int status = collect_units(&units, nvrtc->root, job, error);
    size_t at = 0;
    struct program_options options = {.nvrtc = nvrtc,
                                      .job = job,
                                      .arch = arch,
                                      .relocatable = units.count > 1,
                                      .ptx = next_option(job, &at, COMPILER_OPTION_PTX) != NULL};
    if (status == 0 && compilation->log == NULL) {
        (void)pthread_mutex_lock(&one_at_a_time);
        status = options.ptx ? compile_ptx(&options, &units, compilation, error)
                             : compile_cubin(&options, &units, compilation, error);
        (void)pthread_mutex_unlock(&one_at_a_time);
    }
    units_release(&units);
    free(arch);
    return status;
}

bool nvrtc_reserve_precompiled(struct nvrtc *nvrtc, size_t bytes)
{
    return nvrtc->SetPCHHeapSize != NULL && nvrtc->SetPCHHeapSize(bytes) == NVRTC_SUCCESS;
}
