#include "base/alloc.h"
#include "base/text_table.h"
#include "command/command.h"
#include "compile/launch_check.h"
#include "compile/single_compile.h"
#include "compile/struct_probe.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/problem_check.h"
#include "template/space.h"
#include "template/template.h"
#include "template/template_load.h"
#include "template/variant.h"
#include "tune/fleet.h"
#include "tune/kernel_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- compiling --- */

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

/* Shows the compiler's whole message, warnings too. Returns 0; 1 if the source was refused; or an
 * error. */
static int compile(struct checking *checking, const struct subject *subject,
                   const struct bindings *parameters, bool helpers, struct compilation *compilation)
{
    const struct build build = {&subject->kernel->template, parameters, subject->problem,
                                checking->gpu->arch,        helpers,    false};
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
        char *cause = compilation_cause(compilation->log != NULL ? compilation->log : "");
        (void)error_set_at(&fault, ERROR_CONFIG, subject->kernel->template.source.files[0].path, 0,
                           "the source does not compile for %s with %s%s%.500s",
                           checking->gpu->arch, text[0] != '\0' ? text : "its defaults",
                           cause != NULL ? "; the first error is: " : "",
                           cause != NULL ? cause : "");
        free(cause);
        free(text);
        report(checking, &fault);
        return 1;
    }
    if (status != 0 && checking->error != NULL)
        *checking->error = fault;
    return status;
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
    if (outcome != OUTCOME_COMPILED) {
        report(checking, &fault);
    } else if (status == 0) {
        char *problem = bindings_text(subject->problem);
        char *parameters = bindings_text(&subject->parameters);
        printf("  %s%s%s%s%d registers, %lld bytes spilled, occupancy %.0f %%\n", problem,
               problem[0] != '\0' ? ": " : "", parameters, parameters[0] != '\0' ? ": " : "",
               result.stats.registers, (long long)result.stats.spill_bytes,
               100 * result.stats.occupancy);
        free(problem);
        free(parameters);
    }
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

/* The structs among arguments, with the parameters' defaults. Also prints what could not be checked. */
static int check_structs(struct checking *checking, const struct subject *subject)
{
    const struct template *template = &subject->kernel->template;
    struct bindings defaults = {0};
    const struct scope fixed = {&subject->fixed, NULL};
    const struct scope scope = {&defaults, &fixed};
    struct compilation compilation = {0};
    struct options options = {0};
    struct source probe;
    struct error fault;
    char *unchecked = NULL;
    int status = 0;
    variant_defaults(template, &defaults);
    if (struct_probe_make(&probe, &options, template, &scope, subject->problem)) {
        int made = single_compile_source_cubin(&checking->compiler, &probe, &options,
                                               checking->gpu->arch, &compilation, NULL, &fault);
        if (made != 0 && made != ERROR_CONFIG) /* the probe is always refused */
            *checking->error = fault;
        status = made == ERROR_CONFIG ? 0 : made;
        if (compilation.log != NULL &&
            struct_probe_read(template, compilation.log, &unchecked, &fault) != 0) {
            report(checking, &fault);
            status = 1;
        }
        if (status == 0 && unchecked != NULL && is_new(checking, unchecked))
            fputs(unchecked, stderr);
        free(unchecked);
        struct_probe_release(&probe);
    }
    options_release(&options);
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
    command_default_variant(kernel, &subject.fixed, &subject.parameters);
    int structs = check_structs(checking, &subject);
    int status = structs == 0 ? check_helpers(checking, &subject) : structs;
    if (status >= 0 && problem_check(&kernel->template, &subject.fixed, &fault) != 0)
        report(checking, &fault);
    else if (structs == 0 && status >= 0)
        status = check_variant(checking, &subject);
    bindings_release(&subject.parameters);
    bindings_release(&subject.fixed);
    return status < 0 ? status : 0;
}

/* Compiles each kernel's default variant and its references, and checks what the template says against them.
 * Prints a line for each problem that is right, and on stderr the compiler's messages and every fault, each
 * once. Returns 0; ERROR_CONFIG if there are faults; or an error of the compiler. */
static int check_compile(const struct sweep *sweep, const struct gpu *gpu, struct error *error)
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

/* --- the summary --- */

/* Counts the space of one problem and prints it. */
static int print_problem(const struct sweep_kernel *kernel, const struct bindings *problem,
                         const struct gpu *gpu, struct error *error)
{
    char number[32];
    uint64_t points = 0;
    uint64_t variants = 0;
    int status = command_count_variants(kernel, problem, gpu, &points, &variants, error);
    if (status == 0) {
        char *text = bindings_text(problem);
        printf("  %s%s%s variant%s of %" PRIu64 "\n", text, text[0] != '\0' ? ": " : "",
               command_variants_text(variants, number), variants == 1 ? "" : "s", points);
        free(text);
    }
    if (status == 0 && variants > SPACE_VARIANT_LIMIT && !kernel->limited)
        status = sweep_too_many(kernel, error);
    return status;
}

static int print_kernel(const struct sweep_kernel *kernel, const struct gpu *gpu,
                        struct error *error)
{
    const struct template *template = &kernel->template;
    size_t late = 0;
    int status = 0;
    printf("%s (%s)\n", kernel->label, template->path);
    for (size_t i = 0; i < template->parameter_count; i++) {
        const struct value_list *list = &kernel->values[i];
        printf("  %-19s ", template->parameters[i].name);
        for (size_t j = 0; j < list->count; j++) {
            char text[VALUE_TEXT_BYTES];
            printf("%s%s", j > 0 ? ", " : "", value_text(list->values[j], text));
        }
        putchar('\n');
    }
    for (size_t i = 0; i < kernel->constraint_count; i++) {
        printf("  constraint          %s\n", expression_text(kernel->constraints[i]));
        late += constraint_needs_stats(kernel->constraints[i]);
    }
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].unchecked)
            printf("  unchecked           %s\n", template->buffers[i].name);
    for (size_t i = 0; i < kernel->problem_count && status == 0; i++)
        status = print_problem(kernel, &kernel->problems[i], gpu, error);
    if (late > 0)
        printf("  %zu constraint%s on kernel statistics, decided after compilation\n", late,
               late > 1 ? "s" : "");
    return status;
}

/* --- the list --- */

/* Prints each variant of one problem as it is found. */
static int list_problem(const struct sweep_kernel *kernel, const struct bindings *problem,
                        const struct gpu *gpu, struct error *error)
{
    struct bindings fixed = {0};
    bindings_append(&fixed, problem);
    gpu_bindings(gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    const struct value *values = space_values(space);
    int status;
    while ((status = space_skip(space, error)) == 1 && !ferror(stdout)) {
        csv_text(stdout, kernel->label);
        for (size_t i = 0; i < problem->count + kernel->template.parameter_count; i++) {
            char text[VALUE_TEXT_BYTES];
            putchar(',');
            csv_text(stdout, value_text(i < problem->count ? problem->items[i].value
                                                           : values[i - problem->count],
                                        text));
        }
        putchar('\n');
    }
    space_free(space);
    bindings_release(&fixed);
    return status < 0 ? status : 0;
}

/* "kernel,n,block_size": the columns of a kernel's variants; a new string. */
static char *list_header(const struct template *template)
{
    char *text = alloc_string("kernel");
    for (size_t i = 0; i < template->problem_count; i++)
        alloc_append(&text, ",%s", template->problem[i].name);
    for (size_t i = 0; i < template->parameter_count; i++)
        alloc_append(&text, ",%s", template->parameters[i].name);
    return text;
}

/* A line per variant, under one header if all kernels share their columns, else under one each. */
static int list_variants(const struct sweep *sweep, const struct gpu *gpu, struct error *error)
{
    char **headers = alloc_zeroed(sweep->kernel_count, sizeof *headers);
    bool uniform = true;
    int status = 0;
    for (size_t i = 0; i < sweep->kernel_count; i++) {
        headers[i] = list_header(&sweep->kernels[i].template);
        uniform = uniform && strcmp(headers[i], headers[0]) == 0;
    }
    for (size_t i = 0; i < sweep->kernel_count; i++) {
        const struct sweep_kernel *kernel = &sweep->kernels[i];
        if ((i == 0 || !uniform) && status == 0)
            puts(headers[i]);
        for (size_t j = 0; j < kernel->problem_count && status == 0; j++)
            status = list_problem(kernel, &kernel->problems[j], gpu, error);
        free(headers[i]);
    }
    free(headers);
    return status;
}

/* --- names, for the shells' completion --- */

/* "kernel reduce_sum" for each kernel of the sweep or, if none is named, each template; "value n" for what --set may
 * set. */
static int list_names(struct command_options *options, struct error *error)
{
    struct sweep sweep = {0};
    if (options->config == NULL && options->template == NULL && options->kernels == NULL) {
        const struct template_search search = {.folder = options->templates,
                                               .usual = "kernel_templates"};
        size_t count;
        char **names = template_list(&search, &count);
        for (size_t i = 0; i < count; i++) {
            printf("kernel %s\n", names[i]);
            free(names[i]);
        }
        free(names);
        return 0;
    }
    enum report_format unused;
    int status = command_check(options, true, &unused, error);
    if (status == 0)
        status = command_load_sweep(options, true, &sweep, error);
    for (size_t i = 0; i < sweep.kernel_count && status == 0; i++) {
        struct names names = {0};
        template_add_names(&sweep.kernels[i].template, &names);
        printf("kernel %s\n", sweep.kernels[i].label);
        for (size_t j = 0; j < names.count && names.items[j] != NULL; j++)
            printf("value %s\n", names.items[j]);
        free(names.items);
    }
    sweep_release(&sweep);
    return status;
}

struct check_options {
    struct command_options shared;
    int list;
    int list_names;
    int compile;
};

static int check(void *user, struct command_input *input, struct error *error)
{
    struct check_options *options = user;
    const char *arch = options->shared.arch;
    struct sweep sweep = {0};
    enum report_format format;
    struct gpu gpu;
    (void)input;
    if (options->list_names)
        return list_names(&options->shared, error);
    int status = command_check(&options->shared, true, &format, error);
    if (status == 0 && options->list && options->compile)
        status =
            error_set(error, ERROR_USAGE, "--list and --compile exclude each other; leave one out");
    if (status == 0)
        status = command_load_sweep(&options->shared, !options->compile, &sweep, error);
    struct gpu *gpus = NULL; /* of this machine, whose first one --compile takes */
    size_t count = 0;
    if (status == 0 && options->compile && arch == NULL)
        (void)gpu_list(&gpus, &count, NULL);
    if (count > 0)
        gpu = gpus[0];
    else if (status == 0)
        status = gpu_from_arch(arch != NULL ? arch : "sm_90", &gpu, error);
    free(gpus);
    if (status == 0 && options->compile)
        status = check_compile(&sweep, &gpu, error);
    else if (status == 0 && options->list)
        status = list_variants(&sweep, &gpu, error);
    else if (status == 0)
        printf("attributes of %s (%s)\n", gpu.name, gpu.arch);
    for (size_t i = 0; i < sweep.kernel_count && status == 0 && !options->compile && !options->list;
         i++)
        status = print_kernel(&sweep.kernels[i], &gpu, error);
    if (status == 0)
        status = sweep_check_finished(&sweep, error);
    sweep_release(&sweep);
    return status;
}

int command_check_sweep(int argc, const char **argv, struct error *error)
{
    struct check_options options = {0};
    struct poptOption table[SOURCE_OPTIONS + 5] = {
        [SOURCE_OPTIONS] = option_text(
            "arch", 'a', &options.shared.arch,
            "the architecture whose attributes the constraints use (default: sm_90)", "sm_XX"),
        option_flag("list", 0, &options.list, "print every variant as a line of CSV"),
        option_flag("compile", 0, &options.compile,
                    "compile the default variant and the reference, for --arch or this machine's "
                    "GPU, and check their launches; runs nothing"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "check {SWEEP | --template FILE | --kernel NAME} [OPTION...]\n\n"
        "Checks a sweep and prints the search space of each kernel. Needs no GPU, and\n"
        "NVRTC only with --compile.\n\n"
        "Example: autotune check configs/sweep.ini",
        check, &options};
    option_sources(&options.shared, table);
    table[SOURCE_OPTIONS + 3] = option_flag("list-names", 0, &options.list_names, NULL);
    table[SOURCE_OPTIONS + 3].argInfo |= POPT_ARGFLAG_DOC_HIDDEN;
    return command_perform(argc, argv, &line, error);
}
