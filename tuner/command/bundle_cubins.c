#include "command/bundle.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "command/command.h"
#include "compile/application.h"
#include "compile/bundled_cubin.h"
#include "template/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a cubin and the file beside it. */
static int write_cubin_file(struct bundle *bundle, const char *path,
                            const struct cubin_origin *origin,
                            const struct compilation *compilation, struct error *error)
{
    if (interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    char *beside = alloc_format("%s.hash", path);
    bundle_note_file(bundle, path);
    bundle_note_file(bundle, beside);
    free(beside);
    return bundled_cubin_write(path, origin, compilation, error);
}

/* How many configurations an entry has, and the parameters of one, counted from 0. */
static size_t configuration_count(const struct tuned_entry *entry)
{
    return entry->cover != NULL ? entry->cover->configuration_count : 1;
}

static const struct bindings *parameters_of(const struct tuned_entry *entry, size_t index)
{
    return entry->cover != NULL ? &entry->cover->configurations[index].parameters
                                : &entry->parameters;
}

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

/* A configuration's values as libtuned_kernel binds them: with the template's defaults. */
static int bind_entry(const struct tuned_entry *entry, size_t index,
                      const struct template *template, struct bindings *parameters,
                      struct bindings *problem, struct error *error)
{
    struct bindings values = {0};
    bindings_append(&values, parameters_of(entry, index));
    bindings_append(&values, &entry->problem);
    bool other_version = strcmp(template->hash, entry->template_hash) != 0;
    int status = build_bind(template, &values, other_version, parameters, problem, error);
    bindings_release(&values);
    return status;
}

static int write_cubin(struct bundle *bundle, const struct tuned_entry *entry, size_t index,
                       const struct template *template, struct error *error)
{
    struct bindings parameters = {0};
    struct bindings problem = {0};
    const struct build build = {template, &parameters, &problem, entry->arch, false};
    struct options options = {0};
    const struct cubin_origin from = {&template->source, &options, entry->compute_capability};
    struct compilation compilation = {0};
    bool compiled = false;
    char *path = cubin_path(bundle, entry, index);
    if (path == NULL)
        return error_set(
            error, ERROR_CONFIG,
            "section '%s' must have the kernel and 8 hexadecimal digits as its name, as in "
            "[%s 00000001]",
            entry->section, entry->kernel);
    int status = bind_entry(entry, index, template, &parameters, &problem, error);
    if (status == 0)
        status = single_compile_cubin(&bundle->builder, &build, &compilation, &compiled, error);
    if (status == 0) {
        status = variant_options(template, &parameters, &problem, &options, error);
        if (status == 0)
            status = write_cubin_file(bundle, path, &from, &compilation, error);
        options_release(&options);
        bundle->compiled += compiled;
        bundle->cubins++;
    }
    free(path);
    compilation_release(&compilation);
    bindings_release(&parameters);
    bindings_release(&problem);
    return status;
}

int bundle_add_entry(struct bundle *bundle, const struct tuned_entry *entry, struct error *error)
{
    const struct template *template = bundle_take_template(bundle, entry, error);
    if (template == NULL)
        return error->code;
    if (strcmp(template->hash, entry->template_hash) != 0 && !bundle->accept_other_versions)
        return error_set_at(error, ERROR_CONFIG, template->path, 0,
                            "[%s] was tuned with another version of the template; tune it again, "
                            "name the right folder with --templates, or bundle it with "
                            "--accept-other-versions",
                            entry->section);
    int status = 0;
    for (size_t i = 0; i < configuration_count(entry) && status == 0; i++)
        status = write_cubin(bundle, entry, i, template, error);
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

static int write_own_cubin(struct bundle *bundle, const struct source *source,
                           const struct tuned_definitions *definitions,
                           const struct tuned_entry *entry, size_t index, struct error *error)
{
    struct options options;
    struct compilation compilation = {0};
    bool compiled = false;
    int status =
        application_source_options(source, definitions->items, definitions->count, &options, error);
    if (status == 0)
        status = single_compile_source_cubin(&bundle->builder, source, &options, entry->arch,
                                             &compilation, &compiled, error);
    if (status == 0) {
        char *configuration = cubin_path(bundle, entry, index);
        char *path = application_source_binary(source, definitions->items, definitions->count,
                                               configuration);
        const struct cubin_origin from = {source, &options, entry->compute_capability};
        status = write_cubin_file(bundle, path, &from, &compilation, error);
        bundle->compiled += compiled;
        bundle->cubins++;
        free(path);
        free(configuration);
    }
    compilation_release(&compilation);
    options_release(&options);
    return status;
}

static int add_source(struct bundle *bundle, const struct tuned_table *table, const char *file,
                      char *kernel, struct error *error)
{
    struct source source;
    struct tuned_definitions definitions = {0};
    char *const kernels[] = {kernel, NULL};
    int status = bundle_check_kernels(&bundle->tuned, kernels, error);
    if (status != 0)
        return status;
    char *templates = alloc_format("%s/templates", bundle->work);
    status = application_source_load(&source, file, templates, error);
    free(templates);
    if (status != 0)
        return status;
    for (size_t i = 0; i < bundle->tuned.count && status == 0; i++) {
        const struct tuned_entry *entry = &bundle->tuned.entries[i];
        if (strcmp(entry->kernel, kernel) != 0)
            continue;
        for (size_t j = 0; j < configuration_count(entry) && status == 0; j++) {
            status = define_entry(table, entry, j, &definitions, error);
            if (status == 0)
                status = write_own_cubin(bundle, &source, &definitions, entry, j, error);
        }
    }
    source_release(&source);
    return status;
}

int bundle_add_sources(struct bundle *bundle, const struct tuned_table *table, struct error *error)
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
