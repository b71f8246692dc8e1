#include "table.h"

#include "base/tuned_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GPU_LIMIT = 4096 };

/* --- tuned INI --- */

/* The table being read, and its open section. */
struct loading {
    struct tuned_table *table;
    struct tuned_configuration configuration;
    struct tuned_gpu gpu;
    size_t first_parameter, first_problem;
};

static int take_text(struct tuned_reader *reader, const char *text, const char **kept)
{
    struct loading *loading = reader->user;
    *kept = pool_keep(&loading->table->pool, text, strlen(text));
    return *kept != NULL ? 0 : ini_reader_no_memory(&reader->ini);
}

static int take_value(struct tuned_reader *reader, const struct tuned_item *item,
                      struct values *values)
{
    const char *name = NULL;
    const char *text = NULL;
    int status = take_text(reader, item->name, &name);
    if (status == 0)
        status = take_text(reader, item->text, &text);
    if (status == 0 && !values_add(values, name, text, &item->value))
        status = ini_reader_no_memory(&reader->ini);
    return status;
}

static int take_item(struct tuned_reader *reader, const struct tuned_item *item)
{
    struct loading *loading = reader->user;
    struct tuned_configuration *configuration = &loading->configuration;
    switch (item->key) {
    case TUNED_KEY_kernel:
        return take_text(reader, item->text, &configuration->kernel);
    case TUNED_KEY_template_name:
        return take_text(reader, item->text, &configuration->template_name);
    case TUNED_KEY_template_hash:
        return take_text(reader, item->text, &configuration->template_hash);
    case TUNED_KEY_nvrtc:
        return take_text(reader, item->text, &configuration->nvrtc);
    case TUNED_KEY_cache:
        return take_text(reader, item->text, &configuration->cache);
    case TUNED_KEY_incomplete:
        configuration->incomplete = item->flag;
        break;
    case TUNED_KEY_problem:
        return take_value(reader, item, &loading->table->problems);
    case TUNED_KEY_parameters:
        return take_value(reader, item, &loading->table->parameters);
    case TUNED_KEY_gpu:
        (void)snprintf(loading->gpu.name, sizeof loading->gpu.name, "%s", item->text);
        break;
    case TUNED_KEY_compute_capability:
        loading->gpu.compute_capability = (int)item->value.integer;
        break;
    case TUNED_KEY_sm_count:
        loading->gpu.sm_count = (int)item->value.integer;
        break;
    case TUNED_KEY_l2_bytes:
        loading->gpu.l2_bytes = item->value.integer;
        break;
    case TUNED_KEY_memory_gb_per_s:
        loading->gpu.memory_gb_per_s = item->value.real;
        break;
    case TUNED_KEY_median_ns:
        configuration->median_ns = item->value.real;
        break;
    default: /* ignored by applications */
        break;
    }
    return 0;
}

static bool same_gpu(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    return strcmp(a->name, b->name) == 0 && a->compute_capability == b->compute_capability &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes &&
           !(a->memory_gb_per_s < b->memory_gb_per_s) && !(a->memory_gb_per_s > b->memory_gb_per_s);
}

/* NULL if there are more than a real file has; the search is linear. */
static const struct tuned_gpu *keep_gpu(struct tuned_table *table, const struct tuned_gpu *gpu)
{
    size_t i = 0;
    while (i < table->gpu_count && !same_gpu(&table->gpus[i], gpu))
        i++;
    if (i == GPU_LIMIT)
        return NULL;
    if (i == table->gpu_count)
        table->gpus[table->gpu_count++] = *gpu; /* allocated for one GPU per section */
    return &table->gpus[i];
}

/* Takes over the cover, whose configurations are like that of the section but for their parameters. */
static int end_cover(struct tuned_reader *reader)
{
    const struct loading *loading = reader->user;
    struct tuned_table *table = loading->table;
    struct cover *cover = reader->cover;
    if (table->room - table->count < cover->public.count)
        return ini_reader_no_memory(&reader->ini);
    for (size_t i = 0; i < cover->public.count; i++) {
        struct tuned_configuration *configuration = &table->configurations[table->count++];
        *configuration = loading->configuration;
        configuration->parameters = cover->configurations[i].parameters;
        configuration->parameter_count = cover->configurations[i].count;
        configuration->cover = &cover->public;
        configuration->number = (int)i + 1;
    }
    reader->cover = NULL;
    cover->next = table->covers;
    table->covers = cover;
    table->cover_count++;
    return 0;
}

static int end_section(struct tuned_reader *reader)
{
    struct loading *loading = reader->user;
    struct tuned_table *table = loading->table;
    struct tuned_configuration *configuration = &loading->configuration;
    configuration->gpu = keep_gpu(table, &loading->gpu);
    if (configuration->gpu == NULL)
        return ini_reader_fail(&reader->ini, "file has more than %d GPUs", GPU_LIMIT);
    configuration->problem = table->problems.items + loading->first_problem;
    configuration->problem_count = table->problems.count - loading->first_problem;
    configuration->parameters = table->parameters.items + loading->first_parameter;
    configuration->parameter_count = table->parameters.count - loading->first_parameter;
    if (reader->cover != NULL)
        return end_cover(reader);
    table->configurations[table->count++] = *configuration;
    return 0;
}

static void skip_section(struct tuned_reader *reader)
{
    struct loading *loading = reader->user;
    loading->table->parameters.count = loading->first_parameter;
    loading->table->problems.count = loading->first_problem;
}

static int begin_section(struct tuned_reader *reader, const char *name)
{
    struct loading *loading = reader->user;
    struct tuned_table *table = loading->table;
    *loading = (struct loading){.table = table,
                                .first_parameter = table->parameters.count,
                                .first_problem = table->problems.count};
    if (table->count == table->room)
        return ini_reader_no_memory(&reader->ini);
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->configurations[i].section, name) == 0)
            return tuned_reader_fail_twice(reader, name);
    return take_text(reader, name, &loading->configuration.section);
}

/* Orders by kernel, GPU, and place in the file: strings are stored in the file's order. The
 * configurations of a cover stay together. */
static int compare_configurations(const void *a, const void *b)
{
    const struct tuned_configuration *first = a;
    const struct tuned_configuration *second = b;
    int kernels = strcmp(first->kernel, second->kernel);
    if (kernels != 0)
        return kernels;
    if (first->gpu != second->gpu)
        return first->gpu < second->gpu ? -1 : 1;
    if (first->section != second->section)
        return first->section < second->section ? -1 : 1;
    return first->number - second->number;
}

/* Allocates the most that the text can need, so that nothing grows during reading. */
static bool make_room(struct tuned_table *table, struct text_size size)
{
    table->room = size.configurations;
    table->configurations = calloc(table->room + 1, sizeof *table->configurations);
    table->gpus = calloc(table->room + 1, sizeof *table->gpus);
    /* "k=v" is one byte shorter than "k" and "v" with their zeros; its line end is that byte */
    return pool_init(&table->pool, size.bytes + 4) && values_init(&table->parameters, size.lines) &&
           values_init(&table->problems, size.lines) && table->configurations != NULL &&
           table->gpus != NULL;
}

static int read_table(struct tuned_table *table, const char *name, const char *text, size_t length,
                      struct tuned_error *error)
{
    struct loading loading = {.table = table};
    struct tuned_reader reader = {.reading = TUNED_BY_APPLICATION,
                                  .begin = begin_section,
                                  .item = take_item,
                                  .end = end_section,
                                  .skip = skip_section,
                                  .user = &loading};
    int status = tuned_reader_read(&reader, text, length);
    if (status != 0)
        return tuned_hand_on(error, name, &reader.ini, status);
    if (error != NULL)
        *error = (struct tuned_error){0};
    if (reader.skipped_count > 0)
        (void)tuned_fail(error, TUNED_OK, name, reader.skipped_line, "%s", reader.skipped_message);
    qsort(table->configurations, table->count, sizeof *table->configurations,
          compare_configurations);
    return tuned_group(table) ? 0 : tuned_fail(error, TUNED_NO_MEMORY, name, 0, "out of memory");
}

int tuned_load_text(struct tuned_table **table, const char *name, const char *text, size_t length,
                    struct tuned_error *error)
{
    *table = NULL;
    struct tuned_table *new = calloc(1, sizeof *new);
    int code = new != NULL &&make_room(new, pool_measure(text, length))
                   ? read_table(new, name, text, length, error)
                   : tuned_fail(error, TUNED_NO_MEMORY, name, 0, "out of memory");
    if (code == 0)
        *table = new;
    else
        tuned_free(new);
    return code;
}

/* --- files --- */

/* "FOLDER/templates/NAME.ini", unless it is loaded already. */
static int add_bundled_template(struct tuned_table *table, const char *name,
                                struct tuned_error *error)
{
    char path[4096];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/templates/%s.ini", table->folder, name);
    if (tuned_defaults_of(table, name) != NULL)
        return 0;
    if (length < 0 || (size_t)length >= sizeof path)
        return tuned_fail(error, TUNED_BAD_FILE, table->folder, 0, "path is too long");
    if (stat(path, &status) != 0)
        return tuned_fail(error, TUNED_BAD_FILE, path, 0,
                          "the bundle lacks a template; make it again with `autotune bundle`");
    return tuned_add_template(table, path, error);
}

static int load_file(struct tuned_table **table, const char *path, struct tuned_error *error)
{
    struct ini_reader ini = {0};
    char *text;
    size_t length;
    int code = ini_reader_load(&ini, path, &text, &length);
    code = code == 0 ? tuned_load_text(table, path, text, length, error)
                     : tuned_hand_on(error, path, &ini, code);
    free(text);
    return code;
}

static int load_bundle(struct tuned_table **table, const char *folder, struct tuned_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/tuned.ini", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return tuned_fail(error, TUNED_BAD_FILE, folder, 0, "path is too long");
    int code = load_file(table, path, error);
    if (*table == NULL)
        return code;
    (*table)->folder = strdup(folder);
    if ((*table)->folder == NULL)
        code = tuned_fail(error, TUNED_NO_MEMORY, folder, 0, "out of memory");
    for (size_t i = 0; i < (*table)->count && code == 0; i++)
        code = add_bundled_template(*table, (*table)->configurations[i].template_name, error);
    if (code != 0) {
        tuned_free(*table);
        *table = NULL;
    }
    return code;
}

int tuned_load(struct tuned_table **table, const char *path, struct tuned_error *error)
{
    struct stat status;
    *table = NULL;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? load_bundle(table, path, error)
                                                               : load_file(table, path, error);
}
