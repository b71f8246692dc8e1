#include "compile/launch_check.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "compile/launch_arguments.h"
#include "compile/launch_limits.h"
#include "template/problem_check.h"
#include "template/variant.h"

#include <stdlib.h>
#include <string.h>

/* --- entries that are not there --- */

/* The line of the first launch or helper of `entry`. */
static int entry_line(const struct template *template, const char *entry)
{
    for (size_t i = 0; i < template->launch_count; i++)
        if (strcmp(template->launches[i].entry, entry) == 0)
            return template->launches[i].lines.entry;
    struct helper helper;
    for (size_t i = 0; template_helper(template, i, &helper); i++)
        if (strcmp(helper.launch->entry, entry) == 0)
            return helper.launch->lines.entry;
    return 0;
}

/* `text` behind `prefix`; NULL if it does not begin so, or is NULL itself. */
static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text != NULL && strncmp(text, prefix, length) == 0 ? text + length : NULL;
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
    return 0;
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

static int check_types(const struct launch_check *check, const struct launch_plan *launch_plan,
                       struct error *reason)
{
    int status = 0;
    for (size_t i = 0; i < launch_plan->step_count && status == 0 && check->scope != NULL; i++) {
        const struct step *step = &launch_plan->steps[i];
        status = argument_types_check_launch(check->template, step->launch,
                                             compilation_symbol(check->compilation, step->entry),
                                             check->scope, reason);
    }
    return status;
}

enum outcome launch_check_variant(struct launch_check *check, const struct launch_plan *launch_plan,
                                  struct error *reason)
{
    const struct compilation *compilation = check->compilation;
    const struct kernel_lookup lookup = launch_check_lookup(check);
    if (compilation->cubin != NULL &&
        launch_arguments_check(launch_plan, check->template, compilation, reason) != 0)
        return OUTCOME_INVALID;
    if (check_types(check, launch_plan, reason) != 0)
        return OUTCOME_INVALID;
    if (launch_limits_check(launch_plan, check->template, check->gpu, &lookup, reason) != 0)
        return OUTCOME_LAUNCH_ERROR;
    return OUTCOME_COMPILED;
}

static int check_helper(struct launch_check *check, const struct launch *helper,
                        const struct scope *scope, struct error *error)
{
    const struct compiled_kernel *kernel;
    struct launch_plan launch_plan;
    int status = find_kernel(check, helper->entry, &kernel, error);
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
        status = check_helper(check, helper.launch, &scope, error);
    bindings_release(&defaults);
    return status;
}
