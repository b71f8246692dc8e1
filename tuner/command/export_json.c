#include "command/export.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/json_text.h"
#include "compile/build.h"
#include "compile/launch_check.h"
#include "compile/single_compile.h"
#include "template/launch_plan.h"
#include "template/template_load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

/* --- what the template says --- */

static void bind_values(const struct tuned_value *values, size_t count, struct bindings *bindings)
{
    for (size_t i = 0; i < count; i++)
        bindings_set(bindings, values[i].name, cover_value(&values[i]));
}

/* Of --template, a bundle or the usual folders. A new string, or NULL. */
static char *find_template(const struct command_query *query, const char *name)
{
    const char *tuned = query->tuned != NULL ? query->tuned : "";
    char *bundled = alloc_format("%s/templates/%s.ini", tuned, name);
    struct stat status;
    struct error error;
    if (query->template_path == NULL && tuned[0] != '\0' && stat(bundled, &status) == 0)
        return bundled;
    free(bundled);
    return query->template_path != NULL ? alloc_string(query->template_path)
                                        : build_find_template(NULL, name, &error);
}

int export_variant(const struct command_query *query,
                   const struct tuned_configuration *configuration, const struct tuned_match *match,
                   struct export_variant *variant, struct error *error)
{
    const struct tuned_query *asked = &query->query;
    char *path =
        find_template(query, configuration != NULL ? configuration->template_name : query->kernel);
    struct bindings values = {0};
    struct error unreadable;
    *variant = (struct export_variant){0};
    int status = 0;
    variant->known = path != NULL && template_load(&variant->template, path, &unreadable) == 0;
    if (variant->known && configuration != NULL &&
        strcmp(variant->template.hash, configuration->template_hash) != 0) {
        template_release(&variant->template);
        variant->known = false;
    }
    if (match != NULL) {
        bind_values(asked->problem, asked->problem_count, &values);
        bind_values(match->parameters, match->parameter_count, &values);
    } else {
        bind_values(configuration->problem, configuration->problem_count, &values);
        bind_values(configuration->parameters, configuration->parameter_count, &values);
    }
    if (variant->known)
        status = build_bind(&variant->template, &values, false, &variant->parameters,
                            &variant->problem, error);
    if (variant->known && status == 0)
        status = variant_options(&variant->template, &variant->parameters, &variant->problem,
                                 &variant->options, error);
    bindings_release(&values);
    free(path);
    return status;
}

void export_variant_release(struct export_variant *variant)
{
    if (variant->known)
        template_release(&variant->template);
    bindings_release(&variant->parameters);
    bindings_release(&variant->problem);
    options_release(&variant->options);
}

/* --- launches --- */

static json_t *extent(const uint32_t numbers[3])
{
    return json_pack("[I, I, I]", (json_int_t)numbers[0], (json_int_t)numbers[1],
                     (json_int_t)numbers[2]);
}

static json_t *step_json(const struct step *step)
{
    json_t *object = json_object();
    json_t *arguments = json_array();
    set(object, "entry", json_text(step->entry));
    set(object, "grid", extent(step->grid));
    set(object, "block", extent(step->block));
    set(object, "shared_bytes", json_integer(step->dynamic_shared_bytes));
    set(object, "cooperative", json_integer(step->cooperative));
    set(object, "cluster", extent(step->attributes.cluster));
    for (size_t i = 0; i < step->argument_count; i++) {
        char *text = argument_text(&step->launch->arguments[i]);
        (void)json_array_append_new(arguments, json_text(text));
        free(text);
    }
    set(object, "arguments", arguments);
    return object;
}

/* The configuration may be of another problem, at which the template's author has not ruled it out. */
static int check_constraints(const struct template *template, const struct scope *scope,
                             struct error *error)
{
    const char *violated;
    int status = template_violated_constraint(template, scope, &violated, error);
    if (status == 0 && violated != NULL)
        status = error_set(error, ERROR_CONFIG,
                           "the nearest configuration of '%s' violates the template's "
                           "constraint '%s' for this "
                           "problem; tune this problem",
                           template->name, violated);
    return status;
}

/* Compiles the variant, because a grid may depend on how many blocks an SM holds. */
static int set_launches(json_t *object, const struct command_query *query,
                        const struct export_variant *variant, struct error *error)
{
    struct gpu gpu;
    char *arch = alloc_format("sm_%d", query->gpu.compute_capability);
    int status = gpu_from_arch(arch, &gpu, error);
    free(arch);
    if (status != 0)
        return status;
    if (query->gpu.sm_count > 0)
        gpu.attributes[GPU_sm_count] = query->gpu.sm_count;
    if (query->gpu.l2_bytes > 0)
        gpu.attributes[GPU_l2_bytes] = query->gpu.l2_bytes;
    struct single_compile compiler = {0};
    struct compilation compilation = {0};
    struct launch_plan plan;
    struct bindings fixed = {0};
    bindings_append(&fixed, &variant->problem);
    gpu_bindings(&gpu, &fixed);
    const struct scope outer = {&fixed, NULL};
    const struct scope scope = {&variant->parameters, &outer};
    const struct build build = {
        &variant->template, &variant->parameters, &variant->problem, gpu.arch, false, false};
    struct launch_check check = {
        .template = &variant->template, .gpu = &gpu, .compilation = &compilation, .scope = &scope};
    const struct kernel_lookup lookup = launch_check_lookup(&check);
    status = check_constraints(&variant->template, &scope, error);
    if (status == 0)
        status = single_compile_cubin(&compiler, &build, &compilation, NULL, error);
    if (status == 0)
        status = launch_plan_make(&plan, &variant->template, &scope, &lookup, error);
    if (status == 0) {
        if (launch_check_variant(&check, &plan, error) != OUTCOME_COMPILED)
            status = ERROR_CONFIG;
        json_t *launches = json_array();
        for (size_t i = 0; i < plan.step_count; i++)
            (void)json_array_append_new(launches, step_json(&plan.steps[i]));
        set(object, "launches", launches);
        launch_plan_release(&plan);
    }
    bindings_release(&fixed);
    compilation_release(&compilation);
    single_compile_release(&compiler);
    return status;
}

/* --- configurations --- */

static void set_values(json_t *object, const char *name, const struct tuned_value *values,
                       size_t count)
{
    struct bindings bindings = {0};
    bind_values(values, count, &bindings);
    set(object, name, bindings_to_json(&bindings));
    bindings_release(&bindings);
}

static void set_source(json_t *object, const struct tuned_configuration *configuration)
{
    const struct tuned_cover *cover = configuration->cover;
    set(object, "template", json_text(configuration->template_name));
    set(object, "template_hash", json_text(configuration->template_hash));
    if (configuration->median_ns > 0)
        set(object, "median_ns", json_real(configuration->median_ns));
    if (configuration->incomplete)
        set(object, "incomplete", json_integer(1));
    if (cover == NULL)
        return;
    json_t *ranges = json_object();
    for (size_t i = 0; i < cover->range_count; i++)
        set(ranges, cover->ranges[i].name,
            json_pack("[f, f]", cover->ranges[i].low, cover->ranges[i].high));
    set(object, "cover", ranges);
    set(object, "number", json_integer(configuration->number));
}

/* A configuration of the table, or with `match` the answer to the query. */
static int add(json_t *array, const struct command_query *query,
               const struct tuned_configuration *configuration, const struct tuned_match *match,
               struct error *error)
{
    const struct tuned_gpu *gpu = match != NULL ? &query->gpu : configuration->gpu;
    const struct tuned_value *problem =
        match != NULL ? query->query.problem : configuration->problem;
    size_t count = match != NULL ? query->query.problem_count : configuration->problem_count;
    json_t *object = json_object();
    struct export_variant variant;
    (void)json_array_append_new(array, object);
    set(object, "kernel", json_text(match != NULL ? query->kernel : configuration->kernel));
    set(object, "gpu", json_text(gpu->name));
    set(object, "compute_capability", json_integer(gpu->compute_capability));
    set(object, "sm_count", json_integer(gpu->sm_count));
    set_values(object, "problem", problem, count);
    if (match != NULL)
        set_values(object, "parameters", match->parameters, match->parameter_count);
    else
        set_values(object, "parameters", configuration->parameters, configuration->parameter_count);
    if (configuration != NULL)
        set_source(object, configuration);
    int status = export_variant(query, configuration, match, &variant, error);
    if (variant.known && status == 0) {
        json_t *defines = json_array();
        for (size_t i = 0; i < variant.options.definition_count; i++)
            (void)json_array_append_new(defines, json_text(export_definition(&variant, i)));
        set(object, "defines", defines);
    }
    if (match != NULL)
        set(object, "rule", json_text(tuned_rule_text(match->rule)));
    if (match != NULL && variant.known && status == 0)
        status = set_launches(object, query, &variant, error);
    else if (match != NULL && status == 0)
        fputs("autotune: without the template of this version, there are no definitions and no "
              "launches; name it with "
              "--template\n",
              stderr);
    export_variant_release(&variant);
    return status;
}

int export_json(FILE *stream, const struct command_query *query, bool all, bool python,
                struct error *error)
{
    json_t *array = json_array();
    const struct tuned_configuration *next;
    int status = 0;
    if (!all)
        status = add(array, query, query->match.from, &query->match, error);
    for (size_t i = 0; all && (next = tuned_at(query->table, i)) != NULL && status == 0; i++)
        if ((query->kernel == NULL || strcmp(query->kernel, next->kernel) == 0) &&
            export_takes(query, next))
            status = add(array, query, next, NULL, error);
    char *text = json_dumps(array, JSON_INDENT(1));
    if (status == 0 && text != NULL)
        fprintf(stream, "%s%s\n",
                python ? "# Made by `autotune export --python`; do not edit.\nCONFIGURATIONS = "
                       : "",
                text);
    free(text);
    json_decref(array);
    return status;
}
