#include "command/command.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/write_file.h"
#include "command/bundle.h"
#include "compile/single_compile.h"
#include "record/cover_choice.h"
#include "record/tuned_file.h"

#include <autotune/tuned.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bundle_note_file(struct bundle *bundle, const char *path)
{
    for (size_t i = 0; i < bundle->file_count; i++)
        if (strcmp(bundle->files[i], path) == 0)
            return;
    *ARRAY_APPEND(bundle->files, bundle->file_count) = alloc_string(path);
}

/* --- entries --- */

static const char *tuned_file(const struct bundle *bundle)
{
    return bundle->tuned_path != NULL ? bundle->tuned_path : "results/tuned.ini";
}

int bundle_check_kernels(const struct tuned_file *tuned, char *const *kernels, struct error *error)
{
    const char **names = alloc_zeroed(tuned->count, sizeof *names);
    for (size_t i = 0; i < tuned->count; i++)
        names[i] = tuned->entries[i].kernel;
    int status = command_check_kernels(kernels, names, tuned->count, error);
    free(names);
    return status;
}

static int read_entries(struct bundle *bundle, struct error *error)
{
    struct tuned_file *tuned = &bundle->tuned;
    const char *path = tuned_file(bundle);
    size_t kept = 0;
    int status = command_read_tuned(path, tuned, error);
    tuned_file_drop_skipped(tuned); /* of no use to an application */
    if (status == 0 && tuned->count > 0)
        status = bundle_check_kernels(tuned, bundle->kernels, error);
    for (size_t i = 0; i < tuned->count; i++) {
        if (command_wants_kernel(bundle->kernels, tuned->entries[i].kernel))
            tuned->entries[kept++] = tuned->entries[i];
        else
            tuned_entry_release(&tuned->entries[i]);
    }
    tuned->count = kept;
    cover_drop_covered(tuned);
    if (status == 0 && kept == 0)
        status = error_set_at(error, ERROR_CONFIG, path, 0,
                              "the file does not exist or has no entry; tune first");
    return status;
}

/* --- contents --- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static int add_everything(struct bundle *bundle, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < bundle->tuned.count && status == 0; i++)
        status = bundle_add_entry(bundle, &bundle->tuned.entries[i], error);
    if (status != 0 || bundle->sources == NULL)
        return status;
    struct tuned_table *table;
    status = command_load_table(tuned_file(bundle), &table, error);
    if (status == 0)
        status = bundle_add_sources(bundle, table, error);
    tuned_free(table);
    return status;
}

/* --- the folder --- */

/* Makes the folder beside the output in which the bundle is made, so that a bundle that is refused
 * changes nothing. */
static int make_work_folder(struct bundle *bundle, struct error *error)
{
    size_t length = strlen(bundle->output);
    while (length > 1 && bundle->output[length - 1] == '/')
        bundle->output[--length] = '\0';
    int status = write_file_make_folders(bundle->output, error);
    if (status != 0)
        return status;
    bundle->work = alloc_format("%s.XXXXXX", bundle->output);
    if (mkdtemp(bundle->work) != NULL)
        return 0;
    (void)error_set_errno(error, ERROR_RECORD, "cannot create folder '%s'", bundle->work);
    free(bundle->work);
    bundle->work = NULL;
    return ERROR_RECORD;
}

/* Moves the files to the output; tuned.ini comes last: when it is there, so is the rest. */
static int move_files(const struct bundle *bundle, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < bundle->file_count && status == 0; i++) {
        const char *file = bundle->files[i];
        char *path = alloc_format("%s%s", bundle->output, file + strlen(bundle->work));
        status = write_file_make_folders(path, error);
        if (status == 0 && rename(file, path) != 0)
            status = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", path);
        free(path);
    }
    char *path = alloc_format("%s/tuned.ini", bundle->output);
    if (status == 0)
        status = tuned_file_write(path, &bundle->tuned, error);
    free(path);
    return status;
}

/* Removes the work folder, with the files that were not moved. */
static void remove_work_folder(struct bundle *bundle)
{
    if (bundle->work == NULL)
        return;
    for (size_t i = 0; i < bundle->file_count; i++) {
        char *path = bundle->files[i];
        (void)unlink(path);
        for (char *slash; (slash = strrchr(path, '/')) > path + strlen(bundle->work);) {
            *slash = '\0';
            (void)rmdir(path);
        }
        free(path);
    }
    (void)rmdir(bundle->work);
    free(bundle->files);
    free(bundle->work);
}

static int make_bundle(struct bundle *bundle, struct error *error)
{
    if (bundle->output == NULL)
        return error_set(error, ERROR_USAGE, "no folder to write; name one with --output");
    int status = read_entries(bundle, error);
    interrupt_install(); /* so that the work folder is removed in any case */
    if (status == 0)
        status = make_work_folder(bundle, error);
    if (status == 0)
        status = add_everything(bundle, error);
    if (status == ERROR_INTERRUPTED)
        (void)error_set(error, ERROR_INTERRUPTED, "interrupted; no bundle was written");
    if (status == 0)
        status = move_files(bundle, error);
    if (status == 0)
        printf("%s: %zu configuration%s, %zu template%s, %zu cubin%s, of which %zu had to be "
               "compiled\n",
               bundle->output, bundle->tuned.count, plural(bundle->tuned.count),
               bundle->loaded_count, plural(bundle->loaded_count), bundle->cubins,
               plural(bundle->cubins), bundle->compiled);
    return status;
}

static void bundle_release(struct bundle *bundle)
{
    single_compile_release(&bundle->builder);
    for (size_t i = 0; i < bundle->loaded_count; i++)
        template_release(&bundle->loaded[i]);
    free(bundle->loaded);
    tuned_file_release(&bundle->tuned);
    remove_work_folder(bundle);
    command_arguments_release(bundle->kernels);
    command_arguments_release(bundle->sources);
    free(bundle->tuned_path);
    free(bundle->templates);
    free(bundle->output);
}

int command_bundle(int argc, const char **argv, struct error *error)
{
    struct bundle bundle = {0};
    const struct poptOption table[] = {
        option_text("tuned", 't', &bundle.tuned_path, "the tuned INI (default: results/tuned.ini)",
                    "FILE"),
        option_list("kernel", 'k', &bundle.kernels, "only this kernel; may be repeated", "NAME"),
        option_templates(&bundle.templates),
        option_list("source", 0, &bundle.sources,
                    "also compile this source of the application with the tuned parameters of "
                    "KERNEL; may be repeated",
                    "FILE=KERNEL"),
        option_flag(
            "accept-other-versions", 0, &bundle.accept_other_versions,
            "also pack configurations that were tuned with another version of the template; "
            "an application must accept them, too"),
        option_text("output", 'o', &bundle.output, "the folder to write", "DIR"),
        POPT_TABLEEND};
    int status = command_parse(
        argc, argv, table,
        "bundle --output DIR [OPTION...]\n\n"
        "Packs a tuned INI, the cubin of each configuration and the templates into one\n"
        "folder that an application ships. On a GPU that was tuned, the application then\n"
        "compiles nothing. Needs NVRTC, but no GPU.\n\n"
        "Example: autotune bundle --tuned results/tuned.ini --output bundle",
        error);
    if (status == 0)
        status = make_bundle(&bundle, error);
    bundle_release(&bundle);
    return status < 0 ? status : 0;
}
