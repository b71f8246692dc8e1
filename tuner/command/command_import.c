#include "command/command.h"

#include "exchange/t1.h"
#include "record/gpu.h"
#include "template/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts the variants of what was written, which checks it as well. */
static int print_space(const struct t1 *t1, struct error *error)
{
    struct sweep sweep;
    struct bindings fixed = {0};
    struct gpu gpu;
    uint64_t variants = 0;
    int status = sweep_load_unfinished(&sweep, t1->files[2], NULL, 0, error);
    if (status != 0)
        return status;
    const struct sweep_kernel *kernel = &sweep.kernels[0];
    bindings_append(&fixed, &kernel->problems[0]);
    status = gpu_from_arch("sm_90", &gpu, error);
    if (status == 0)
        gpu_bindings(&gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    if (status == 0)
        status = space_count(space, SPACE_VARIANT_LIMIT, &variants, error);
    if (status == 0)
        printf("%s: %zu parameters, %zu constraints, %s%" PRIu64 " variants of %" PRIu64 "\n",
               t1->name, t1->parameter_count, t1->constraint_count,
               variants > SPACE_VARIANT_LIMIT ? "more than " : "",
               variants > SPACE_VARIANT_LIMIT ? (uint64_t)SPACE_VARIANT_LIMIT : variants,
               space_points(space));
    space_free(space);
    bindings_release(&fixed);
    sweep_release(&sweep);
    return status;
}

static void print_next(const struct t1 *t1)
{
    printf("wrote %s, %s and %s\n", t1->files[0], t1->files[1], t1->files[2]);
    if (t1->gap_count > 0)
        printf("'%s' does not say everything; %s is to be completed where it is marked TODO:\n",
               t1->path, t1->files[0]);
    for (size_t i = 0; i < t1->gap_count; i++)
        printf("  %s\n", t1->gaps[i]);
    printf("next: autotune %s--config %s\n", t1->gap_count > 0 ? "check " : "", t1->files[2]);
}

static int import_t1(const char *path, const char *name, const char *folder, struct error *error)
{
    struct t1 t1;
    int status = t1_read(&t1, path, name, error);
    if (status == 0)
        status = t1_write(&t1, folder, error);
    if (status == 0) {
        status = print_space(&t1, error);
        if (status == 0)
            print_next(&t1);
        else
            t1_remove(&t1);
    }
    t1_release(&t1);
    return status;
}

static int import(const struct command_options *options, char *const *files, struct error *error)
{
    const char *name = options->kernels != NULL ? options->kernels[0] : NULL;
    if (files[0] == NULL || files[1] != NULL)
        return error_set(error, ERROR_USAGE, "name one file, for example gemm.json");
    if (name != NULL && options->kernels[1] != NULL)
        return error_set(error, ERROR_USAGE, "a file is one kernel; give --kernel once");
    return import_t1(files[0], name, options->output != NULL ? options->output : ".", error);
}

int command_import(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    char **files = NULL;
    const struct poptOption table[] = {
        option_list("kernel", 'k', &options.kernels,
                    "the name of the template (default: the file's name)", "NAME"),
        option_text("output", 'o', &options.output,
                    "the folder for the template and the sweep (default: the current one)", "DIR"),
        POPT_TABLEEND};
    int status = command_parse_arguments(
        argc, argv, table,
        "import FILE\n\n"
        "Reads a T1 file, the input format of Kernel Tuner, KTT and BAT, and writes\n"
        "it as a template and a sweep. What the file does not say is left as a gap,\n"
        "marked TODO.\n\n"
        "Example: autotune import gemm.json",
        &files, error);
    if (status == 0)
        status = import(&options, files, error);
    command_arguments_release(files);
    command_options_release(&options);
    return status < 0 ? status : 0;
}
