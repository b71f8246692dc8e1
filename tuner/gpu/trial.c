#include "gpu/trial.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "compile/cubin_cache.h"

#include <stdlib.h>

enum { SAMPLE_LIMIT = 100000 };

static int describe_variant(struct device_session *session, const struct device_variant *variant,
                            json_t **reply, struct error *error)
{
    const struct launch_plan *launch_plan = &variant->launch_plan;
    struct scope fixed = {&session->problem.fixed, NULL};
    struct scope parameters = {&variant->parameters, &fixed};
    double bytes;
    double operations;
    int status = launch_plan_check(launch_plan, error);
    if (status == 0)
        status = launch_plan_metrics(launch_plan, &session->problem.template, &parameters, &bytes,
                                     &operations, error);
    if (status != 0)
        return status;
    const struct step *step = &launch_plan->steps[launch_plan->main_step];
    *reply = json_pack(
        "{s:s, s:s, s:[i, I, I, I, I, I, i, f, f]}", "event", "loaded", "entry", step->entry,
        "stats", launch_plan->main.registers, (json_int_t)launch_plan->main.stack_bytes,
        (json_int_t)launch_plan->main.static_shared_bytes, (json_int_t)step->dynamic_shared_bytes,
        (json_int_t)step_threads(step), (json_int_t)step_blocks(step),
        launch_plan->main_blocks_per_sm, bytes, operations);
    return 0;
}

/* Tells the coordinator that the variant's deadline does not run: its data is being made. */
static int tell(struct device_session *session, const char *event, struct error *error)
{
    return channel_send(session->channel, json_pack("{s:s}", "event", event), error);
}

int trial_prepare(struct device_session *session, struct device_variant *variant, size_t place,
                  struct answer *answer, struct error *error)
{
    bool moved = false;
    bool make = !data_store_has(&session->problem.store, &variant->parameters);
    int told = make ? tell(session, "preparing", error) : 0;
    if (told != 0)
        return told;
    int status = device_variant_prepare(variant, &session->problem, place, &moved, error);
    if (status == 0 && make)
        status = device_synchronise(&session->device, error);
    if (moved && variant->batch != NULL) { /* its graphs have the old addresses */
        batch_free(&session->sampling.batches, variant->batch);
        variant->batch = NULL;
    }
    if (make)
        told = tell(session, "prepared", NULL);
    return told != 0 ? told : answer_data_error(answer, session, status);
}

int trial_load(struct device_session *session, struct device_variant *variant, const char *path,
               struct answer *answer, struct error *error)
{
    struct loaded_code code = ahead_take(&session->ahead);
    int status =
        code.compilation.cubin == NULL ? cubin_cache_require(path, &code.compilation, error) : 0;
    if (status != 0)
        return status;
    status = device_variant_load(variant, &session->problem, &code.compilation, code.module,
                                 &answer->outcome, error);
    status = answer_driver_error(answer, session, status, OUTCOME_LOAD_ERROR);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = describe_variant(session, variant, &answer->reply, error);
    if (status != ERROR_CONFIG)
        return status;
    answer->outcome = OUTCOME_INVALID; /* the template does not fit this variant */
    return 0;
}

int trial_verify(struct device_session *session, struct device_variant *variant,
                 enum verification how, const struct meanwhile *meanwhile, struct answer *answer,
                 struct error *error)
{
    char reason[VERIFY_REASON_BYTES] = "";
    enum finding finding = FINDING_RIGHT;
    struct measure *measure = how == VERIFY_TIMED_RUN ? &session->sampling.measure : NULL;
    int status =
        how == VERIFY_AGAIN
            ? verify_again(&session->problem, variant, &finding, reason, error)
            : verify_run(&session->problem, variant, measure, meanwhile, &finding, reason, error);
    status = answer_driver_error(answer, session, status, OUTCOME_LAUNCH_ERROR);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && finding != FINDING_RIGHT) {
        answer->outcome = OUTCOME_WRONG_RESULT;
        session->damaged = finding == FINDING_DAMAGE;
        (void)error_set(error, ERROR_OK, "%s", reason);
    }
    return status;
}

static void read_ahead(void *user)
{
    struct device_session *session = user;
    ahead_read(&session->ahead, session->channel);
}

int trial_measure(struct device_session *session, const json_t *request,
                  struct device_variant *variant, json_t **reply, struct answer *answer,
                  struct error *error)
{
    json_int_t count = json_integer_value(json_object_get(request, "samples"));
    if (count < 1 || count > SAMPLE_LIMIT)
        return error_set(error, ERROR_WORKER, "'samples' must be from 1 to 100000");
    struct samples samples = {.ns = alloc_zeroed((size_t)count, sizeof(double))};
    const struct meanwhile meanwhile = {read_ahead, session};
    int64_t start = clock_ns();
    session->sampling.measure.meanwhile = &meanwhile;
    int status =
        sampling_take(&session->sampling, &session->problem, request, variant, &samples, error);
    session->sampling.measure.meanwhile = NULL;
    gpu_monitor_read(&session->monitor, start);
    status = answer_driver_error(answer, session, status, OUTCOME_LAUNCH_ERROR);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        *reply = samples_to_json(&samples, session->sampling.empty_batch_ns);
    free(samples.ns);
    return status;
}

/* Variables that stand for buffers may be large: two variants' at once may not fit. */
static void load_ahead(void *user)
{
    struct device_session *session = user;
    const struct template *template = &session->problem.template;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].symbol != NULL)
            return;
    ahead_load(&session->ahead, &session->device, session->channel);
}

/* Runs once and verifies. If that run took longer than the request's `hopeless_ns`, `*reply` becomes
 * a new object with its time, and no samples need to be taken. */
static int verify_first(struct device_session *session, const json_t *request,
                        struct device_variant *variant, json_t **reply, struct answer *answer,
                        struct error *error)
{
    double hopeless_ns = json_number_value(json_object_get(request, "hopeless_ns"));
    double ns;
    int64_t start = clock_ns();
    enum verification how = hopeless_ns > 0 ? VERIFY_TIMED_RUN : VERIFY_RUN;
    const struct meanwhile meanwhile = {load_ahead, session};
    int status = trial_verify(session, variant, how, &meanwhile, answer, error);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || how == VERIFY_RUN)
        return status;
    status = answer_driver_error(
        answer, session, measure_take_run(&session->sampling.measure, &session->device, &ns, error),
        OUTCOME_LAUNCH_ERROR);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || !(ns > hopeless_ns))
        return status;
    const struct samples samples = {.ns = &ns, .count = 1, .runs = 1, .single_ns = ns};
    gpu_monitor_read(&session->monitor, start);
    *reply = samples_to_json(&samples, session->sampling.empty_batch_ns);
    return 0;
}

/* Verifies the result of a run, and unless that is enough of the variant, takes samples and verifies
 * the result of the last one. */
static int try_variant(struct device_session *session, const json_t *request,
                       struct device_variant *variant, int64_t load_ns, struct answer *answer,
                       struct error *error)
{
    json_t *samples = NULL;
    int64_t start = clock_ns();
    int status = verify_first(session, request, variant, &samples, answer, error);
    bool enough = samples != NULL;
    int64_t run_end = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && !enough)
        status = trial_measure(session, request, variant, &samples, answer, error);
    int64_t measure_end = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && !enough)
        status = trial_verify(session, variant, VERIFY_AGAIN, NULL, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED) {
        json_t *reply = answer->reply;
        json_object_set_new(reply, "event", json_string("tried"));
        json_object_set_new(reply, "took_ns",
                            json_pack("[I, I, I, I]", (json_int_t)(run_end - start),
                                      (json_int_t)load_ns, (json_int_t)(measure_end - run_end),
                                      (json_int_t)(clock_ns() - measure_end)));
        json_object_update(reply, samples);
        gpu_monitor_report(&session->monitor, reply);
    }
    json_decref(samples);
    return status;
}

int trial_run(struct device_session *session, const json_t *request, struct answer *answer,
              struct error *error)
{
    struct device_variant variant = {0};
    const char *path = json_string_value(json_object_get(request, "cubin"));
    if (!session->open || path == NULL)
        return error_set(error, ERROR_WORKER, "'trial' needs an open problem and a 'cubin'");
    int status =
        bindings_from_json(&variant.parameters, json_object_get(request, "parameters"), error);
    if (status == 0)
        status = trial_prepare(session, &variant, 0, answer, error);
    int64_t start = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_load(session, &variant, path, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = try_variant(session, request, &variant, clock_ns() - start, answer, error);
    if (!answer->lost) {
        batch_free(&session->sampling.batches, variant.batch);
        device_variant_unload(&variant, &session->problem);
    }
    return status;
}
