#include "command/command.h"

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "exchange/t1.h"
#include "exchange/t4_study.h"
#include "record/gpu.h"
#include "record/record.h"
#include "tune/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- T1 --- */

/* What is in the sweep that was written, for its first problem; the constraints see the attributes of sm_90. */
static int print_space(const struct sweep_kernel *kernel, struct error *error)
{
    char text[32];
    uint64_t points = 0;
    uint64_t variants = 0;
    struct gpu gpu;
    int status = gpu_from_arch("sm_90", &gpu, error);
    if (status == 0)
        status =
            command_count_variants(kernel, &kernel->problems[0], &gpu, &points, &variants, error);
    if (status == 0)
        printf("%s: %zu parameters, %zu constraints, %s variants of %" PRIu64 "\n", kernel->label,
               kernel->template.parameter_count, kernel->constraint_count,
               command_variants_text(variants, text), points);
    return status;
}

/* A sweep that cannot be used is removed, with the template. A constraint that cannot be evaluated,
 * because it divides by zero for some combination, say, is an error of which the files stay. */
static int import_t1(const char *path, const char *name, const char *folder, struct error *error)
{
    struct t1_import import;
    struct sweep sweep = {0};
    int status = t1_import(path, name, folder, &import, error);
    if (status == 0) {
        status = sweep_open(&sweep,
                            &(struct sweep_request){.path = import.files[import.file_count - 1],
                                                    .unfinished = true},
                            error);
        if (status != 0)
            t1_import_remove(&import);
    }
    if (status == 0) {
        status = print_space(&sweep.kernels[0], error);
        fputs(import.report, stdout);
    }
    sweep_release(&sweep);
    t1_import_release(&import);
    return status;
}

/* --- T4 --- */

/* Puts the results into the record in the folder --results. */
static int import_t4(const char *path, const struct t4_origin *origin, const char *folder,
                     bool on_network, struct error *error)
{
    struct study study;
    struct record *record = NULL;
    struct record_repair repair = {0};
    char *file = alloc_format("%s/record.sqlite", folder);
    int status = t4_study_read(path, origin, &study, error);
    if (status == 0)
        status = storage_check_record(folder, on_network, error);
    if (status == 0) {
        study.environment.command = alloc_format("autotune import %s", path);
        (void)snprintf(study.environment.autotune, sizeof study.environment.autotune, "%s",
                       AUTOTUNE_VERSION);
        status = write_file_make_folders(file, error);
    }
    if (status == 0)
        status = record_open(&record, file, &repair, error);
    if (status == 0 && repair.set_aside != NULL)
        fprintf(stderr, "autotune: the record could not be used and is now '%s'\n",
                repair.set_aside);
    if (status == 0)
        status = record_import(record, &study, error);
    if (status == 0)
        printf("%s: %zu variants on %s, %zu of them with a time, measured by %s\n"
               "next: autotune report --results %s --kernel %s\n",
               study.kernel, study.result_count, study.environment.gpu.name,
               study_count(&study, OUTCOME_MEASURED), study.environment.tool, folder, study.kernel);
    record_close(record);
    free(repair.set_aside);
    study_release(&study);
    free(file);
    return status;
}

/* --- either --- */

struct import_options {
    struct command_options shared;
    char *tool;
    char *gpu;
};

static int refuse_option(const char *option, const char *format, struct error *error)
{
    return error_set(error, ERROR_USAGE, "%s is for %s files", option, format);
}

static int import(void *user, struct command_input *input, struct error *error)
{
    const struct import_options *options = user;
    char *const *files = input->arguments;
    const struct command_options *shared = &options->shared;
    const char *name = shared->kernels != NULL ? shared->kernels[0] : NULL;
    if (files[0] == NULL || files[1] != NULL)
        return error_set(error, ERROR_USAGE,
                         "name one file, for example `autotune import gemm.json`");
    if (name != NULL && shared->kernels[1] != NULL)
        return error_set(error, ERROR_USAGE, "a file is about one kernel; give --kernel once");
    json_t *json;
    int status = json_read_file(files[0], &json, error);
    bool is_t4 = json_is_array(json_object_get(json, "results")); /* if not, it is taken for T1 */
    json_decref(json);
    if (status != 0)
        return status;
    if (is_t4) {
        const struct t4_origin origin = {name, options->tool, options->gpu};
        if (shared->output != NULL)
            return refuse_option("--output", "T1", error);
        return import_t4(files[0], &origin, shared->results != NULL ? shared->results : "results",
                         shared->record_on_network != 0, error);
    }
    if (options->tool != NULL || options->gpu != NULL || shared->results != NULL)
        return refuse_option("--tool, --gpu or --results", "T4", error);
    return import_t1(files[0], name, shared->output != NULL ? shared->output : ".", error);
}

int command_import(int argc, const char **argv, struct error *error)
{
    struct import_options options = {0};
    const struct poptOption table[] = {
        option_list("kernel", 'k', &options.shared.kernels,
                    "the kernel's name (default: T1: the file's, T4: as its metadata says)",
                    "NAME"),
        option_text("output", 'o', &options.shared.output,
                    "T1: the folder to write (default: the current one)", "DIR"),
        option_text("results", 'r', &options.shared.results,
                    "T4: the folder of the record (default: results)", "DIR"),
        option_text("tool", 0, &options.tool,
                    "T4: the tool that measured (default: as its metadata says)", "NAME"),
        option_text("gpu", 'g', &options.gpu, "T4: the GPU (default: as its metadata says)",
                    "NAME"),
        option_record_on_network(&options.shared),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "import FILE\n\n"
        "Reads a file of Kernel Tuner, KTT or BAT. A T1 file, their input, is converted\n"
        "to a template and a sweep; what it does not say is left as a gap, marked TODO.\n"
        "This needs python3, which does not run what the file says.\n"
        "The results in a T4 file go into the record, under the name of the tool that\n"
        "measured them.\n\n"
        "Example: autotune import gemm.json",
        import, &options};
    return command_perform(argc, argv, &line, error);
}
