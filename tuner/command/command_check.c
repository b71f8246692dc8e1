#include "command/command.h"

#include "record/gpu.h"
#include "template/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
    bindings_append(&fixed, problem);
    gpu_bindings(gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    int status = space_count(space, SPACE_VARIANT_LIMIT, &variants, error);
    bool too_many = variants > SPACE_VARIANT_LIMIT;
    if (status == 0) {
        char *text = bindings_text(problem);
        printf("  %s%s%s%" PRIu64 " variants of %" PRIu64 "\n", text, text[0] != '\0' ? ": " : "",
               too_many ? "more than " : "", too_many ? (uint64_t)SPACE_VARIANT_LIMIT : variants,
               space_points(space));
        free(text);
    }
    if (status == 0 && too_many)
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
    for (size_t i = 0; i < kernel->problem_count && status == 0; i++)
        status = print_problem(kernel, &kernel->problems[i], gpu, error);
    if (late > 0)
        printf("  %zu constraint%s on kernel statistics, decided after compilation\n", late,
               late > 1 ? "s" : "");
    return status;
}

int command_check_sweep(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {
        option_config(&options),
        option_text("arch", 'a', &options.arch,
                    "the architecture whose attributes the constraints use (default: sm_90)",
                    "sm_XX"),
        option_kernels(&options), POPT_TABLEEND};
    struct sweep sweep = {0};
    enum report_format format;
    struct gpu gpu;
    int status =
        command_parse(argc, argv, table,
                      "check --config FILE [OPTION...]\n\n"
                      "Checks a sweep and prints the search space of each kernel. Needs neither\n"
                      "NVRTC nor a GPU.\n\n"
                      "Example: autotune check --config configs/sweep.ini",
                      error);
    if (status != 0)
        goto done;
    status = command_check(&options, true, &format, error);
    if (status == 0)
        status = gpu_from_arch(options.arch != NULL ? options.arch : "sm_90", &gpu, error);
    if (status == 0)
        status = command_load_sweep(&options, &sweep, error);
    if (status == 0)
        printf("attributes of %s (%s)\n", gpu.name, gpu.arch);
    for (size_t i = 0; i < sweep.kernel_count && status == 0; i++)
        status = print_kernel(&sweep.kernels[i], &gpu, error);
    sweep_release(&sweep);
done:
    command_options_release(&options);
    return status < 0 ? status : 0;
}
