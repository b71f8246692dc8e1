#include "plan.h"

#include "alloc.h"
#include "footprint.h"
#include "space.h"
#include "variant.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANT_LIMIT = 10000000 };

void plan_init(struct plan *plan, const struct sweep_kernel *kernel, const struct bindings *problem,
               const struct environment *environment)
{
    *plan = (struct plan){.kernel = kernel, .problem = problem};
    struct study *study = &plan->study;
    study->environment = *environment;
    study->environment.command = alloc_string(environment->command);
    study->kernel = alloc_string(kernel->label);
    study->template_name = alloc_string(kernel->template.name);
    study->template_hash = alloc_string(kernel->template.hash);
    study->description = alloc_string(kernel->description);
    bindings_copy(&study->problem, problem);
    (void)snprintf(study->cache, sizeof study->cache, "%s", kernel->cold ? "cold" : "warm");
    bindings_copy(&plan->fixed, problem);
    gpu_bindings(&environment->gpu, &plan->fixed);
}

void plan_release(struct plan *plan)
{
    bindings_release(&plan->fixed);
    study_release(&plan->study);
    free(plan->jobs);
    free(plan->known);
    *plan = (struct plan){0};
}

/* -- results from the record, found by their parameters -------------------------------------------
 */

struct stored {
    char *text; /* bindings_text() of the parameters; first, for comparing */
    struct result *result;
};

static int compare_stored(const void *a, const void *b)
{
    return strcmp(((const struct stored *)a)->text, ((const struct stored *)b)->text);
}

static void free_stored(void *node)
{
    struct stored *stored = node;
    free(stored->text);
    free(stored);
}

static void *index_results(struct study *study)
{
    void *tree = NULL;
    for (size_t i = 0; i < study->result_count; i++) {
        struct stored *stored = alloc_zeroed(1, sizeof *stored);
        *stored = (struct stored){bindings_text(&study->results[i].parameters), &study->results[i]};
        if (*(struct stored **)tsearch(stored, &tree, compare_stored) != stored)
            free_stored(stored);
    }
    return tree;
}

/* The stored result of these parameters, moved out of the record's list; false where there is none.
 */
static bool take_stored(void *tree, const struct bindings *parameters, struct result *result)
{
    struct stored wanted = {.text = bindings_text(parameters)};
    void *found = tfind(&wanted, &tree, compare_stored);
    free(wanted.text);
    if (found == NULL)
        return false;
    struct result *stored = (*(struct stored **)found)->result;
    if (stored->parameters.count == 0 && parameters->count > 0) /* taken before */
        return false;
    *result = *stored;
    *stored = (struct result){0};
    return true;
}

/* -- enumerating ---------------------------------------------------------------------------------
 */

static int enumerate(struct plan *plan, struct space *space, void *tree, struct result **results,
                     size_t *count, struct error *error)
{
    struct bindings parameters = {0};
    size_t known_count = 0;
    int status;
    while ((status = space_next(space, &parameters, error)) == 1) {
        if (*count == VARIANT_LIMIT) {
            status = error_set_at(error, ERROR_CONFIG, plan->kernel->template.path, 0,
                                  "kernel '%s' has more than 10^7 variants; add constraints",
                                  plan->kernel->label);
            break;
        }
        struct result *result = ARRAY_APPEND(*results, *count);
        bool *known = ARRAY_APPEND(plan->known, known_count);
        *known = take_stored(tree, &parameters, result);
        if (*known)
            plan->known_count++;
        else
            bindings_copy(&result->parameters, &parameters);
    }
    bindings_release(&parameters);
    return status;
}

int plan_enumerate(struct plan *plan, struct error *error)
{
    struct study *study = &plan->study;
    struct result *results = NULL;
    size_t count = 0;
    size_t stored_count = study->result_count;
    char *winner =
        study->has_winner ? bindings_text(&study->results[study->winner].parameters) : NULL;
    void *tree = index_results(study);
    struct space *space =
        space_new(&plan->kernel->template, plan->kernel->values, plan->kernel->constraints,
                  plan->kernel->constraint_count, &plan->fixed);
    int status = enumerate(plan, space, tree, &results, &count, error);
    study->points = space_points(space);
    study->rejected = space_rejected(space);
    space_free(space);
    tdestroy(tree, free_stored);
    for (size_t i = 0; i < stored_count; i++)
        result_release(&study->results[i]);
    free(study->results);
    study->results = results;
    study->result_count = count;
    plan->jobs = alloc_zeroed(count, sizeof(struct compile_job *));
    /* a verdict on other variants than these is none on these */
    study->complete = study->complete && plan->known_count == count && stored_count == count;
    study->has_winner = false;
    for (size_t i = 0; winner != NULL && i < count && study->complete && !study->has_winner; i++) {
        char *text = bindings_text(&results[i].parameters);
        study->has_winner = strcmp(text, winner) == 0;
        study->winner = i;
        free(text);
    }
    free(winner);
    return status;
}

bool plan_is_complete(const struct plan *plan)
{
    return plan->study.complete;
}

int plan_check_memory(const struct plan *plan, struct error *error)
{
    const struct template *template = &plan->kernel->template;
    const struct footprint footprint = footprint_of(template, &plan->fixed, plan->kernel->cold);
    uint64_t there = (uint64_t)plan->study.environment.gpu.memory_bytes;
    if (footprint.bytes <= there)
        return 0;
    return footprint_refuse(&footprint, template, plan->problem, there, "is all that the GPU has",
                            error);
}

/* -- compiling -----------------------------------------------------------------------------------
 */

static int request(const struct plan *plan, struct pool *pool, const struct bindings *parameters,
                   bool urgent, struct compile_job **job, struct error *error)
{
    const struct template *template = &plan->kernel->template;
    struct options options;
    variant_options(template, parameters, plan->problem, &options);
    int status = variant_headers(template, parameters, plan->problem, &options, error);
    if (status == 0)
        status = pool_request(pool, template->source.path, template->source.text,
                              template->source.hash, &options, urgent, job, error);
    options_release(&options);
    return status;
}

static int request_reference(struct plan *plan, struct pool *pool, struct error *error)
{
    const struct template *template = &plan->kernel->template;
    struct bindings defaults = {0};
    bool wanted = false;
    int status = 0;
    for (size_t i = 0; i < template->expectation_count; i++)
        wanted = wanted || template->expectations[i].kind == EXPECT_REFERENCE;
    if (!wanted || plan->study.environment.static_mode)
        return 0;
    variant_defaults(template, &defaults);
    status = request(plan, pool, &defaults, true, &plan->reference, error);
    bindings_release(&defaults);
    return status;
}

int plan_request(struct plan *plan, struct pool *pool, size_t index, struct error *error)
{
    return request(plan, pool, &plan->study.results[index].parameters, false, &plan->jobs[index],
                   error);
}

int plan_compile(struct plan *plan, struct pool *pool, struct error *error)
{
    int status = request_reference(plan, pool, error);
    for (size_t i = 0; i < plan->study.result_count && status == 0; i++)
        if (!plan->known[i])
            status = plan_request(plan, pool, i, error);
    return status;
}

struct figures_source plan_figures_source(const struct plan *plan, size_t index)
{
    return (struct figures_source){
        .template = &plan->kernel->template,
        .gpu = &plan->study.environment.gpu,
        .fixed = &plan->fixed,
        .parameters = &plan->study.results[index].parameters,
        .compilation = &plan->jobs[index]->compilation,
    };
}

void plan_conclude(struct plan *plan, size_t index, enum outcome outcome, const char *reason)
{
    struct result *result = &plan->study.results[index];
    result->outcome = outcome;
    free(result->reason);
    result->reason = reason != NULL && reason[0] != '\0' ? alloc_string(reason) : NULL;
    plan->known_count += !plan->known[index];
    plan->known[index] = true;
}
