#include "command/command.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/write_file.h"
#include "command/command_query.h"
#include "command/export.h"
#include "record/tuned_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- one configuration --- */

/* `definition` is "NAME=VALUE". */
static void put_definition(FILE *stream, const char *kernel, const char *definition,
                           bool with_prefix)
{
    size_t length = strcspn(definition, "=");
    char *name = alloc_string_n(definition, length);
    char *own = with_prefix ? export_prefixed(kernel, name) : alloc_string(name);
    export_put_define(stream, own, definition + length + 1);
    free(own);
    free(name);
}

/* Writes the macros that the kernel's source expects, and the same with the kernel's name, to be
 * included before it or with -include. */
static void write_one(FILE *stream, const struct command_query *query,
                      const char *const *definitions, size_t count)
{
    char text[1024];
    (void)tuned_explain(&query->query, &query->match, text, sizeof text);
    for (char *next = text; (next = strstr(next, "*/")) != NULL;)
        next[1] = '|';
    fprintf(stream, "/* Made by `autotune export`; do not edit.\n * %s */\n", text);
    if (query->match.from != NULL)
        export_put_template_hash(stream, query->kernel, query->match.from->template_hash);
    for (size_t i = 0; i < count; i++)
        put_definition(stream, query->kernel, definitions[i] + 2, true);
    fputs("/* What the kernel's source uses. Code that includes such headers of several kernels\n"
          " * defines AUTOTUNE_PREFIXED_ONLY first. */\n#ifndef AUTOTUNE_PREFIXED_ONLY\n",
          stream);
    for (size_t i = 0; i < count; i++)
        put_definition(stream, query->kernel, definitions[i] + 2, false);
    fputs("#endif\n", stream);
}

/* --- all configurations --- */

static bool same_names(const struct tuned_value *a, size_t a_count, const struct tuned_value *b,
                       size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; i < a_count && same; i++)
        same = strcmp(a[i].name, b[i].name) == 0;
    return same;
}

/* The first configuration from `index` on that belongs to no cover. */
static const struct tuned_configuration *own_configuration(const struct tuned_table *table,
                                                           size_t index)
{
    const struct tuned_configuration *next = tuned_at(table, index);
    const char *kernel = next->kernel;
    while (next != NULL && next->cover != NULL)
        next = tuned_at(table, ++index);
    return next != NULL && strcmp(next->kernel, kernel) == 0 ? next : NULL;
}

static int write_rows(FILE *stream, const struct command_query *query, size_t *index,
                      struct error *error)
{
    const struct tuned_table *table = query->table;
    const struct tuned_configuration *first = own_configuration(table, *index);
    const struct tuned_configuration *next;
    size_t rows = 0;
    int status = 0;
    fprintf(stream, "\n/* X(index, gpu, compute_capability, sm_count, l2_bytes, median_ns");
    export_put_names(stream, first->problem, first->problem_count);
    export_put_names(stream, first->parameters, first->parameter_count);
    fputs(") */\n", stream);
    fputs("#define ", stream);
    export_put_upper(stream, first->kernel);
    fputs("_CONFIGURATIONS(X)", stream);
    while ((next = tuned_at(table, *index)) != NULL && strcmp(next->kernel, first->kernel) == 0 &&
           status == 0) {
        ++*index;
        if (next->cover != NULL || !export_takes(query, next))
            continue;
        /* the configurations of a kernel are rows of one list, so they must have the same columns */
        if (!same_names(first->parameters, first->parameter_count, next->parameters,
                        next->parameter_count) ||
            !same_names(first->problem, first->problem_count, next->problem, next->problem_count))
            status = error_set(error, ERROR_CONFIG,
                               "[%s] and [%s] come from different versions of the template; tune "
                               "again, or remove one",
                               first->section, next->section);
        char *gpu = export_string(next->gpu->name);
        fprintf(stream, " \\\n    X(%zu, %s, %d, %d, %lld, %.0f", rows++, gpu,
                next->gpu->compute_capability, next->gpu->sm_count, (long long)next->gpu->l2_bytes,
                next->median_ns);
        free(gpu);
        export_put_values(stream, next->problem, next->problem_count);
        export_put_values(stream, next->parameters, next->parameter_count);
        fputs(next->incomplete ? ") /* incomplete */" : ")", stream);
    }
    char *count = export_prefixed(first->kernel, "configuration_count");
    fprintf(stream, "\n#define %s %zu\n", count, rows);
    free(count);
    return status;
}

static int write_kernel(FILE *stream, const struct command_query *query,
                        const struct tuned_file *tuned, size_t *index, struct error *error)
{
    const struct tuned_table *table = query->table;
    const struct tuned_configuration *first = tuned_at(table, *index);
    size_t begin = *index;
    const struct tuned_configuration *next;
    int status = export_check_versions(query, begin, error);
    if (status != 0)
        return status;
    fputc('\n', stream);
    export_put_template_hash(stream, first->kernel, first->template_hash);
    if (own_configuration(table, begin) != NULL) {
        status = write_rows(stream, query, index, error);
    } else { /* only covers; the macro also says that this header has the kernel */
        char *rows = export_prefixed(first->kernel, "configurations");
        char *count = export_prefixed(first->kernel, "configuration_count");
        fprintf(stream, "#define %s(X)\n#define %s 0\n", rows, count);
        free(rows);
        free(count);
    }
    while ((next = tuned_at(table, *index)) != NULL && strcmp(next->kernel, first->kernel) == 0)
        ++*index;
    return status == 0 ? export_covers(stream, query, tuned, begin, error) : status;
}

/* Writes a kernel's configurations once, however many headers have them; others of that kernel are
 * an error. */
static int write_guarded_kernel(FILE *stream, const struct command_query *query,
                                const struct tuned_file *tuned, size_t *index, struct error *error)
{
    char *name = export_prefixed(tuned_at(query->table, *index)->kernel, "configurations");
    char digits[HASH_BYTES];
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL)
        abort(); /* out of memory, as in alloc.h */
    int status = write_kernel(memory, query, tuned, index, error);
    if (fclose(memory) != 0)
        abort();
    struct hash *hash = hash_new();
    hash_add_text(hash, text);
    hash_finish(hash, digits);
    fprintf(stream,
            "\n#ifndef %s\n#define AUTOTUNE_EXPORTED_%s_%s%s#elif !defined "
            "AUTOTUNE_EXPORTED_%s_%s\n#error %s are others in another header of `autotune "
            "export`\n#endif\n",
            name, name, digits, text, name, digits, name);
    free(text);
    free(name);
    return status;
}

static int write_kernels(FILE *stream, const struct command_query *query,
                         const struct tuned_file *tuned, struct error *error)
{
    const struct tuned_configuration *next;
    size_t index = 0;
    size_t written = 0;
    int status = 0;
    fputs("/*\n * Made by `autotune export --header`; do not edit.\n * Each kernel's tuned "
          "configurations as an X-macro: words are the constants of the kernel's source.\n */\n",
          stream);
    while ((next = tuned_at(query->table, index)) != NULL && status == 0) {
        if (query->kernel == NULL || strcmp(query->kernel, next->kernel) == 0) {
            status = write_guarded_kernel(stream, query, tuned, &index, error);
            written++;
        } else {
            index++;
        }
    }
    if (status == 0 && written == 0)
        status = error_set(error, ERROR_USAGE, "the tuned INI has no configuration");
    return status;
}

static int write_all(FILE *stream, const struct command_query *query, struct error *error)
{
    struct tuned_file tuned;
    struct stat information;
    const char *path;
    if (command_tuned_path(query->tuned, &path, error) != 0)
        return error->code;
    bool is_bundle = stat(path, &information) == 0 && S_ISDIR(information.st_mode);
    char *file = alloc_format("%s%s", path, is_bundle ? "/tuned.ini" : "");
    int status = tuned_file_read(file, &tuned, error);
    if (status == 0)
        status = command_query_check_cache(query, error);
    if (status == 0)
        status = write_kernels(stream, query, &tuned, error);
    free(file);
    tuned_file_release(&tuned);
    return status;
}

/* --- the command --- */

struct export
{
    int header, definitions, json, python;
    char *output;
    struct command_query query;
};

static bool has_text(const char *const *items, size_t count, const char *text)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = strcmp(items[i], text) == 0;
    return found;
}

/* The definitions of the answer: those of look-ups, and those that its template spells otherwise, if it is found. */
static int write_answer(struct export *export, FILE *stream, struct error *error)
{
    struct command_query *query = &export->query;
    struct tuned_definitions *definitions = alloc_zeroed(1, sizeof *definitions);
    struct export_variant variant = {0};
    const char **items = NULL;
    size_t count = 0;
    int status = 0;
    if (tuned_define(query->table, &query->query, &query->match, definitions) != 0)
        status = error_set(error, ERROR_USAGE, "the value of a problem word is not a valid word");
    if (status == 0)
        status = export_variant(query, query->match.from, &query->match, &variant, error);
    for (size_t i = 0; i < definitions->count; i++)
        *ARRAY_APPEND(items, count) = definitions->items[i];
    for (size_t i = 0; i < variant.options.definition_count; i++)
        if (!has_text(items, count, export_definition(&variant, i)))
            *ARRAY_APPEND(items, count) = export_definition(&variant, i);
    for (size_t i = 0; i < count && status == 0 && export->definitions; i++)
        fprintf(stream, "%s\n", items[i]);
    if (status == 0 && export->header)
        write_one(stream, query, items, count);
    free(items);
    export_variant_release(&variant);
    free(definitions);
    return status;
}

static int export_to(struct export *export, const struct command_input *input, FILE *stream,
                     struct error *error)
{
    struct command_query *query = &export->query;
    bool all = !export->definitions && query->gpu_name == NULL && query->arch == NULL;
    bool json = export->json || export->python;
    int status = 0;
    if (export->header + export->definitions + export->json + export->python != 1)
        return error_set(error, ERROR_USAGE,
                         "choose what to export: --header, --definitions, --json or --python");
    if (all && input->values.count > 0)
        return error_set(
            error, ERROR_USAGE,
            "to export one problem's configuration, also name the GPU, with --gpu or --arch");
    status = command_query_load(query, !all, error);
    if (status == 0 && all)
        return json ? export_json(stream, query, true, export->python, error)
                    : write_all(stream, query, error);
    if (status == 0)
        status = command_query_ask(query, input, error);
    if (status != 0)
        return status;
    if (json)
        return export_json(stream, query, false, export->python, error);
    return write_answer(export, stream, error);
}

static int export_file(void *user, struct command_input *input, struct error *error)
{
    struct export *export = user;
    struct write_file file;
    int status = 0;
    if (export->output == NULL) {
        status = export_to(export, input, stdout, error);
    } else {
        status = write_file_begin(&file, export->output, error);
        if (status == 0)
            status = write_file_finish(&file, export_to(export, input, file.stream, error), error);
    }
    command_query_release(&export->query);
    return status;
}

int command_export(int argc, const char **argv, struct error *error)
{
    struct export export = {0};
    enum { OWN_OPTIONS = 5 };
    struct poptOption table[OWN_OPTIONS + QUERY_OPTIONS + 1] = {
        option_flag("header", 0, &export.header,
                    "a C header with all configurations; with --gpu or --arch, only the one for a "
                    "problem"),
        option_flag("definitions", 0, &export.definitions,
                    "the -D options of the configuration for a problem, one per line"),
        option_flag("json", 0, &export.json,
                    "all configurations as JSON; with --gpu or --arch, only the one for a problem, "
                    "with its launches"),
        option_flag("python", 0, &export.python, "the same as a Python module"),
        option_text("output", 'o', &export.output, "write to this file (default: stdout)", "FILE"),
    };
    const struct command_line line = {
        table, TAKES_VALUES,
        "export --header|--definitions|--json|--python [OPTION...]\n\n"
        "Writes tuned configurations for applications that compile ahead of time, and for\n"
        "scripts. A problem is given as --VALUE NUMBER.\n\n"
        "Example: autotune export --header --output tuned_kernels.h\n"
        "Example: autotune export --header -k reduce_sum --gpu \"NVIDIA H200\" --n 2^24",
        export_file, &export};
    command_query_options(&export.query, table + OWN_OPTIONS);
    return command_perform(argc, argv, &line, error);
}
