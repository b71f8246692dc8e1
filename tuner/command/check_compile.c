#include "command/check_compile.h"

#include "base/alloc.h"
#include "compile/launch_check.h"
#include "compile/single_compile.h"
#include "record/study.h"
#include "template/helpers.h"
#include "template/problem_check.h"
#include "template/space.h"
#include "template/variant.h"
#include "tune/gpu_list.h"
#include "tune/kernel_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
    const struct gpu *gpu;
    struct single_compile compiler;
    struct error *error;
    char **messages; /* those that were printed */
    size_t message_count;
    bool failed;
};

/* One kernel with one problem. */
struct subject {
    const struct sweep_kernel *kernel;
    const struct bindings *problem;
    struct bindings parameters; /* of the default variant */
    struct bindings fixed;      /* problem values and device attributes */
};

int check_compile_gpu(const char *arch, struct gpu *gpu, struct error *error)
{
    struct gpu *gpus = NULL;
    size_t count = 0;
    bool found = arch == NULL && gpu_list(&gpus, &count, NULL) == 0 && count > 0;
    if (found)
        *gpu = gpus[0];
    free(gpus);
    return found ? 0 : gpu_from_arch(arch != NULL ? arch : "sm_90", gpu, error);
}

/* True if `text` was not printed before. */
static bool is_new(struct checking *checking, const char *text)
{
    for (size_t i = 0; i < checking->message_count; i++)
        if (strcmp(checking->messages[i], text) == 0)
            return false;
    *ARRAY_APPEND(checking->messages, checking->message_count) = alloc_string(text);
    return true;
}

static void report(struct checking *checking, const struct error *fault)
{
    checking->failed = true;
    if (is_new(checking, fault->message))
        error_print(fault, stderr);
}

/* The default of each parameter, or the first of the sweep's values if that is not among them. */
static void bind_defaults(const struct sweep_kernel *kernel, struct bindings *parameters)
{
    const struct template *template = &kernel->template;
    for (size_t i = 0; i < template->parameter_count; i++) {
        const struct value_list *list = &kernel->values[i];
        struct value value = list->values[0];
        for (size_t j = 0; j < list->count; j++)
            if (value_equal(list->values[j], template->parameters[i].fallback))
                value = list->values[j];
        bindings_set(parameters, template->parameters[i].name, value);
    }
}

/* Whether the constraints on parameters allow the variant; those that fail count as allowing it. */
static bool is_allowed(const struct subject *subject)
{
    const struct sweep_kernel *kernel = subject->kernel;
    const struct scope fixed = {&subject->fixed, NULL};
    const struct scope scope = {&subject->parameters, &fixed};
    bool allowed = true;
    for (size_t i = 0; i < kernel->constraint_count && allowed; i++)
        if (!constraint_needs_stats(kernel->constraints[i]) &&
            expression_boolean(kernel->constraints[i], &scope, &allowed, NULL) != 0)
            allowed = true;
    return allowed;
}

/* The defaults, or the first variant of the space if constraints or tuples rule them out. */
static void bind_variant(struct subject *subject)
{
    const struct sweep_kernel *kernel = subject->kernel;
    bind_defaults(kernel, &subject->parameters);
    if (is_allowed(subject))
        return;
    struct bindings first = {0};
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &subject->fixed);
    if (space_next(space, &first, NULL) == 1)
        bindings_copy(&subject->parameters, &first);
    bindings_release(&first);
    space_free(space);
}

/* Shows the compiler's whole message, warnings too. Returns 0; 1 if the source was refused; or an
 * error. */
static int compile(struct checking *checking, const struct subject *subject,
                   const struct bindings *parameters, bool helpers, struct compilation *compilation)
{
    const struct build build = {&subject->kernel->template, parameters, subject->problem,
                                checking->gpu->arch, helpers};
    struct error fault;
    bool compiled = false;
    int status = single_compile_cubin(&checking->compiler, &build, compilation, &compiled, &fault);
    if (status == ERROR_CONFIG &&
        launch_check_refusal(build.template, compilation->log, NULL) != 0) {
        report(checking, &fault);
        return 1;
    }
    if (compilation->log != NULL && compilation->log[0] != '\0' &&
        is_new(checking, compilation->log))
        fprintf(stderr, "%s\n", compilation->log);
    if (status == ERROR_CONFIG) {
        char *text = bindings_text(parameters);
        (void)error_set_at(&fault, ERROR_CONFIG, subject->kernel->template.source.path, 0,
                           "the source does not compile for %s with %s", checking->gpu->arch,
                           text[0] != '\0' ? text : "its defaults");
        free(text);
        report(checking, &fault);
        return 1;
    }
    if (status != 0 && checking->error != NULL)
        *checking->error = fault;
    return status;
}

static void print_variant(const struct subject *subject, const struct result *result)
{
    char *problem = bindings_text(subject->problem);
    char *parameters = bindings_text(&subject->parameters);
    printf("  %s%s%s%s%d registers, %lld bytes spilled, occupancy %.0f %%\n", problem,
           problem[0] != '\0' ? ": " : "", parameters, parameters[0] != '\0' ? ": " : "",
           result->stats.registers, (long long)result->stats.spill_bytes,
           100 * result->stats.occupancy);
    free(problem);
    free(parameters);
}

/* Returns 0, 1 if something is wrong, or an error. */
static int check_variant(struct checking *checking, const struct subject *subject)
{
    struct compilation compilation = {0};
    struct result result = {0};
    struct error fault = {0};
    enum outcome outcome = OUTCOME_COMPILED;
    int status = compile(checking, subject, &subject->parameters, false, &compilation);
    if (status == 0) {
        const struct kernel_stats_source source = {.template = &subject->kernel->template,
                                                   .gpu = checking->gpu,
                                                   .fixed = &subject->fixed,
                                                   .parameters = &subject->parameters,
                                                   .compilation = &compilation};
        kernel_stats_fill(&source, &result, &outcome, &fault);
        status = outcome != OUTCOME_COMPILED;
    }
    if (outcome != OUTCOME_COMPILED)
        report(checking, &fault);
    else if (status == 0)
        print_variant(subject, &result);
    result_release(&result);
    compilation_release(&compilation);
    return status;
}

/* Helpers are compiled with the parameters' defaults. */
static int check_helpers(struct checking *checking, const struct subject *subject)
{
    const struct template *template = &subject->kernel->template;
    struct bindings defaults = {0};
    struct compilation compilation = {0};
    struct error fault;
    if (!template_has_helpers(template))
        return 0;
    variant_defaults(template, &defaults);
    int status = compile(checking, subject, &defaults, true, &compilation);
    struct launch_check check = {
        .template = template, .gpu = checking->gpu, .compilation = &compilation};
    if (status == 0 && launch_check_helpers(&check, &subject->fixed, &fault) != 0) {
        report(checking, &fault);
        status = 1;
    }
    compilation_release(&compilation);
    bindings_release(&defaults);
    return status;
}

static int check_problem(struct checking *checking, const struct sweep_kernel *kernel,
                         const struct bindings *problem)
{
    struct subject subject = {.kernel = kernel, .problem = problem};
    struct error fault;
    bindings_append(&subject.fixed, problem);
    gpu_bindings(checking->gpu, &subject.fixed);
    bind_variant(&subject);
    int status = check_helpers(checking, &subject);
    if (status >= 0 && problem_check(&kernel->template, &subject.fixed, &fault) != 0)
        report(checking, &fault);
    else if (status >= 0)
        status = check_variant(checking, &subject);
    bindings_release(&subject.parameters);
    bindings_release(&subject.fixed);
    return status < 0 ? status : 0;
}

int check_compile(const struct sweep *sweep, const struct gpu *gpu, struct error *error)
{
    struct checking checking = {.gpu = gpu, .error = error};
    int status = 0;
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* what comes from it has no figures */
    printf("compiled for %s (%s); nothing is run\n", gpu->name, gpu->arch);
    for (size_t i = 0; i < sweep->kernel_count && status == 0; i++) {
        const struct sweep_kernel *kernel = &sweep->kernels[i];
        printf("%s (%s)\n", kernel->label, kernel->template.path);
        (void)fflush(stdout);
        for (size_t j = 0; j < kernel->problem_count && status == 0; j++)
            status = check_problem(&checking, kernel, &kernel->problems[j]);
    }
    single_compile_release(&checking.compiler);
    if (status == 0 && checking.failed)
        status = error_set(error, ERROR_CONFIG, "the check failed; nothing was run");
    for (size_t i = 0; i < checking.message_count; i++)
        free(checking.messages[i]);
    free(checking.messages);
    return status;
}
