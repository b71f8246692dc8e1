#include "gpu/trial.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "compile/cubin_cache.h"
#include "template/fill.h"

#include <stdio.h>
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
                  bool checks, struct answer *answer, struct error *error)
{
    struct data_store *store = &session->problem.store;
    bool moved = false;
    int status = checks ? data_store_check(store, &variant->parameters, error) : 0;
    bool make = !data_store_has(store, &variant->parameters);
    int told = make && status == 0 ? tell(session, "preparing", error) : 0;
    if (told != 0)
        return told;
    if (status == 0)
        status = device_variant_prepare(variant, &session->problem, place, &moved, error);
    session->damaged = session->damaged || store->spoilt;
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

int trial_load(struct device_session *session, struct device_variant *variant, const char *key,
               struct answer *answer, struct error *error)
{
    struct compilation compilation = {0};
    if (!cubin_cache_parse(key, session->channel->bytes, session->channel->byte_count, true,
                           &compilation)) {
        (void)error_set(error, ERROR_RECORD, "cubin '%s' is missing or damaged", key);
        answer->unreadable = true;
        answer->outcome = OUTCOME_LOAD_ERROR;
        return 0;
    }
    int status =
        device_variant_load(variant, &session->problem, &compilation, &answer->outcome, error);
    status = answer_driver_error(answer, session, status, OUTCOME_LOAD_ERROR);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = describe_variant(session, variant, &answer->reply, error);
    if (status != ERROR_CONFIG)
        return status;
    answer->outcome = OUTCOME_INVALID; /* the template does not fit this variant */
    return 0;
}

int trial_ran(struct device_session *session, const struct device_variant *variant, int status,
              struct answer *answer)
{
    status = answer_driver_error(answer, session, status, OUTCOME_LAUNCH_ERROR);
    if (answer->outcome == OUTCOME_LAUNCH_ERROR && variant->launch_plan.step_count > 1)
        session->damaged = true;
    return status;
}

/* What a verification found becomes the variant's outcome; `when` says in which runs, if that tells more
 * than the finding. */
static int conclude(struct device_session *session, const struct verify *verify, const char *when,
                    int status, struct answer *answer, struct error *error)
{
    status = trial_ran(session, verify->variant, status, answer);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && verify->finding != FINDING_RIGHT) {
        answer->outcome = OUTCOME_WRONG_RESULT;
        session->damaged = verify->finding == FINDING_DAMAGE;
        (void)error_set(error, ERROR_OK, "%s%s", session->damaged ? "" : when, verify->reason);
    } else if (status == 0 && verify->reason[0] != '\0') {
        (void)snprintf(answer->note, sizeof answer->note, "%s", verify->reason);
    }
    return status;
}

static struct verify begin_verify(struct device_session *session, struct device_variant *variant,
                                  bool everything)
{
    return (struct verify){.problem = &session->problem,
                           .variant = variant,
                           .batches = &session->sampling.batches,
                           .everything = everything,
                           .guard = GUARD_PATTERN};
}

int trial_verify(struct device_session *session, struct device_variant *variant, bool everything,
                 struct answer *answer, struct error *error)
{
    struct verify verify = begin_verify(session, variant, everything);
    verify.hostile = true;
    int status = verify_run(&verify, error);
    const char *when = session->problem.store.data_set > 0 ? "with other random numbers, " : "";
    return conclude(session, &verify, when, status, answer, error);
}

int trial_mend(struct device_session *session, const struct device_variant *own, bool *damaged,
               struct error *error)
{
    struct data_store *store = &session->problem.store;
    int status = data_store_check_others(store, damaged, error);
    for (size_t i = 0; i < session->variant_count; i++) {
        const struct device_variant *variant = &session->variants[i];
        const struct template *template = variant->data.template;
        for (size_t j = 0; variant->scratch != NULL && j < template->buffer_count; j++) {
            const bool constant =
                own != NULL && variant != own && !buffer_is_work(&template->buffers[j]);
            if (status == 0)
                status = data_store_check_buffer(store, &variant->scratch[j], constant,
                                                 &variant->fingerprints[j], damaged, error);
            const struct device_buffer *copies = batch_scratch(variant->batch, j);
            if (status == 0 && copies != NULL)
                status = data_store_check_buffer(store, copies, constant,
                                                 &variant->fingerprints[template->buffer_count + j],
                                                 damaged, error);
        }
    }
    return status;
}

int trial_check_others(struct device_session *session, enum others others,
                       const struct device_variant *own, struct answer *answer, struct error *error)
{
    bool damaged;
    /* what is wrong may have done that, too */
    const bool wrong = answer->outcome == OUTCOME_WRONG_RESULT && others == OTHERS_STATE;
    if (session->damaged || (answer->outcome != OUTCOME_MEASURED && !wrong))
        return 0;
    int status = others == OTHERS_DATA
                     ? data_store_check_others(&session->problem.store, &damaged, error)
                     : trial_mend(session, others == OTHERS_STATE ? own : NULL, &damaged, error);
    if (status == 0 && damaged) {
        answer->outcome = OUTCOME_WRONG_RESULT;
        session->damaged = true;
        (void)error_set(error, ERROR_OK,
                        "data of other variants was changed, far outside all buffers");
    }
    return status;
}

/* Two consecutive runs of the last batch: a variant may be wrong in every other one. The last run comes
 * first, since its results are in the buffers where the others are shown. */
static int verify_batch(struct device_session *session, struct verify *verify, struct error *error)
{
    bool everything = verify->everything;
    size_t first = (size_t)((statistics_random(&session->random) >> 8) % (BATCH_RUNS - 1));
    int status = 0;
    for (size_t back = 0; back < 2 && status == 0 && verify->finding == FINDING_RIGHT; back++) {
        status = batch_show(&session->sampling.batches, verify->variant, first + 1 - back, error);
        verify->everything = everything && back == 1;
        if (status == 0)
            status = verify_last(verify, error);
    }
    return status;
}

static int check_timed(struct device_session *session, struct verify *verify, bool batched,
                       bool queued, struct answer *answer, struct error *error)
{
    int status = queued    ? verify_judge(verify, error)
                 : batched ? verify_batch(session, verify, error)
                           : verify_last(verify, error);
    return conclude(session, verify, "right at first, but in a timed run ", status, answer, error);
}

/* The first reading waits until NVML is open, which may take longer than the variant may. */
static void read_monitor(struct device_session *session, int64_t start)
{
    bool waits = session->monitor.opening;
    if (waits)
        (void)tell(session, "preparing", NULL);
    gpu_monitor_read(&session->monitor, start);
    if (waits)
        (void)tell(session, "prepared", NULL);
}

/* How the last of some samples is checked. */
enum check { CHECK_NOTHING, CHECK_RESULTS, CHECK_EVERYTHING };

static int queue_check(const void *verify, struct error *error)
{
    return verify_queue(verify, error);
}

/* Takes `count` more samples, and checks the last. */
static int take_part(struct device_session *session, const json_t *request,
                     struct device_variant *variant, size_t count, enum check check,
                     struct samples *samples, struct answer *answer, struct error *error)
{
    struct samples part = {.ns = samples->ns + samples->count};
    struct verify verify = begin_verify(session, variant, check == CHECK_EVERYTHING);
    struct measure_follower follower = {.queue = queue_check, .owner = &verify};
    int status = measure_take(&session->sampling, &session->problem, request, variant, count,
                              check != CHECK_NOTHING ? &follower : NULL, &part, error);
    status = trial_ran(session, variant, status, answer);
    samples->count += part.count;
    samples->runs = part.runs;
    samples->single_ns = part.single_ns;
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || check == CHECK_NOTHING)
        return status;
    return check_timed(session, &verify, part.runs > 1, follower.queued, answer, error);
}

/* All samples, in parts: up to the first that is checked, the second, and the rest, if any. */
static int take_samples(struct device_session *session, const json_t *request,
                        struct device_variant *variant, size_t count, size_t check_after,
                        bool checks, struct samples *samples, struct answer *answer,
                        struct error *error)
{
    const size_t checked = check_after > 0 ? 2 : 0;
    const size_t parts[] = {check_after, checked / 2, count - check_after - checked / 2};
    int status = 0;
    for (size_t i = 0; i < 3 && status == 0 && answer->outcome == OUTCOME_MEASURED; i++) {
        const bool is_last = samples->count + parts[i] == count;
        const enum check check = checks && is_last ? CHECK_EVERYTHING
                                 : i < checked     ? CHECK_RESULTS
                                                   : CHECK_NOTHING;
        if (parts[i] > 0)
            status = take_part(session, request, variant, parts[i], check, samples, answer, error);
    }
    return status;
}

int trial_measure(struct device_session *session, const json_t *request,
                  struct device_variant *variant, bool checks, json_t **reply,
                  struct answer *answer, struct error *error)
{
    json_int_t count = json_integer_value(json_object_get(request, "samples"));
    json_int_t check_after = json_integer_value(json_object_get(request, "check_after"));
    if (count < 1 || count > SAMPLE_LIMIT)
        return error_set(error, ERROR_WORKER, "'samples' must be from 1 to 100000");
    if (check_after < 0 || check_after >= count)
        return error_set(error, ERROR_WORKER, "'check_after' must be less than 'samples'");
    struct samples samples = {.ns = alloc_zeroed((size_t)count, sizeof(double))};
    int64_t start = clock_ns();
    int status = take_samples(session, request, variant, (size_t)count, (size_t)check_after, checks,
                              &samples, answer, error);
    read_monitor(session, start);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        *reply = samples_to_json(&samples, session->sampling.empty_batch_ns);
    free(samples.ns);
    return status;
}

/* Runs once and verifies. If that run took longer than the request's `hopeless_ns`, `*reply` becomes
 * a new object with its time, and no samples need to be taken. */
static int verify_first(struct device_session *session, const json_t *request,
                        struct device_variant *variant, json_t **reply, struct answer *answer,
                        struct error *error)
{
    double hopeless_ns = json_number_value(json_object_get(request, "hopeless_ns"));
    struct measure *measure = hopeless_ns > 0 ? &session->sampling.measure : NULL;
    double ns;
    int64_t start = clock_ns();
    struct verify verify = begin_verify(session, variant, false);
    verify.measure = measure;
    int status = verify_run(&verify, error);
    status = conclude(session, &verify, "", status, answer, error);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || measure == NULL)
        return status;
    status = trial_ran(session, variant, measure_take_run(measure, &session->device, &ns, error),
                       answer);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || !(ns > hopeless_ns))
        return status;
    const struct samples samples = {.ns = &ns, .count = 1, .runs = 1, .single_ns = ns};
    read_monitor(session, start);
    *reply = samples_to_json(&samples, session->sampling.empty_batch_ns);
    verify.everything = true;
    return check_timed(session, &verify, false, false, answer, error);
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
    int64_t run_end = clock_ns();
    /* the first run began from the usual poison; that of the one that is checked last is drawn */
    variant->resets = (unsigned)(statistics_random(&session->random) >> 8);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && samples == NULL)
        status = trial_measure(session, request, variant, true, &samples, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED) {
        json_t *reply = answer->reply;
        json_object_set_new(reply, "event", json_string("tried"));
        json_object_set_new(reply, "took_ns",
                            json_pack("[I, I, I]", (json_int_t)(run_end - start),
                                      (json_int_t)load_ns, (json_int_t)(clock_ns() - run_end)));
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
    const char *key = json_string_value(json_object_get(request, "cubin"));
    if (!session->open || key == NULL)
        return error_set(error, ERROR_WORKER, "'trial' needs an open problem and a 'cubin'");
    int status =
        bindings_from_json(&variant.parameters, json_object_get(request, "parameters"), error);
    data_store_draw(&session->problem.store, FILL_USUAL_DATA);
    if (status == 0)
        status = trial_prepare(session, &variant, 0, true, answer, error);
    int64_t start = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_load(session, &variant, key, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = try_variant(session, request, &variant, clock_ns() - start, answer, error);
    if (!answer->lost) {
        batch_free(&session->sampling.batches, variant.batch);
        device_variant_unload(&variant, &session->problem);
    }
    return status;
}
