#include "inspect.h"

#include "figures.h"

#include <stdio.h>
#include <string.h>

void inspect_compile_reason(const struct compile_job *job, char *reason, size_t size)
{
    const char *log = job->compilation.log != NULL ? job->compilation.log : "";
    const char *found = strstr(log, "error");
    if (job->failure[0] != '\0' || found == NULL) {
        (void)snprintf(reason, size, "%s",
                       job->failure[0] != '\0' ? job->failure : "refused without a message");
        return;
    }
    while (found > log && found[-1] != '\n' && found[-1] != '/') /* the file without its folder */
        found--;
    (void)snprintf(reason, size, "%.*s", (int)strcspn(found, "\n"), found);
}

int inspect_variant(struct plan *plan, size_t index, bool *go_on, struct error *error)
{
    const struct compile_job *job = plan->jobs[index];
    struct result *result = &plan->study.results[index];
    const struct figures_source source = plan_figures_source(plan, index);
    char reason[256] = "";
    enum outcome outcome;
    bool allowed = true;
    size_t constraint = 0;
    *go_on = false;
    if (!job->has_cubin) {
        inspect_compile_reason(job, reason, sizeof reason);
        plan_conclude(plan, index, OUTCOME_COMPILE_ERROR, reason);
        return 0;
    }
    int status = figures_fill(&source, result, &outcome, reason, error);
    if (status == 0 && outcome != OUTCOME_COMPILED) {
        plan_conclude(plan, index, outcome, reason);
        return 0;
    }
    if (status == 0)
        status = figures_allowed(&source, &result->figures, plan->kernel->constraints,
                                 plan->kernel->constraint_count, &allowed, &constraint, error);
    if (status == 0 && !allowed)
        plan_conclude(plan, index, OUTCOME_CONSTRAINT,
                      expression_text(plan->kernel->constraints[constraint]));
    *go_on = status == 0 && allowed;
    return status;
}

static int inspect_one(struct inspection *inspection, struct plan *plan, size_t index,
                       struct error *error)
{
    bool go_on;
    timings_stage(inspection->timings, TIMING_COMPILE);
    int status = pool_wait(inspection->pool, plan->jobs[index], error);
    if (status == 0)
        status = inspect_variant(plan, index, &go_on, error);
    if (status != 0)
        return status;
    if (go_on)
        plan_conclude(plan, index, OUTCOME_COMPILED, NULL);
    const struct result *result = &plan->study.results[index];
    timings_stage(inspection->timings, TIMING_RECORD);
    progress_add(inspection->progress, plan->study.kernel, result->outcome, 0);
    return record_result(inspection->record, plan->record_id, result, "screening", error);
}

int inspect_plan(struct inspection *inspection, struct plan *plan, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < plan->study.result_count && status == 0; i++)
        if (!plan->known[i])
            status = inspect_one(inspection, plan, i, error);
    if (status != 0)
        return status;
    plan->study.complete = true;
    timings_stage(inspection->timings, TIMING_RECORD);
    return record_finish(inspection->record, plan->record_id, &plan->study, error);
}
