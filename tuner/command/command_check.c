#include "command/command.h"

#include "base/csv.h"
#include "command/check_compile.h"
#include "record/gpu.h"
#include "template/space.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The space of one problem; `fixed` is what its constraints see, and outlives it. */
static struct space *open_space(const struct sweep_kernel *kernel, const struct bindings *problem,
                                const struct gpu *gpu, struct bindings *fixed)
{
    bindings_append(fixed, problem);
    gpu_bindings(gpu, fixed);
    return space_new(&kernel->template, kernel->values, kernel->constraints,
                     kernel->constraint_count, fixed);
}

/* --- the summary --- */

static void print_list(const char *name, const struct value_list *list)
{
    printf("  %-19s ", name);
    for (size_t i = 0; i < list->count; i++) {
        char text[VALUE_TEXT_BYTES];
        printf("%s%s", i > 0 ? ", " : "", value_text(list->values[i], text));
    }
    putchar('\n');
}

/* Counts the space of one problem and prints it. */
static int print_problem(const struct sweep_kernel *kernel, const struct bindings *problem,
                         const struct gpu *gpu, struct error *error)
{
    struct bindings fixed = {0};
    uint64_t variants = 0;
    struct space *space = open_space(kernel, problem, gpu, &fixed);
    int status = space_count(space, SPACE_VARIANT_LIMIT, &variants, error);
    bool too_many = variants > SPACE_VARIANT_LIMIT;
    if (status == 0) {
        char *text = bindings_text(problem);
        printf("  %s%s%s%" PRIu64 " variant%s of %" PRIu64 "\n", text, text[0] != '\0' ? ": " : "",
               too_many ? "more than " : "", too_many ? (uint64_t)SPACE_VARIANT_LIMIT : variants,
               variants == 1 ? "" : "s", space_points(space));
        free(text);
    }
    if (status == 0 && too_many && !kernel->limited)
        status = sweep_too_many(kernel, error);
    space_free(space);
    bindings_release(&fixed);
    return status;
}

static int print_kernel(const struct sweep_kernel *kernel, const struct gpu *gpu,
                        struct error *error)
{
    const struct template *template = &kernel->template;
    size_t late = 0;
    int status = 0;
    printf("%s (%s)\n", kernel->label, template->path);
    for (size_t i = 0; i < template->parameter_count; i++)
        print_list(template->parameters[i].name, &kernel->values[i]);
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

static int print_summary(const struct sweep *sweep, const struct gpu *gpu, struct error *error)
{
    int status = 0;
    printf("attributes of %s (%s)\n", gpu->name, gpu->arch);
    for (size_t i = 0; i < sweep->kernel_count && status == 0; i++)
        status = print_kernel(&sweep->kernels[i], gpu, error);
    return status;
}

/* --- the list --- */

static bool same_columns(const struct template *a, const struct template *b)
{
    bool same = a->problem_count == b->problem_count && a->parameter_count == b->parameter_count;
    for (size_t i = 0; same && i < a->problem_count; i++)
        same = strcmp(a->problem[i].name, b->problem[i].name) == 0;
    for (size_t i = 0; same && i < a->parameter_count; i++)
        same = strcmp(a->parameters[i].name, b->parameters[i].name) == 0;
    return same;
}

static void list_header(const struct template *template)
{
    fputs("kernel", stdout);
    for (size_t i = 0; i < template->problem_count; i++)
        printf(",%s", template->problem[i].name);
    for (size_t i = 0; i < template->parameter_count; i++)
        printf(",%s", template->parameters[i].name);
    putchar('\n');
}

static void list_value(struct value value)
{
    char text[VALUE_TEXT_BYTES];
    putchar(',');
    csv_text(stdout, value_text(value, text));
}

/* Prints each variant of one problem as it is found. */
static int list_problem(const struct sweep_kernel *kernel, const struct bindings *problem,
                        const struct gpu *gpu, struct error *error)
{
    struct bindings fixed = {0};
    struct space *space = open_space(kernel, problem, gpu, &fixed);
    const struct value *values = space_values(space);
    int status;
    while ((status = space_skip(space, error)) == 1 && !ferror(stdout)) {
        csv_text(stdout, kernel->label);
        for (size_t i = 0; i < problem->count; i++)
            list_value(problem->items[i].value);
        for (size_t i = 0; i < kernel->template.parameter_count; i++)
            list_value(values[i]);
        putchar('\n');
    }
    space_free(space);
    bindings_release(&fixed);
    return status < 0 ? status : 0;
}

/* A line per variant, under one header if all kernels share their columns, else under one each. */
static int list_variants(const struct sweep *sweep, const struct gpu *gpu, struct error *error)
{
    bool uniform = true;
    int status = 0;
    (void)signal(SIGPIPE, SIG_DFL); /* `| head` ends the list quietly */
    for (size_t i = 1; i < sweep->kernel_count; i++)
        uniform = uniform && same_columns(&sweep->kernels[0].template, &sweep->kernels[i].template);
    for (size_t i = 0; i < sweep->kernel_count && status == 0; i++) {
        const struct sweep_kernel *kernel = &sweep->kernels[i];
        if (i == 0 || !uniform)
            list_header(&kernel->template);
        for (size_t j = 0; j < kernel->problem_count && status == 0; j++)
            status = list_problem(kernel, &kernel->problems[j], gpu, error);
    }
    return status;
}

int command_check_sweep(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    int list = 0;
    int compile = 0;
    const struct poptOption table[] = {
        option_config(&options),
        option_template(&options),
        option_settings(&options),
        option_text("arch", 'a', &options.arch,
                    "the architecture whose attributes the constraints use (default: sm_90)",
                    "sm_XX"),
        option_kernels(&options),
        option_flag("list", 0, &list, "print every variant as a line of CSV"),
        option_flag("compile", 0, &compile,
                    "compile the default variant and the reference, for --arch or this machine's "
                    "GPU, and check their launches; runs nothing"),
        POPT_TABLEEND};
    struct sweep sweep = {0};
    enum report_format format;
    struct gpu gpu;
    int status = command_parse(
        argc, argv, table,
        "check {--config FILE | --template FILE} [OPTION...]\n\n"
        "Checks a sweep and prints the search space of each kernel. Needs no GPU, and\n"
        "NVRTC only with --compile.\n\n"
        "Example: autotune check --config configs/sweep.ini",
        error);
    if (status != 0)
        goto done;
    status = command_check(&options, true, &format, error);
    if (status == 0 && list && compile)
        status =
            error_set(error, ERROR_USAGE, "--list and --compile exclude each other; leave one out");
    if (status == 0)
        status = command_load_sweep(&options, !compile, &sweep, error);
    if (status == 0)
        status = compile
                     ? check_compile_gpu(options.arch, &gpu, error)
                     : gpu_from_arch(options.arch != NULL ? options.arch : "sm_90", &gpu, error);
    if (status == 0)
        status = (compile ? check_compile
                  : list  ? list_variants
                          : print_summary)(&sweep, &gpu, error);
    if (status == 0)
        status = sweep_check_finished(&sweep, error);
    sweep_release(&sweep);
done:
    command_options_release(&options);
    return status < 0 ? status : 0;
}
