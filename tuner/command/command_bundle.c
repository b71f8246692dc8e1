#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "command/command.h"
#include "compile/application.h"
#include "compile/single_compile.h"
#include "record/tuned_file.h"
#include "template/source.h"
#include "template/template_load.h"

#include <autotune/tuned.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A bundle is a folder:
 *     tuned.ini
 *     cubin/KERNEL-HASH.cubin    of section [KERNEL HASH]
 *     cubin/KERNEL-HASH-N.cubin    of configuration N of a cover
 *     cubin/KERNEL-HASH-DIGITS.cubin    of a source of the application's own, with its parameters
 *     cubin/….hash               of each cubin
 *     templates/NAME.ini         with its source and headers
 * libtuned reads the first and the templates' defaults, libtuned_kernel all of it.
 */
struct bundle {
    char *tuned_option;
    const char *tuned_path;
    char *templates;
    char *output;
    char *work;   /* the folder beside `output` in which the bundle is made; NULL: none yet */
    char **files; /* in it, and folders that may be empty, whose paths end in '/' */
    size_t file_count;
    char **kernels;
    char **sources; /* "FILE=KERNEL" */
    int accept_other_versions;
    struct tuned_file tuned;
    struct template *loaded;
    size_t loaded_count;
    struct single_compile builder;
    size_t cubins;
    size_t compiled;       /* of these; the others were in the cache */
    size_t other_toolkits; /* of these, of another one than they were tuned with */
};

/* A file that is noted again counts once, because templates share headers. */
static void note_file(struct bundle *bundle, const char *path)
{
    for (size_t i = 0; i < bundle->file_count; i++)
        if (strcmp(bundle->files[i], path) == 0)
            return;
    *ARRAY_APPEND(bundle->files, bundle->file_count) = alloc_string(path);
}

/* Returns 0, or ERROR_USAGE for a kernel that the tuned INI does not have. */
static int check_kernels(const struct tuned_file *tuned, char *const *kernels, struct error *error)
{
    const char **names = alloc_zeroed(tuned->count, sizeof *names);
    for (size_t i = 0; i < tuned->count; i++)
        names[i] = tuned->entries[i].kernel;
    int status = command_check_kernels(kernels, names, tuned->count, error);
    free(names);
    return status;
}

/* --- templates --- */

/* The path of `file` relative to `folder`, both absolute; NULL if it is outside. */
static const char *inside(const char *folder, const char *file)
{
    size_t length = strlen(folder);
    return strncmp(folder, file, length) == 0 && file[length] == '/' ? file + length + 1 : NULL;
}

static int copy_file(struct bundle *bundle, const char *folder, const char *file,
                     struct error *error)
{
    const char *name = inside(folder, file);
    char *text = NULL;
    size_t length = 0;
    if (name == NULL)
        return error_set_at(error, ERROR_CONFIG, file, 0,
                            "the file is outside its template's folder '%s', so it cannot be "
                            "bundled; move it there",
                            folder);
    char *path = alloc_format("%s/templates/%s", bundle->work, name);
    int status = read_file(file, &text, &length, error);
    if (status == 0) {
        note_file(bundle, path);
        status = write_file_bytes(path, text, length, error);
    }
    free(text);
    free(path);
    return status;
}

/* The copy in the folder of a bundle must have the same hash, so that the template that was tuned is the one
 * that ships. `cure` is what to do if it has not. */
static int check_copy(const char *folder, const struct template *original, const char *cure,
                      struct error *error)
{
    struct template copy;
    char *path = alloc_format("%s/templates/%s.ini", folder, original->name);
    int status = template_load(&copy, path, error);
    if (status == 0) {
        if (strcmp(copy.hash, original->hash) != 0)
            status =
                error_set_at(error, ERROR_CONFIG, path, 0,
                             "the copied template differs from the tuned one, because an #include "
                             "finds another file%s",
                             cure);
        template_release(&copy);
    }
    free(path);
    return status;
}

static int copy_template(struct bundle *bundle, const struct template *template,
                         struct error *error)
{
    char folder[PATH_MAX];
    char *ini = realpath(template->path, NULL);
    int status = 0;
    if (ini == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot find '%s'", template->path);
    (void)snprintf(folder, sizeof folder, "%s", ini);
    *strrchr(folder, '/') = '\0'; /* an absolute path has one */
    status = copy_file(bundle, folder, ini, error);
    for (size_t i = 0; i < template->source.file_count && status == 0; i++)
        status = copy_file(bundle, folder, template->source.files[i].path, error);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        const struct buffer *buffer = &template->buffers[i];
        if (buffer->access != ACCESS_SCRATCH || buffer->fill.kind != FILL_FILE)
            continue; /* the application provides the inputs */
        char *file = realpath(buffer->fill.path, NULL);
        status = file == NULL
                     ? error_set_errno(error, ERROR_CONFIG, "cannot find '%s'", buffer->fill.path)
                     : copy_file(bundle, folder, file, error);
        free(file);
    }
    for (size_t i = 0; i < template->source.include_count && status == 0; i++) {
        /* an include folder counts also if nothing in it is used */
        const char *name = inside(folder, template->source.include_folders[i]);
        if (name == NULL)
            continue;
        char *copy = alloc_format("%s/templates/%s/", bundle->work, name);
        note_file(bundle, copy);
        status = write_file_make_folders(copy, error);
        free(copy);
    }
    free(ini);
    return status != 0 ? status : check_copy(bundle->work, template, "", error);
}

/* The template of `entry`, loaded and copied on first use. NULL with an error. */
static const struct template *take_template(struct bundle *bundle, const struct tuned_entry *entry,
                                            struct error *error)
{
    for (size_t i = 0; i < bundle->loaded_count; i++)
        if (strcmp(bundle->loaded[i].name, entry->template_name) == 0)
            return &bundle->loaded[i];
    char *path = build_find_template(bundle->templates, entry->template_name, error);
    if (path == NULL)
        return NULL;
    struct template template;
    int status = template_load(&template, path, error);
    free(path);
    if (status != 0)
        return NULL;
    *ARRAY_APPEND(bundle->loaded, bundle->loaded_count) = template;
    return copy_template(bundle, &template, error) == 0 ? &bundle->loaded[bundle->loaded_count - 1]
                                                        : NULL;
}

/* --- cubins --- */

/* A new string: "WORK/cubin/KERNEL-HASH.cubin", and of a cover "…-HASH-N.cubin". NULL if the section's
 * name is not "KERNEL HASH": tuned_cubin_path() would not find it. */
static char *cubin_path(const struct bundle *bundle, const struct tuned_entry *entry, size_t index)
{
    const char *hash = strchr(entry->section, ' ');
    if (hash == NULL || strlen(entry->kernel) != (size_t)(hash - entry->section) ||
        strncmp(entry->section, entry->kernel, (size_t)(hash - entry->section)) != 0 ||
        strlen(hash + 1) != 8 || strspn(hash + 1, "0123456789abcdef") != 8)
        return NULL;
    return entry->cover == NULL
               ? alloc_format("%s/cubin/%s-%s.cubin", bundle->work, entry->kernel, hash + 1)
               : alloc_format("%s/cubin/%s-%s-%zu.cubin", bundle->work, entry->kernel, hash + 1,
                              index + 1);
}

/* If the toolkit that compiles is not the one of the tuning, says so once, and in the bundle's entry. */
static int note_toolkit(struct bundle *bundle, struct tuned_entry *entry, struct error *error)
{
    const char *nvrtc;
    int status = compile_pool_nvrtc_version(bundle->builder.pool, &nvrtc, error);
    if (status != 0 || strcmp(nvrtc, entry->nvrtc) == 0)
        return status;
    if (bundle->other_toolkits++ == 0)
        fprintf(
            stderr,
            "autotune: [%s] was tuned with NVRTC and headers %s and is compiled with %s, so its "
            "time may differ; tune again (said once; the bundle's entries say it of each)\n",
            entry->section, entry->nvrtc, nvrtc);
    free(entry->nvrtc);
    entry->nvrtc = alloc_string(nvrtc);
    return 0;
}

/* Writes the cubin of a variant, or if `build` is NULL of the source of `from`, with the file beside it: the one that
 * was tuned, from the cache, or else compiles it. */
static int write_cubin(struct bundle *bundle, const char *path, const struct cubin_origin *from,
                       const struct build *build, struct tuned_entry *entry, struct error *error)
{
    struct compilation compilation = {0};
    bool compiled = false;
    int status = 0;
    if (!application_cached(bundle->builder.cache, from->source, from->options, entry->arch,
                            entry->nvrtc, &compilation)) {
        status = build != NULL
                     ? single_compile_cubin(&bundle->builder, build, &compilation, &compiled, error)
                     : single_compile_source_cubin(&bundle->builder, from->source, from->options,
                                                   entry->arch, &compilation, &compiled, error);
        if (status == 0 && build != NULL)
            status = note_toolkit(bundle, entry, error);
    }
    if (status == 0 && interrupt_requested())
        status = error_set(error, ERROR_INTERRUPTED, "interrupted");
    if (status == 0) {
        char *beside = alloc_format("%s.hash", path);
        note_file(bundle, path);
        note_file(bundle, beside);
        free(beside);
        status = bundled_cubin_write(path, from, &compilation, error);
        bundle->compiled += compiled;
        bundle->cubins++;
    }
    compilation_release(&compilation);
    return status;
}

/* The cubin of a configuration, whose values are bound as libtuned_kernel does: with the template's defaults. */
static int add_cubin(struct bundle *bundle, struct tuned_entry *entry, size_t index,
                     const struct template *template, struct error *error)
{
    struct bindings parameters = {0};
    struct bindings problem = {0};
    const struct build build = {template, &parameters, &problem, entry->arch, false, false};
    struct options options = {0};
    const struct cubin_origin from = {&template->source, &options, entry->compute_capability};
    bool other_version = strcmp(template->hash, entry->template_hash) != 0;
    char *path = cubin_path(bundle, entry, index);
    if (path == NULL)
        return error_set(
            error, ERROR_CONFIG,
            "section '%s' must have the kernel and 8 hexadecimal digits as its name, as in "
            "[%s 00000001]",
            entry->section, entry->kernel);
    struct bindings values = tuned_entry_parameters(entry, index);
    bindings_append(&values, &entry->problem);
    int status = build_bind(template, &values, other_version, &parameters, &problem, error);
    if (status == 0)
        status = variant_options(template, &parameters, &problem, &options, error);
    if (status == 0)
        status = write_cubin(bundle, path, &from, &build, entry, error);
    options_release(&options);
    bindings_release(&values);
    free(path);
    bindings_release(&parameters);
    bindings_release(&problem);
    return status;
}

/* Adds an entry's template and the cubins of its configurations. */
static int add_entry(struct bundle *bundle, struct tuned_entry *entry, struct error *error)
{
    const struct template *template = take_template(bundle, entry, error);
    if (template == NULL)
        return error->code;
    if (strcmp(template->hash, entry->template_hash) != 0 && !bundle->accept_other_versions)
        return error_set_at(error, ERROR_CONFIG, template->path, 0,
                            "[%s] was tuned with another version of the template; tune it again, "
                            "name the right folder with --templates, or bundle it with "
                            "--accept-other-versions",
                            entry->section);
    int status = 0;
    for (size_t i = 0; i < tuned_entry_count(entry) && status == 0; i++)
        status = add_cubin(bundle, entry, i, template, error);
    return status;
}

/* --- the application's own sources --- */

/* The definitions that libtuned gives an application for this configuration. */
static int define_entry(const struct tuned_table *table, const struct tuned_entry *entry,
                        size_t index, struct tuned_definitions *definitions, struct error *error)
{
    const struct tuned_configuration *configuration = NULL;
    struct tuned_match match = {0};
    for (size_t i = 0; (configuration = tuned_at(table, i)) != NULL; i++)
        if (strcmp(configuration->section, entry->section) == 0 &&
            (configuration->cover == NULL || configuration->number == (int)index + 1))
            break;
    if (configuration != NULL) {
        const struct tuned_query query = {.kernel = configuration->kernel,
                                          .gpu = configuration->gpu,
                                          .problem = configuration->problem,
                                          .problem_count = configuration->problem_count,
                                          .cache = configuration->cache};
        if (configuration->cover != NULL) { /* some problem gets it */
            match.from = configuration;
            match.parameters = configuration->parameters;
            match.parameter_count = configuration->parameter_count;
        }
        bool found = configuration->cover != NULL ||
                     (tuned_find(table, &query, &match) == 0 && match.from == configuration);
        if (found && tuned_define(table, &query, &match, definitions) == 0)
            return 0;
    }
    return error_set(error, ERROR_CONFIG,
                     "[%s] is not the configuration that an application would find",
                     entry->section);
}

static int add_own_cubin(struct bundle *bundle, const struct source *source,
                         const struct tuned_definitions *definitions, struct tuned_entry *entry,
                         size_t index, struct error *error)
{
    struct options options;
    application_source_options(source, definitions->items, definitions->count, &options);
    char *configuration = cubin_path(bundle, entry, index);
    char *path =
        application_source_binary(source, definitions->items, definitions->count, configuration);
    const struct cubin_origin from = {source, &options, entry->compute_capability};
    int status = write_cubin(bundle, path, &from, NULL, entry, error);
    free(path);
    free(configuration);
    options_release(&options);
    return status;
}

static int add_source(struct bundle *bundle, const struct tuned_table *table, const char *file,
                      char *kernel, struct error *error)
{
    struct source source;
    struct tuned_definitions definitions = {0};
    char *const kernels[] = {kernel, NULL};
    int status = check_kernels(&bundle->tuned, kernels, error);
    if (status != 0)
        return status;
    char *templates = alloc_format("%s/templates", bundle->work);
    status = application_source_load(&source, file, templates, error);
    free(templates);
    if (status != 0)
        return status;
    for (size_t i = 0; i < bundle->tuned.count && status == 0; i++) {
        struct tuned_entry *entry = &bundle->tuned.entries[i];
        if (strcmp(entry->kernel, kernel) != 0)
            continue;
        for (size_t j = 0; j < tuned_entry_count(entry) && status == 0; j++) {
            status = define_entry(table, entry, j, &definitions, error);
            if (status == 0)
                status = add_own_cubin(bundle, &source, &definitions, entry, j, error);
        }
    }
    source_release(&source);
    return status;
}

/* Adds the cubins of the application's own sources; `table` is the bundle's tuned INI. */
static int add_sources(struct bundle *bundle, const struct tuned_table *table, struct error *error)
{
    int status = 0;
    for (char **item = bundle->sources; item != NULL && *item != NULL && status == 0; item++) {
        char *file = alloc_string(*item);
        char *equals = strrchr(file, '=');
        if (equals == NULL) {
            status = error_set(error, ERROR_USAGE, "--source: '%s' is not FILE=KERNEL", *item);
        } else {
            *equals = '\0';
            status = add_source(bundle, table, file, equals + 1, error);
        }
        free(file);
    }
    return status;
}

/* --- entries --- */

static bool has_entry(const struct tuned_file *tuned, const char *section)
{
    for (size_t i = 0; i < tuned->count; i++)
        if (strcmp(tuned->entries[i].section, section) == 0)
            return true;
    return false;
}

/* What look-ups read, but the tuner skips, such as a section that lacks the driver's version, cannot be packed:
 * without it, the bundle would answer otherwise. */
static int check_skipped(const struct bundle *bundle, struct error *error)
{
    const struct tuned_file *tuned = &bundle->tuned;
    const struct tuned_configuration *next;
    struct tuned_table *table = NULL;
    int status = 0;
    if (tuned->skipped_count > 0)
        (void)tuned_load(&table, bundle->tuned_path, NULL);
    for (size_t i = 0; table != NULL && (next = tuned_at(table, i)) != NULL; i++)
        for (size_t j = 0; j < tuned->skipped_count && status == 0; j++)
            if (strcmp(tuned->skipped[j].section, next->section) == 0 &&
                !has_entry(tuned, next->section) &&
                command_wants_kernel(bundle->kernels, next->kernel)) {
                *error = tuned->skipped[j].reason;
                status = error->code;
            }
    tuned_free(table);
    return status;
}

/* An application takes one template for a kernel: it would never get what was tuned with another. */
static int check_templates(const struct tuned_file *tuned, struct error *error)
{
    for (size_t i = 0; i < tuned->count; i++) {
        const struct tuned_entry *entry = &tuned->entries[i];
        const struct tuned_entry *first = tuned->entries;
        while (strcmp(first->kernel, entry->kernel) != 0)
            first++;
        if (strcmp(first->template_name, entry->template_name) != 0)
            return error_set(error, ERROR_CONFIG,
                             "[%s] and [%s] come from different templates, '%s' and '%s'; remove "
                             "one, or tune it as another kernel: [NAME] with 'template = %s'",
                             first->section, entry->section, first->template_name,
                             entry->template_name, entry->template_name);
    }
    return 0;
}

static int read_entries(struct bundle *bundle, struct error *error)
{
    struct tuned_file *tuned = &bundle->tuned;
    const char *path = bundle->tuned_path;
    size_t kept = 0;
    int status = command_read_tuned(path, tuned, error);
    if (status == 0)
        status = check_skipped(bundle, error);
    tuned_file_drop_skipped(tuned); /* of no use to an application */
    if (status == 0 && tuned->count > 0)
        status = check_kernels(tuned, bundle->kernels, error);
    for (size_t i = 0; i < tuned->count; i++) {
        if (command_wants_kernel(bundle->kernels, tuned->entries[i].kernel))
            tuned->entries[kept++] = tuned->entries[i];
        else
            tuned_entry_release(&tuned->entries[i]);
    }
    tuned->count = kept;
    if (status == 0)
        status = check_templates(tuned, error);
    if (status == 0 && kept == 0)
        status = error_set_at(error, ERROR_CONFIG, path, 0,
                              "the file does not exist or has no entry; tune first");
    return status;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
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

/* Removes a file of an older bundle from the output unless the new one has it, too. */
static void drop_older_file(const struct bundle *bundle, const char *templates, const char *file)
{
    const char *name = inside(templates, file);
    bool kept = name == NULL;
    for (size_t i = 0; i < bundle->file_count && !kept; i++) {
        const char *path = inside(bundle->work, bundle->files[i]);
        kept = strncmp(path, "templates/", strlen("templates/")) == 0 &&
               strcmp(path + strlen("templates/"), name) == 0;
    }
    if (!kept)
        (void)unlink(file);
}

/* Removes the headers of an older bundle's templates that these do not have any more, but might find. */
static void drop_older_files(const struct bundle *bundle)
{
    char *folder = alloc_format("%s/templates", bundle->output);
    char *templates = realpath(folder, NULL);
    for (size_t i = 0; i < bundle->loaded_count && templates != NULL; i++) {
        struct template older;
        char *path = alloc_format("%s/%s.ini", templates, bundle->loaded[i].name);
        if (access(path, R_OK) == 0 && template_load(&older, path, NULL) == 0) {
            for (size_t j = 0; j < older.source.file_count; j++)
                drop_older_file(bundle, templates, older.source.files[j].path);
            template_release(&older);
        }
        free(path);
    }
    free(templates);
    free(folder);
}

/* Moves the files to the output. The old tuned.ini is removed first and the new one is moved last: a folder without one
 * is not a bundle. */
static int move_files(const struct bundle *bundle, struct error *error)
{
    char *tuned = alloc_format("%s/tuned.ini", bundle->output);
    /* An older bundle is withdrawn, unless its tuned INI is the one to pack: while its files are replaced, it is
     * neither the old one nor the new one. */
    char *packed = realpath(bundle->tuned_path, NULL);
    char *older = realpath(tuned, NULL);
    int status = 0;
    if (older != NULL && (packed == NULL || strcmp(older, packed) != 0) && unlink(tuned) != 0)
        status = error_set_errno(error, ERROR_RECORD, "cannot remove '%s'", tuned);
    if (status == 0 && older != NULL)
        drop_older_files(bundle);
    free(older);
    free(packed);
    for (size_t i = 0; i < bundle->file_count && status == 0; i++) {
        const char *file = bundle->files[i];
        bool is_folder = file[strlen(file) - 1] == '/';
        char *path = alloc_format("%s%s", bundle->output, file + strlen(bundle->work));
        status = write_file_make_folders(path, error);
        if (status == 0 && !is_folder && rename(file, path) != 0)
            status = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", path);
        free(path);
    }
    for (size_t i = 0; i < bundle->loaded_count && status == 0; i++)
        status = check_copy(bundle->output, &bundle->loaded[i],
                            " of an older bundle; write this one to another folder", error);
    if (status == 0)
        status = tuned_file_write(tuned, &bundle->tuned, error);
    free(tuned);
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

static int make_bundle(void *user, struct command_input *input, struct error *error)
{
    struct bundle *bundle = user;
    (void)input;
    if (bundle->output == NULL)
        return error_set(error, ERROR_USAGE, "no folder to write; name one with --output");
    int status = command_tuned_path(bundle->tuned_option, &bundle->tuned_path, error);
    if (status == 0)
        status = read_entries(bundle, error);
    interrupt_install(); /* so that the work folder is removed in any case */
    if (status == 0)
        status = make_work_folder(bundle, error);
    for (size_t i = 0; i < bundle->tuned.count && status == 0; i++)
        status = add_entry(bundle, &bundle->tuned.entries[i], error);
    if (status == 0 && bundle->sources != NULL) {
        struct tuned_table *table = NULL;
        char *path = alloc_format("%s/tuned.ini", bundle->work); /* its 1e3 is written as 1000.0 */
        status = tuned_file_write(path, &bundle->tuned, error);
        if (status == 0)
            status = command_load_table(path, &table, error);
        if (status == 0)
            status = add_sources(bundle, table, error);
        (void)unlink(path);
        tuned_free(table);
        free(path);
    }
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

int command_bundle(int argc, const char **argv, struct error *error)
{
    struct bundle bundle = {0};
    const struct poptOption table[] = {
        option_text("tuned", 't', &bundle.tuned_option,
                    "the tuned INI (default: results/tuned.ini)", "FILE"),
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
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "bundle --output DIR [OPTION...]\n\n"
        "Packs a tuned INI, the cubin of each configuration and the templates into one\n"
        "folder that an application ships. On a GPU that was tuned, the application then\n"
        "compiles nothing. Needs NVRTC, but no GPU.\n\n"
        "Example: autotune bundle --tuned results/tuned.ini --output bundle",
        make_bundle, &bundle};
    int status = command_perform(argc, argv, &line, error);
    single_compile_release(&bundle.builder);
    for (size_t i = 0; i < bundle.loaded_count; i++)
        template_release(&bundle.loaded[i]);
    free(bundle.loaded);
    tuned_file_release(&bundle.tuned);
    remove_work_folder(&bundle);
    return status;
}
