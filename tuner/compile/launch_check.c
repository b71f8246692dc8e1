#include "compile/launch_check.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "compile/cubin_elf.h"
#include "template/compiler_option.h"
#include "template/host_code.h"
#include "template/problem_check.h"
#include "template/source_signature.h"
#include "template/variant.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- arguments --- */

/* A launch, and what its kernel takes. */
struct comparison {
    const struct template *template;
    const struct step *step;
    struct cubin_parameters parameters;
};

static int fail(const struct comparison *comparison, const char *has, const char *given,
                struct error *error)
{
    return error_set_at(
        error, ERROR_CONFIG, comparison->template->path, comparison->step->launch->lines.arguments,
        "kernel '%s' has %s; 'arguments' gives %s", comparison->step->entry, has, given);
}

/* "float *in, uint64 n" as the template has it, or sizes; a new string. */
static char *given_text(const struct step *step)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < step->argument_count; i++) {
        char *argument = argument_text(&step->launch->arguments[i]);
        alloc_append(&text, "%s%s", i > 0 ? ", " : "", argument);
        free(argument);
    }
    return text;
}

static char *sizes_text(const struct cubin_parameters *parameters)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < parameters->count && i < CUBIN_PARAMETERS; i++) {
        alloc_append(&text, "%s%u", i > 0 ? ", " : "of ", parameters->bytes[i]);
    }
    char *sentence = alloc_format("%s bytes", text);
    free(text);
    return sentence;
}

static bool source_tells(const struct comparison *comparison)
{
    return comparison->step->launch->signature.count == comparison->parameters.count;
}

static int refuse_number(const struct comparison *comparison, struct error *error)
{
    size_t count = comparison->parameters.count;
    size_t given_count = comparison->step->argument_count;
    char *parameters = source_tells(comparison)
                           ? source_signature_text(&comparison->step->launch->signature)
                           : sizes_text(&comparison->parameters);
    char *arguments = given_text(comparison->step);
    char *has = alloc_format("%zu parameter%s%s%s", count, count == 1 ? "" : "s",
                             count == 0 ? "" : ": ", count == 0 ? "" : parameters);
    char *given = alloc_format("%zu%s%s", given_count, given_count == 0 ? "" : ": ", arguments);
    int status = fail(comparison, has, given, error);
    free(parameters);
    free(arguments);
    free(has);
    free(given);
    return status;
}

static int refuse_size(const struct comparison *comparison, size_t index, struct error *error)
{
    const struct step_argument *given = &comparison->step->arguments[index];
    char *argument = argument_text(&comparison->step->launch->arguments[index]);
    bool tells = source_tells(comparison);
    char *has =
        alloc_format("parameter %zu%s%s%s of %u bytes", index + 1, tells ? ", '" : "",
                     tells ? comparison->step->launch->signature.parameters[index].text : "",
                     tells ? "'," : "", comparison->parameters.bytes[index]);
    char *gives = alloc_format("'%s', of %zu bytes", argument, given->size);
    free(argument);
    int status = fail(comparison, has, gives, error);
    free(has);
    free(gives);
    return status;
}

static int compare(const struct comparison *comparison, struct error *error)
{
    const struct step *step = comparison->step;
    bool same_number = comparison->parameters.count == step->argument_count;
    size_t wrong = 0;
    while (same_number && wrong < step->argument_count && wrong < CUBIN_PARAMETERS &&
           comparison->parameters.bytes[wrong] == step->arguments[wrong].size)
        wrong++;
    if (same_number && (wrong == step->argument_count || wrong == CUBIN_PARAMETERS))
        return 0;
    return same_number ? refuse_size(comparison, wrong, error) : refuse_number(comparison, error);
}

int launch_arguments_check(const struct launch_plan *launch_plan, const struct template *template,
                           const struct compilation *compilation, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        struct comparison comparison = {.template = template, .step = &launch_plan->steps[i]};
        const char *symbol = compilation_symbol(compilation, comparison.step->entry);
        if (cubin_elf_parameters(compilation->cubin, compilation->cubin_bytes, symbol,
                                 &comparison.parameters))
            status = compare(&comparison, error);
    }
    return status;
}

/* --- limits --- */

/* The same for every compute capability from 5.0 on: CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability". */
static const uint32_t most_in_block[3] = {1024, 1024, 64};
static const uint32_t most_in_grid[3] = {INT32_MAX, 65535, 65535};
enum { REGISTER_UNIT = 8 }; /* a thread has a multiple of so many */

static int __attribute__((format(printf, 6, 7)))
refuse(const struct launch_check *check, const struct step *step, const char *key, int line,
       struct error *error, const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return error_set_at(error, ERROR_CONFIG, check->template->path, line, "%s of launch '%s' %s",
                        key, step->launch->name, reason);
}

static int check_extents(const struct launch_check *check, const struct step *step, bool grid,
                         struct error *error)
{
    static const char *const names[3] = {"x", "y", "z"};
    const uint32_t *extents = grid ? step->grid : step->block;
    const uint32_t *most = grid ? most_in_grid : most_in_block;
    for (size_t i = 0; i < 3; i++)
        if (extents[i] > most[i])
            return refuse(check, step, grid ? "grid" : "block",
                          grid ? step->launch->lines.grid : step->launch->lines.block, error,
                          "is %u in %s; the most is %u", extents[i], names[i], most[i]);
    return 0;
}

/* Threads per block of the GPU and of the launch bounds, extents, registers and shared memory per block. Returns 0
 * or ERROR_CONFIG. */
static int check_limits(const struct launch_check *check, const struct step *step,
                        const struct compiled_kernel *kernel, struct error *error)
{
    const int64_t *attributes = check->gpu->attributes;
    int line = step->launch->lines.block;
    int64_t threads = step_threads(step);
    int64_t most = attributes[GPU_max_threads_per_block];
    int64_t warp = attributes[GPU_warp_size];
    int bound = kernel->max_threads_per_block;
    if (threads > most)
        return refuse(check, step, "block", line, error,
                      "has %" PRId64 " threads; the most is %" PRId64, threads, most);
    if (bound > 0 && threads > bound)
        return refuse(check, step, "block", line, error,
                      "has %" PRId64 " threads; the launch bounds of kernel '%s' allow %d", threads,
                      step->entry, bound);
    int status = check_extents(check, step, false, error);
    if (status == 0)
        status = check_extents(check, step, true, error);
    if (status != 0)
        return status;
    most = attributes[GPU_registers_per_block];
    int64_t registers =
        ((int64_t)kernel->registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int64_t needed = warp > 0 ? (threads + warp - 1) / warp * warp * registers : 0;
    if (needed > most && most != 0)
        return refuse(check, step, "block", line, error,
                      "has %" PRId64
                      " threads with %d registers each in kernel '%s', together %" PRId64
                      "; a block has at most %" PRId64 "; __launch_bounds__ limits them",
                      threads, kernel->registers, step->entry, needed, most);
    most = attributes[GPU_max_shared_bytes_per_block_optin];
    if (kernel->shared_bytes + step->dynamic_shared_bytes > most)
        return refuse(check, step, "shared_bytes", step->launch->lines.shared_bytes, error,
                      "is %" PRId64
                      ", and kernel '%s' has %ld bytes of its own; a block has at most "
                      "%" PRId64,
                      (int64_t)step->dynamic_shared_bytes, step->entry, kernel->shared_bytes, most);
    return 0;
}

/* --- entries that are not there --- */

/* The line of the first launch or helper of `entry`. */
static int entry_line(const struct template *template, const char *entry)
{
    const struct launch *launch;
    for (size_t i = 0; (launch = template_any_launch(template, i)) != NULL; i++)
        if (strcmp(launch->entry, entry) == 0)
            return launch->lines.entry;
    return 0;
}

/* `text` behind `prefix`; NULL if it does not begin so, or is NULL itself. */
static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text != NULL && strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* --- code of the host --- */

/* The next line of the log that begins at `*at` with "PATH(LINE): … error: TEXT": the path, a new string, which has the
 * text behind it; NULL: there is none. */
static char *next_error(const char **at, int *line, char **text)
{
    static const char mark[] = "error: ";
    const char *start = *at != NULL ? strstr(*at, mark) : NULL;
    if (start == NULL)
        return NULL;
    while (start > *at && start[-1] != '\n')
        start--;
    char *path = alloc_string_n(start, strcspn(start, "\n"));
    *at = start + strlen(path);
    *text = strstr(path, mark) + strlen(mark);
    char *open = strchr(path, '(');
    *line = open != NULL && open < *text ? (int)strtol(open + 1, NULL, 10) : 0;
    *(open != NULL && open < *text ? open : *text - 1) = '\0';
    return path;
}

/* The source's file that the log calls `path`: it may be another folder's, if the log is from the cache. NULL: it is not
 * the source's. */
static const char *own_path(const struct source *source, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < source->followed_count && slash != NULL; i++)
        if (strcmp(strrchr(source->files[i].path, '/'), slash) == 0)
            return source->files[i].path;
    return NULL;
}

/* Whether the line is about what NVRTC does not compile because it is not for the GPU. */
static bool refuses_host_code(const char *text)
{
    static const char opening[] = "cannot open source file \"";
    const char *header = skip(text, opening);
    char *name = header != NULL ? alloc_string_n(header, strcspn(header, "\"")) : NULL;
    bool refuses = (name != NULL && !toolkit_header_is(name)) ||
                   strstr(text, "is considered a host ") != NULL ||
                   strstr(text, "explicitly marked as a __host__ function") != NULL;
    free(name);
    return refuses;
}

static int propose_ignoring(const struct source *source, const char *log, struct error *error)
{
    int status = 0;
    int line = 0;
    char *text = NULL;
    for (char *path; status == 0 && (path = next_error(&log, &line, &text)) != NULL; free(path)) {
        if (own_path(source, path) == NULL || !refuses_host_code(text))
            continue;
        bool opens = skip(text, "cannot open") != NULL;
        status =
            error_set_at(error, ERROR_CONFIG, own_path(source, path), line,
                         "%s; 'host_code = ignore' in [kernel] leaves out all code of the "
                         "host, or guard it with #ifndef __CUDACC_RTC__",
                         opens ? text : "this is code of the host, which NVRTC does not compile");
    }
    return status;
}

/* If the first error is about a name, it may be one that was left out, or one of a header that was. */
static int name_left_out(const struct source *source, const char *log, struct error *error)
{
    int line = 0;
    char *text = NULL;
    char *path = next_error(&log, &line, &text);
    if (path == NULL)
        return 0;
    const char *own = own_path(source, path);
    char *headers = alloc_string("");
    bool is_name = strstr(text, " is undefined") != NULL || strstr(text, "no member") != NULL ||
                   strstr(text, "must be a class or namespace") != NULL ||
                   strstr(text, "is not a template") != NULL;
    int status = 0;
    for (size_t i = 0; i < source->left_out_count && is_name && status == 0; i++) {
        const struct host_code_left_out *left = &source->left_out[i];
        bool is_header = strchr("<\"", left->name[0]) != NULL;
        char *quoted = alloc_format("\"%s\"", left->name);
        if (is_header && strstr(headers, left->name) == NULL)
            alloc_append(&headers, " %s", left->name);
        else if (!is_header && strstr(text, quoted) != NULL)
            status = error_set_at(error, ERROR_CONFIG, own != NULL ? own : path, line,
                                  "%s; 'host_code = ignore' leaves out its declaration in '%s' on "
                                  "line %d, which is not annotated with __device__",
                                  text, source->files[left->file].path, left->line);
        free(quoted);
    }
    if (status == 0 && headers[0] != '\0')
        status = error_set_at(error, ERROR_CONFIG, own != NULL ? own : path, line,
                              "%s; 'host_code = ignore' leaves out these headers, which NVRTC "
                              "cannot read:%s",
                              text, headers);
    free(path);
    free(headers);
    return status;
}

int launch_check_refusal(const struct template *template, const char *log, struct error *error)
{
    for (size_t i = 0; i < template->name_expression_count; i++) {
        const char *entry = template->name_expressions[i];
        const char *reason = skip(skip(skip(log, COMPILATION_ENTRY_REFUSED), entry), "': ");
        if (reason != NULL)
            return error_set_at(error, ERROR_CONFIG, template->path, entry_line(template, entry),
                                "entry '%s': %.*s", entry, (int)strcspn(reason, "\n"), reason);
    }
    return template->source.root_count > 0 ? name_left_out(&template->source, log, error)
                                           : propose_ignoring(&template->source, log, error);
}

/* Whether `mangled` is a C++ name of `entry`, as in _Z5scalePf. */
static bool is_mangled(const char *mangled, const char *entry)
{
    char *counted = alloc_format("%zu%s", strlen(entry), entry);
    bool is = strncmp(mangled, "_Z", 2) == 0 && strstr(mangled, counted) != NULL;
    free(counted);
    return is;
}

static int refuse_entry(struct launch_check *check, const char *entry, struct error *error)
{
    const struct compilation *compilation = check->compilation;
    const char **names = alloc_zeroed(compilation->kernel_count + 1, sizeof *names);
    size_t count = 0;
    bool mangled = false;
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        const char *name = compilation->kernels[i].entry;
        mangled = mangled || is_mangled(name, entry);
        if (strncmp(name, "_Z", 2) != 0)
            names[count++] = name;
    }
    int line = entry_line(check->template, entry);
    int status;
    check->missing = true;
    if (mangled)
        status = error_set_at(error, ERROR_CONFIG, check->template->path, line,
                              "kernel '%s' is not extern \"C\", so that it has another name; write "
                              "extern \"C\" __global__ void %s(...), or ::%s here",
                              entry, entry, entry);
    else if (count == 0)
        status = error_set_at(error, ERROR_CONFIG, check->template->path, line,
                              "the source has no kernel '%s', and no other; is it extern \"C\" "
                              "__global__?",
                              entry);
    else
        status = suggestion_unknown(check->template->path, line, "entry", entry, names, error);
    free(names);
    return status;
}

/* --- looking kernels up --- */

static int find_kernel(struct launch_check *check, const char *entry,
                       const struct compiled_kernel **kernel, struct error *error)
{
    *kernel = compilation_kernel(check->compilation, entry);
    return *kernel != NULL ? 0 : refuse_entry(check, entry, error);
}

static int lookup_info(void *user, const char *entry, struct kernel_info *info, struct error *error)
{
    const struct compiled_kernel *kernel;
    int status = find_kernel(user, entry, &kernel, error);
    if (status == 0)
        *info = (struct kernel_info){
            .registers = kernel->registers,
            .spill_bytes = kernel->spill_store_bytes + kernel->spill_load_bytes,
            .stack_bytes = kernel->stack_bytes,
            .static_shared_bytes = kernel->shared_bytes,
            .max_threads_per_block = kernel->max_threads_per_block,
        };
    return status;
}

int launch_check_occupancy(const struct gpu *gpu, const struct compiled_kernel *kernel,
                           int block_threads, int64_t dynamic_shared_bytes,
                           struct occupancy *occupancy, struct error *error)
{
    struct occupancy_input input = {
        .block_threads = block_threads,
        .registers = kernel->registers,
        .static_shared_bytes = kernel->shared_bytes,
        .dynamic_shared_bytes = dynamic_shared_bytes,
        .max_threads_per_block = kernel->max_threads_per_block,
        .barriers = kernel->barriers,
    };
    *occupancy = (struct occupancy){0};
    return block_threads > 0 ? occupancy_compute(gpu, &input, occupancy, error) : 0;
}

static int lookup_blocks_per_sm(void *user, const char *entry, int block_threads,
                                int64_t dynamic_shared_bytes, int *blocks, struct error *error)
{
    const struct compiled_kernel *kernel;
    struct launch_check *check = user;
    struct occupancy occupancy;
    int status = find_kernel(check, entry, &kernel, error);
    if (status == 0)
        status = launch_check_occupancy(check->gpu, kernel, block_threads, dynamic_shared_bytes,
                                        &occupancy, error);
    if (status == 0)
        *blocks = occupancy.blocks_per_sm;
    return status;
}

struct kernel_lookup launch_check_lookup(struct launch_check *check)
{
    return (struct kernel_lookup){check, lookup_info, lookup_blocks_per_sm, NULL};
}

/* --- checking --- */

enum outcome launch_check_variant(struct launch_check *check, const struct launch_plan *launch_plan,
                                  struct error *reason)
{
    const struct compilation *compilation = check->compilation;
    if (compilation->cubin != NULL &&
        launch_arguments_check(launch_plan, check->template, compilation, reason) != 0)
        return OUTCOME_INVALID;
    for (size_t i = 0; i < launch_plan->step_count && check->scope != NULL; i++) {
        const struct step *step = &launch_plan->steps[i];
        if (argument_types_check_launch(check->template, step->launch,
                                        compilation_symbol(compilation, step->entry), check->scope,
                                        reason) != 0)
            return OUTCOME_INVALID;
    }
    for (size_t i = 0; i < launch_plan->step_count; i++) {
        const struct compiled_kernel *kernel;
        if (find_kernel(check, launch_plan->steps[i].entry, &kernel, reason) != 0 ||
            check_limits(check, &launch_plan->steps[i], kernel, reason) != 0)
            return OUTCOME_LAUNCH_ERROR;
    }
    return OUTCOME_COMPILED;
}

static int check_helper(struct launch_check *check, struct helper helper, const struct scope *scope,
                        struct error *error)
{
    const struct compiled_kernel *kernel;
    struct launch_plan launch_plan;
    int status = 0;
    for (size_t i = 0; i < helper.count && status == 0; i++)
        status = find_kernel(check, helper.launches[i].entry, &kernel, error);
    if (status == 0)
        status = launch_plan_helper(&launch_plan, check->template, helper, scope, error);
    if (status != 0)
        return status;
    check->scope = scope;
    if (launch_check_variant(check, &launch_plan, error) != OUTCOME_COMPILED)
        status = ERROR_CONFIG;
    launch_plan_release(&launch_plan);
    return status;
}

int launch_check_helpers(struct launch_check *check, const struct bindings *fixed,
                         struct error *error)
{
    struct bindings defaults = {0};
    const struct scope outer = {fixed, NULL};
    const struct scope scope = {&defaults, &outer};
    struct helper helper;
    int status = 0;
    variant_defaults(check->template, &defaults);
    for (size_t i = 0; status == 0 && template_helper(check->template, i, &helper); i++)
        status = check_helper(check, helper, &scope, error);
    bindings_release(&defaults);
    return status;
}
