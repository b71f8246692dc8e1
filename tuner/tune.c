#include "tune.h"

#include "alloc.h"
#include "device_kernels.h"
#include "figures.h"
#include "inspect.h"
#include "source.h"
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCREENING_SAMPLES = 3,
    CLOSER_VARIANTS = 64, /* at most so many get a closer look before the finals */
    CLOSER_SAMPLES = 6,
    HOPELESS = 2,    /* a first sample so many times the best median gets no further ones */
    FINAL_BATCH = 3, /* samples a round, whose median is the round's */
};

int tune_request_support(struct pool *pool, struct compile_job **job, struct error *error)
{
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    struct options options = {0};
    hash_add_text(hash, device_kernels_source);
    hash_finish(hash, digits);
    return pool_request(pool, "autotune/device_kernels.cu", device_kernels_source, digits, &options,
                        true, job, error);
}

/* -- screening -----------------------------------------------------------------------------------
 */

/* Puts a variant's result into the record. */
static int keep(struct tuning *tuning, struct plan *plan, size_t index, const char *phase,
                struct error *error)
{
    const struct result *result = &plan->study.results[index];
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_result(tuning->record, plan->record_id, result, phase, error);
}

static void summarise(struct result *result)
{
    result->time = statistics_summarise(result->samples_ns, result->sample_count);
}

/* The driver's figures take the place of the compiler's; what only the compiler knows stays. */
static int load(struct tuning *tuning, struct plan *plan, size_t index,
                struct device_answer *answer, struct error *error)
{
    struct result *result = &plan->study.results[index];
    const struct figures_source source = plan_figures_source(plan, index);
    timings_stage(tuning->timings, TIMING_LOAD);
    int status = device_load(tuning->device, (int64_t)index, plan->jobs[index]->path,
                             &result->parameters, result, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && !answer->again)
        figures_limit(&source, answer->entry, &result->figures);
    return status;
}

static int unload(struct tuning *tuning, size_t index, struct error *error)
{
    timings_stage(tuning->timings, TIMING_LOAD);
    return device_unload(tuning->device, (int64_t)index, error);
}

/* The variants of a screening that are on their way. */
struct screening {
    struct tuning *tuning;
    struct plan *plan;
    size_t *pending; /* not begun */
    size_t pending_count;
    size_t trials[DEVICE_TRIALS]; /* queued on the device, the oldest first */
    size_t trial_count;
    size_t samples; /* of a trial */
    double best_ns; /* median so far; 0: none yet */
    bool first;     /* not a closer look at variants that have samples */
};

/* Puts a variant's outcome into the record and on the progress line. */
static int keep_screened(struct screening *screening, size_t index, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    const struct study *study = &screening->plan->study;
    const struct result *result = &study->results[index];
    if (screening->first)
        progress_add(tuning->progress, study->kernel, result->outcome, result->time.median_ns);
    return keep(tuning, screening->plan, index, "screening", error);
}

/* Sends the variant to the GPU, unless the compiler's figures have settled its outcome. */
static int begin_trial(struct screening *screening, size_t index, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct plan *plan = screening->plan;
    struct result *result = &plan->study.results[index];
    bool go_on;
    timings_stage(tuning->timings, TIMING_SPACE);
    int status = inspect_variant(plan, index, &go_on, error);
    if (status != 0)
        return status;
    if (!go_on)
        return keep_screened(screening, index, error);
    screening->trials[screening->trial_count++] = index;
    device_trial_send(tuning->device, plan->jobs[index]->path, &result->parameters,
                      screening->samples, HOPELESS * screening->best_ns);
    return 0;
}

static int end_trial(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct plan *plan = screening->plan;
    size_t index = screening->trials[0];
    struct result *result = &plan->study.results[index];
    const struct figures_source source = plan_figures_source(plan, index);
    struct device_answer answer;
    struct trial_times times;
    timings_stage(tuning->timings, TIMING_MEASURE);
    int status = device_trial_take(tuning->device, result, &times, &answer, error);
    timings_share(tuning->timings, times.load_ns, times.verify_ns, times.measure_ns);
    if (status != 0)
        return status;
    screening->trial_count--;
    memmove(screening->trials, screening->trials + 1,
            screening->trial_count * sizeof *screening->trials);
    if (answer.again) { /* its samples were dropped */
        screening->pending[screening->pending_count++] = index;
        return 0;
    }
    if (answer.outcome == OUTCOME_MEASURED)
        figures_limit(&source, answer.entry, &result->figures);
    summarise(result);
    if (answer.outcome == OUTCOME_MEASURED &&
        (screening->best_ns <= 0 || result->time.median_ns < screening->best_ns))
        screening->best_ns = result->time.median_ns;
    plan_conclude(plan, index, answer.outcome, answer.reason);
    return keep_screened(screening, index, error);
}

/* The variants that are not known, shuffled so that slow drift does not favour a corner of the
 * space. */
static size_t *shuffled_pending(const struct plan *plan, size_t *count)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t *pending = NULL;
    *count = 0;
    for (size_t i = 0; i < plan->study.result_count; i++)
        if (!plan->known[i])
            *ARRAY_APPEND(pending, *count) = i;
    statistics_shuffle(pending, *count, &state);
    return pending;
}

/* Takes a pending variant whose cubin is there; false where there is none yet. */
static bool take_compiled(struct screening *screening, size_t *index)
{
    for (size_t i = screening->pending_count; i-- > 0;) {
        if (!screening->plan->jobs[screening->pending[i]]->done)
            continue;
        *index = screening->pending[i];
        screening->pending[i] = screening->pending[--screening->pending_count];
        return true;
    }
    return false;
}

/* One step: begin a trial where one can begin, else take an answer, else wait for the compiler. */
static int screen_step(struct screening *screening, struct error *error)
{
    size_t index;
    if (screening->trial_count < DEVICE_TRIALS && take_compiled(screening, &index))
        return begin_trial(screening, index, error);
    if (screening->trial_count > 0)
        return end_trial(screening, error);
    timings_stage(screening->tuning->timings, TIMING_COMPILE);
    return pool_serve(screening->tuning->pool, -1, -1, true, error);
}

static int screen_all(struct screening *screening, struct error *error)
{
    int status = 0;
    while (status == 0 && (screening->pending_count > 0 || screening->trial_count > 0))
        status = screen_step(screening, error);
    free(screening->pending);
    return status;
}

/* A few samples of every variant that is not known. */
static int screen_pending(struct tuning *tuning, struct plan *plan, struct error *error)
{
    struct screening screening = {
        .tuning = tuning, .plan = plan, .samples = SCREENING_SAMPLES, .first = true};
    screening.pending = shuffled_pending(plan, &screening.pending_count);
    return screen_all(&screening, error);
}

static struct contender contender_of(const struct result *result, size_t order)
{
    return (struct contender){.samples_ns = result->samples_ns,
                              .count =
                                  result->outcome == OUTCOME_MEASURED ? result->sample_count : 0,
                              .registers = result->figures.registers,
                              .block_threads = result->figures.block_threads,
                              .order = order};
}

/* Those who could still win by so few samples, at most `most`, marked in a new array. */
static bool *choose(const struct tuning *tuning, const struct study *study, unsigned most,
                    size_t *count)
{
    struct race_rules rules = tuning->rules;
    struct contender *contenders = alloc_zeroed(study->result_count, sizeof *contenders);
    bool *chosen = alloc_zeroed(study->result_count, sizeof *chosen);
    rules.finalists = most;
    for (size_t i = 0; i < study->result_count; i++)
        contenders[i] = contender_of(&study->results[i], i);
    *count = race_finalists(contenders, study->result_count, &rules, chosen);
    free(contenders);
    return chosen;
}

/* Where more could still win than the finals hold, a closer look at these decides who goes there.
 */
static int screen_closer(struct tuning *tuning, struct plan *plan, struct error *error)
{
    struct screening screening = {.tuning = tuning, .plan = plan, .samples = CLOSER_SAMPLES};
    size_t count;
    bool *chosen = choose(tuning, &plan->study, CLOSER_VARIANTS, &count);
    int status = 0;
    for (size_t i = 0; i < plan->study.result_count && status == 0; i++) {
        if (!chosen[i] || tuning->rules.everyone || count <= tuning->rules.finalists)
            continue;
        *ARRAY_APPEND(screening.pending, screening.pending_count) = i;
        if (plan->jobs[i] == NULL) /* its samples are from the record */
            status = plan_request(plan, tuning->pool, i, error);
    }
    free(chosen);
    if (status == 0)
        return screen_all(&screening, error);
    free(screening.pending);
    return status;
}

/* -- finals --------------------------------------------------------------------------------------
 */

struct finals {
    struct tuning *tuning;
    struct plan *plan;
    size_t *indices;              /* of the finalists, into the study's results */
    struct contender *contenders; /* samples_ns[i]: the median of round i */
    double **rounds_ns;           /* what the contenders' samples point to */
    double **samples_ns;          /* raw */
    size_t *sample_counts;
    size_t count;
    uint64_t random;
};

static void choose_finalists(struct finals *finals)
{
    const struct study *study = &finals->plan->study;
    size_t chosen_count;
    size_t contender_count = 0;
    bool *chosen = choose(finals->tuning, study, finals->tuning->rules.finalists, &chosen_count);
    for (size_t i = 0; i < study->result_count; i++) {
        if (!chosen[i])
            continue;
        *ARRAY_APPEND(finals->indices, finals->count) = i;
        struct contender *contender = ARRAY_APPEND(finals->contenders, contender_count);
        *contender = contender_of(&study->results[i], i);
        contender->samples_ns = NULL;
        contender->count = 0;
    }
    free(chosen);
    finals->rounds_ns = alloc_zeroed(finals->count, sizeof *finals->rounds_ns);
    finals->samples_ns = alloc_zeroed(finals->count, sizeof *finals->samples_ns);
    finals->sample_counts = alloc_zeroed(finals->count, sizeof *finals->sample_counts);
}

static void finals_release(struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++) {
        free(finals->rounds_ns[i]);
        free(finals->samples_ns[i]);
    }
    free(finals->rounds_ns);
    free(finals->samples_ns);
    free(finals->sample_counts);
    free(finals->contenders);
    free(finals->indices);
}

/* A finalist that fails now, after passing the screening, is out with that outcome. */
static void disqualify(struct finals *finals, size_t contender, const struct device_answer *answer)
{
    finals->contenders[contender].out = true;
    plan_conclude(finals->plan, finals->indices[contender], answer->outcome, answer->reason);
}

/* Results from the record have no job yet. */
static int ensure_job(struct finals *finals, size_t index, struct error *error)
{
    struct plan *plan = finals->plan;
    struct tuning *tuning = finals->tuning;
    int status = 0;
    if (plan->jobs[index] == NULL)
        status = plan_request(plan, tuning->pool, index, error);
    timings_stage(tuning->timings, TIMING_COMPILE);
    return status != 0 ? status : pool_wait(tuning->pool, plan->jobs[index], error);
}

/* Loads whoever is in; again for all where the worker was lost on the way. */
static int load_finalists(struct finals *finals, struct error *error)
{
    unsigned losses;
    int status = 0;
    do {
        losses = device_losses(finals->tuning->device);
        for (size_t i = 0; i < finals->count && status == 0; i++) {
            struct device_answer answer;
            if (finals->contenders[i].out)
                continue;
            status = ensure_job(finals, finals->indices[i], error);
            if (status == 0)
                status = load(finals->tuning, finals->plan, finals->indices[i], &answer, error);
            if (status == 0 && answer.outcome != OUTCOME_MEASURED)
                disqualify(finals, i, &answer);
            if (device_losses(finals->tuning->device) != losses)
                break;
        }
    } while (status == 0 && device_losses(finals->tuning->device) != losses);
    return status;
}

static void append_samples(struct finals *finals, size_t contender, const double *batch,
                           size_t count)
{
    struct contender *who = &finals->contenders[contender];
    *ARRAY_APPEND(finals->rounds_ns[contender], who->count) = statistics_median(batch, count);
    who->samples_ns = finals->rounds_ns[contender];
    for (size_t i = 0; i < count; i++)
        *ARRAY_APPEND(finals->samples_ns[contender], finals->sample_counts[contender]) = batch[i];
}

/* One round: whoever is in is measured once, in shuffled order. */
static int run_round(struct finals *finals, struct error *error)
{
    struct tuning *tuning = finals->tuning;
    size_t *order = alloc_zeroed(finals->count, sizeof *order);
    int status = 0;
    for (size_t i = 0; i < finals->count; i++)
        order[i] = i;
    statistics_shuffle(order, finals->count, &finals->random);
    timings_stage(tuning->timings, TIMING_FINALS);
    for (size_t i = 0; i < finals->count && status == 0; i++) {
        size_t who = order[i];
        struct device_answer answer;
        double *batch = NULL;
        size_t count = 0;
        unsigned losses = device_losses(tuning->device);
        if (finals->contenders[who].out)
            continue;
        status = device_measure(tuning->device, (int64_t)finals->indices[who], FINAL_BATCH, &batch,
                                &count, &answer, error);
        if (status == 0 && answer.outcome != OUTCOME_MEASURED)
            disqualify(finals, who, &answer);
        else if (status == 0 && answer.again)
            i--;
        else if (status == 0)
            append_samples(finals, who, batch, count);
        free(batch);
        if (status == 0 && device_losses(tuning->device) != losses)
            status = load_finalists(finals, error);
    }
    free(order);
    return status;
}

/* The last word on correctness: a rare race may show only after many runs. */
static int verify_finalists(struct finals *finals, struct error *error)
{
    struct tuning *tuning = finals->tuning;
    int status = 0;
    timings_stage(tuning->timings, TIMING_VERIFY);
    for (size_t i = 0; i < finals->count && status == 0; i++) {
        struct device_answer answer;
        unsigned losses = device_losses(tuning->device);
        if (finals->contenders[i].out)
            continue;
        status = device_verify(tuning->device, (int64_t)finals->indices[i], 1, &answer, error);
        if (status == 0 && answer.outcome != OUTCOME_MEASURED)
            disqualify(finals, i, &answer);
        else if (status == 0 && answer.again)
            i--;
        if (status == 0 && device_losses(tuning->device) != losses)
            status = load_finalists(finals, error);
    }
    return status;
}

static size_t count_in(const struct finals *finals)
{
    size_t in = 0;
    for (size_t i = 0; i < finals->count; i++)
        in += !finals->contenders[i].out;
    return in;
}

static int run_rounds(struct finals *finals, struct verdict *verdict, struct error *error)
{
    struct tuning *tuning = finals->tuning;
    int status = 0;
    *verdict = (struct verdict){0};
    for (unsigned round = 0; round < tuning->rules.maximum_rounds && !verdict->decided; round++) {
        char text[96];
        if (count_in(finals) == 0)
            break;
        (void)snprintf(text, sizeof text, "finals, round %u of at most %u, %zu in", round + 1,
                       tuning->rules.maximum_rounds, count_in(finals));
        progress_note(tuning->progress, finals->plan->study.kernel, text);
        status = run_round(finals, error);
        if (status != 0)
            return status;
        *verdict = race_judge(finals->contenders, finals->count, &tuning->rules);
    }
    return status;
}

/* The finals' samples take the place of the screening's in the results. */
static int store_finalists(struct finals *finals, struct error *error)
{
    struct plan *plan = finals->plan;
    int status = 0;
    for (size_t i = 0; i < finals->count && status == 0; i++) {
        struct result *result = &plan->study.results[finals->indices[i]];
        result->finalist = true;
        result->tied = finals->contenders[i].tied;
        free(result->samples_ns);
        result->samples_ns = finals->samples_ns[i];
        result->sample_count = finals->sample_counts[i];
        finals->samples_ns[i] = NULL;
        summarise(result);
        status = keep(finals->tuning, plan, finals->indices[i], "finals", error);
    }
    return status;
}

/* A worker that is lost now takes them all with it. */
static int unload_finalists(struct finals *finals, struct error *error)
{
    int status = 0;
    unsigned losses = device_losses(finals->tuning->device);
    for (size_t i = 0;
         i < finals->count && status == 0 && device_losses(finals->tuning->device) == losses; i++)
        if (finals->plan->study.results[finals->indices[i]].outcome == OUTCOME_MEASURED)
            status = unload(finals->tuning, finals->indices[i], error);
    return status;
}

static int hold_finals(struct tuning *tuning, struct plan *plan, struct error *error)
{
    struct finals finals = {.tuning = tuning, .plan = plan, .random = 0x2545f4914f6cdd1du};
    struct study *study = &plan->study;
    struct verdict verdict = {0};
    study->has_winner = false;
    choose_finalists(&finals);
    int status = load_finalists(&finals, error);
    if (status == 0)
        status = run_rounds(&finals, &verdict, error);
    if (status == 0)
        status = verify_finalists(&finals, error);
    if (status == 0 && count_in(&finals) > 0) {
        verdict = race_judge(finals.contenders, finals.count, &tuning->rules);
        study->has_winner = true;
        study->winner = finals.indices[verdict.winner];
    }
    if (status == 0)
        status = store_finalists(&finals, error);
    if (status == 0)
        status = unload_finalists(&finals, error);
    finals_release(&finals);
    return status;
}

/* -- a plan --------------------------------------------------------------------------------------
 */

static int wait_for(struct tuning *tuning, const struct plan *plan, const struct compile_job *job,
                    const char *what, struct error *error)
{
    char reason[256];
    int status = pool_wait(tuning->pool, job, error);
    if (status != 0 || job->has_cubin)
        return status;
    inspect_compile_reason(job, reason, sizeof reason);
    return error_set_at(error, ERROR_CONFIG, plan->kernel->template.source.path, 0,
                        "%s does not compile: %s", what, reason);
}

static int open_problem(struct tuning *tuning, struct plan *plan, struct error *error)
{
    const struct template *template = &plan->kernel->template;
    timings_stage(tuning->timings, TIMING_COMPILE);
    int status = wait_for(tuning, plan, tuning->support, "the tuner's own kernels", error);
    if (status == 0 && plan->reference != NULL)
        status = wait_for(tuning, plan, plan->reference, "the source, with its defaults,", error);
    if (status != 0)
        return status;
    struct device_request request = {
        .template_path = template->path,
        .template_hash = template->hash,
        .problem = plan->problem,
        .support_cubin = tuning->support->path,
        .reference_cubin = plan->reference != NULL ? plan->reference->path : NULL,
        .cold = plan->kernel->cold,
        .launch_timeout_s = tuning->launch_timeout_s,
    };
    timings_stage(tuning->timings, TIMING_PREPARE);
    return device_open(tuning->device, &request, &plan->study.empty_kernel_ns, error);
}

/* Adds what was seen now to what the record says of an earlier run. */
static void note_watched(struct watched *watched, struct watched now)
{
    now.dropped_samples += watched->dropped_samples;
    now.throttled_samples += watched->throttled_samples;
    if (now.known || !watched->known)
        *watched = now;
}

int tune_plan(struct tuning *tuning, struct plan *plan, struct error *error)
{
    tuning->rules = race_rules_complete(tuning->rules);
    progress_problem(tuning->progress);
    int status = open_problem(tuning, plan, error);
    if (status == 0)
        status = screen_pending(tuning, plan, error);
    if (status == 0)
        status = screen_closer(tuning, plan, error);
    /* finals in which everyone fails after all are held again among those left */
    do {
        if (status == 0)
            status = hold_finals(tuning, plan, error);
    } while (status == 0 && !plan->study.has_winner &&
             study_count(&plan->study, OUTCOME_MEASURED) > 0);
    if (status != 0)
        return status;
    note_watched(&plan->study.watched, device_watched(tuning->device));
    plan->study.complete = true;
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_finish(tuning->record, plan->record_id, &plan->study, error);
}
