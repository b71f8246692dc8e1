#include "command/command_query.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "base/tuned_reader.h"
#include "template/template_load.h"
#include "tune/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_query_options(struct command_query *query, struct poptOption table[QUERY_OPTIONS + 1])
{
    const struct poptOption options[] = {
        option_text("kernel", 'k', &query->kernel, "the kernel", "NAME"),
        option_text("tuned", 't', &query->tuned,
                    "the tuned INI, or a bundle (default: results/tuned.ini)", "FILE"),
        option_text("template", 0, &query->template_path,
                    "the kernel's template, for its defaults; configurations of other versions of "
                    "it are refused",
                    "FILE"),
        option_text("gpu", 'g', &query->gpu_name, "the GPU's name (default: this machine's GPU)",
                    "NAME"),
        option_text("arch", 'a', &query->arch,
                    "the GPU's architecture, if autotune does not know its name", "sm_XX"),
        option_text("limit", 'l', &query->limit,
                    "the last rule that may give the answer: exact, cover, size, gpu, family or "
                    "defaults (default: defaults)",
                    "RULE"),
        option_text(
            "cache", 0, &query->cache,
            "cold or warm: which configuration to take if the file has both (default: cold)",
            "STATE"),
        POPT_TABLEEND};
    _Static_assert(sizeof options / sizeof *options == QUERY_OPTIONS + 1, "QUERY_OPTIONS is wrong");
    memcpy(table, options, sizeof options);
}

int command_query_load(struct command_query *query, bool needs_kernel, struct error *error)
{
    struct tuned_error inner;
    if (needs_kernel && query->kernel == NULL)
        return error_set(error, ERROR_USAGE,
                         "no kernel; name one, for example --kernel reduce_sum");
    const char *path;
    int status = command_tuned_path(query->tuned, &path, error);
    if (status == 0)
        status = command_load_table(path, &query->table, error);
    if (status != 0)
        return status;
    if (query->template_path == NULL) { /* its defaults would have no entry in the table */
        char *const kernels[] = {query->kernel, NULL};
        const struct tuned_configuration *configuration;
        const char **names = NULL;
        size_t count = 0;
        for (size_t i = 0; (configuration = tuned_at(query->table, i)) != NULL; i++)
            *ARRAY_APPEND(names, count) = configuration->kernel;
        if (count > 0)
            status = command_check_kernels(kernels, names, count, error);
        free(names);
        return status;
    }
    status = template_load(&query->template, query->template_path, error);
    if (status == 0 && tuned_add_template(query->table, query->template_path, &inner) != 0)
        status = error_set_at(error, ERROR_CONFIG, inner.file, inner.line, "%s", inner.message);
    query->query.template_hash = query->template.hash;
    return status;
}

static void describe(const struct gpu *gpu, struct tuned_gpu *tuned)
{
    *tuned = (struct tuned_gpu){
        .compute_capability = gpu->compute_capability,
        .sm_count = (int)gpu->attributes[GPU_sm_count],
        .l2_bytes = gpu->attributes[GPU_l2_bytes],
        .memory_gb_per_s = gpu_memory_gb_per_s(gpu),
    };
    (void)snprintf(tuned->name, sizeof tuned->name, "%s", gpu->name);
}

/* The GPUs of the tuned INI, and then the cards that stand in for architectures; a new array. */
static struct tuned_gpu *list_gpus(const struct command_query *query, size_t *count)
{
    const struct tuned_configuration *configuration;
    struct tuned_gpu *gpus = NULL;
    *count = 0;
    for (size_t i = 0; (configuration = tuned_at(query->table, i)) != NULL; i++)
        *ARRAY_APPEND(gpus, *count) = *configuration->gpu;
    for (int capability = 50; capability < 200; capability++) {
        char arch[16];
        struct gpu known;
        (void)snprintf(arch, sizeof arch, "sm_%d", capability);
        if (gpu_from_arch(arch, &known, NULL) == 0)
            describe(&known, ARRAY_APPEND(gpus, *count));
    }
    return gpus;
}

/* Finds the GPU of this name. Returns 0, or ERROR_USAGE with what to do; with its architecture, a card may
 * be unknown, unless its name looks like another one's. */
static int find_by_name(const struct command_query *query, struct tuned_gpu *gpu,
                        struct error *error)
{
    size_t count;
    size_t found = 0;
    int status = 0;
    struct tuned_gpu *gpus = list_gpus(query, &count);
    const char **names = alloc_zeroed(count + 1, sizeof *names);
    const char *meant = NULL; /* the first that the name is a part of, or that it misspells */
    for (size_t i = 0; i < count; i++) {
        names[i] = gpus[i].name;
        if (meant == NULL && strcasestr(names[i], query->gpu_name) != NULL)
            meant = names[i];
    }
    if (meant == NULL)
        meant = suggestion_nearest(query->gpu_name, names);
    while (found < count && strcmp(names[found], query->gpu_name) != 0)
        found++;
    size_t other = found;
    while (other < count && (strcmp(names[other], query->gpu_name) != 0 ||
                             tuned_reader_same_gpu(&gpus[other], &gpus[found])))
        other++;
    if (other < count)
        fprintf(stderr,
                "autotune: cards named '%s' have %d or %d SMs; this is for %d; for the other one, "
                "ask on its machine without --gpu\n",
                query->gpu_name, gpus[found].sm_count, gpus[other].sm_count, gpus[found].sm_count);
    if (found < count)
        *gpu = gpus[found];
    else if (meant != NULL)
        status = error_set(error, ERROR_USAGE, "unknown GPU '%s'; did you mean --gpu \"%s\"?",
                           query->gpu_name, meant);
    else if (query->arch == NULL)
        status = error_set(error, ERROR_USAGE,
                           "unknown GPU '%s'; if it is a card that was not tuned, add its "
                           "architecture, for example --arch sm_90",
                           query->gpu_name);
    free(names);
    free(gpus);
    return status;
}

static int find_gpu(struct command_query *query, struct error *error)
{
    struct gpu known;
    if (query->arch != NULL) {
        int status = gpu_from_arch(query->arch, &known, error);
        if (status != 0)
            return status;
        describe(&known, &query->gpu);
        if (query->gpu_name == NULL || strcmp(query->gpu_name, known.name) == 0)
            return 0;
        struct tuned_gpu of_name;
        if (find_by_name(query, &of_name, error) != 0)
            error_print(error, stderr);
        /* another card of that architecture, whose figures are unknown */
        query->gpu = (struct tuned_gpu){.compute_capability = query->gpu.compute_capability};
        (void)snprintf(query->gpu.name, sizeof query->gpu.name, "%s", query->gpu_name);
        return 0;
    }
    if (query->gpu_name != NULL)
        return find_by_name(query, &query->gpu, error);
    struct gpu *gpus = NULL; /* of this machine */
    size_t count = 0;
    struct error inner;
    int status = gpu_list(&gpus, &count, &inner);
    if (status == 0 && count > 0)
        describe(&gpus[0], &query->gpu);
    else
        status = error_set(
            error, ERROR_USAGE,
            "this machine has no GPU; name one with --gpu \"NVIDIA H200\" or --arch sm_90");
    free(gpus);
    return status;
}

static int read_limit(struct command_query *query, struct error *error)
{
    static const struct {
        const char *name;
        enum tuned_rule rule;
    } limits[] = {{"exact", TUNED_EXACT},        {"cover", TUNED_COVER},
                  {"size", TUNED_NEAREST_SIZE},  {"gpu", TUNED_NEAREST_GPU},
                  {"family", TUNED_SAME_FAMILY}, {"defaults", TUNED_DEFAULTS}};
    if (query->limit == NULL)
        return 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(query->limit, limits[i].name) == 0) {
            query->query.limit = limits[i].rule;
            return 0;
        }
    return error_set(error, ERROR_USAGE,
                     "unknown limit '%s'; choose exact, cover, size, gpu, family or defaults",
                     query->limit);
}

/*
 * The names of the problem's values, from the table or else the template. A new array that ends
 * with NULL.
 */
static const char **problem_names(const struct command_query *query)
{
    const struct tuned_configuration *configuration;
    const char **names = NULL;
    size_t count = 0;
    for (size_t i = 0; (configuration = tuned_at(query->table, i)) != NULL; i++)
        if (strcmp(configuration->kernel, query->kernel) == 0) {
            const struct tuned_cover *cover = configuration->cover;
            for (size_t j = 0; j < configuration->problem_count; j++)
                *ARRAY_APPEND(names, count) = configuration->problem[j].name;
            for (size_t j = 0; cover != NULL && j < cover->range_count; j++)
                *ARRAY_APPEND(names, count) = cover->ranges[j].name;
            break;
        }
    bool listed = count > 0;
    for (size_t i = 0; !listed && i < query->template.problem_count; i++)
        *ARRAY_APPEND(names, count) = query->template.problem[i].name;
    *ARRAY_APPEND(names, count) = NULL;
    return names;
}

static int check_names(const struct command_query *query, const struct command_input *input,
                       struct error *error)
{
    const struct bindings *values = &input->values;
    const char **names = problem_names(query);
    int status = 0;
    for (size_t i = 0; i < values->count && status == 0 && names[0] != NULL; i++) {
        const char *name = values->items[i].name;
        if (!command_is_among(name, names))
            status = command_unknown_option(input->line, name, names, error);
    }
    free(names);
    return status;
}

int command_query_check_cache(const struct command_query *query, struct error *error)
{
    return query->cache == NULL || strcmp(query->cache, "cold") == 0 ||
                   strcmp(query->cache, "warm") == 0
               ? 0
               : error_set(error, ERROR_USAGE, "unknown cache state '%s'; choose cold or warm",
                           query->cache);
}

static int make_problem(struct command_query *query, const struct bindings *values,
                        struct error *error)
{
    if (values->count > TUNED_PROBLEM_VALUES)
        return error_set(error, ERROR_USAGE, "a problem has at most %d values",
                         TUNED_PROBLEM_VALUES);
    for (size_t i = 0; i < values->count; i++) {
        const char *name = values->items[i].name;
        struct value value = values->items[i].value;
        query->problem[i] = value.kind == VALUE_INTEGER ? tuned_integer(name, value.as.integer)
                            : value.kind == VALUE_REAL  ? tuned_real(name, value.as.real)
                                                        : tuned_word(name, value.as.word);
    }
    query->query.cache = query->cache;
    query->query.kernel = query->kernel;
    query->query.gpu = &query->gpu;
    query->query.problem = query->problem;
    query->query.problem_count = values->count;
    return command_query_check_cache(query, error);
}

int command_query_ask(struct command_query *query, const struct command_input *input,
                      struct error *error)
{
    char text[1024];
    int status = read_limit(query, error);
    if (status == 0)
        status = check_names(query, input, error);
    if (status == 0)
        status = find_gpu(query, error);
    if (status == 0)
        status = make_problem(query, &input->values, error);
    if (status != 0)
        return status;
    int code = tuned_find(query->table, &query->query, &query->match);
    if (code == TUNED_OK)
        return 0;
    (void)tuned_explain(&query->query, &query->match, text, sizeof text);
    bool without_defaults = query->template_path == NULL && query->limit == NULL;
    return code == TUNED_NOT_FOUND
               ? error_set(error, ERROR_NOTHING_VALID, "%s%s", text,
                           without_defaults ? "; name its template with --template, or a bundle "
                                              "with --tuned, for the template's defaults"
                                            : "")
               : error_set(error, ERROR_USAGE, "the look-up rejected this query");
}

void command_query_release(struct command_query *query)
{
    template_release(&query->template);
    tuned_free(query->table);
}
