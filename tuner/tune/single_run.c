#include "tune/single_run.h"

#include "base/alloc.h"
#include "compile/build.h"
#include "compile/cubin_cache.h"
#include "compile/launch_check.h"
#include "template/fill.h"
#include "template/problem_check.h"
#include "template/variant.h"
#include "tune/kernel_stats.h"
#include "tune/tuning.h"

#include <stdlib.h>

enum {
    FIRST_SAMPLES = 3, /* with the verifications before and after */
    MORE_SAMPLES = 27, /* of a variant that is fast enough, the last two of them verified */
    TRIES = 20,        /* of what is to be asked for again */
};
#define FAST_NS 10e6

/* Everything that the steps of one run share. */
struct steps {
    struct single_run *run;
    const struct single_run_request *request;
    struct bindings fixed; /* problem values and device attributes */
    struct error *error;
};

void single_run_init(struct single_run *run)
{
    *run = (struct single_run){.lock.file = -1, .cache_use.file = -1};
}

void single_run_release(struct single_run *run)
{
    device_client_free(run->client);
    event_loop_release(&run->loop);
    device_lock_release(&run->lock);
    if (run->cache != NULL)
        (void)cubin_cache_use_end(&run->cache_use, run->cache, 0, UINT64_MAX, NULL);
    single_compile_release(&run->compiler);
    result_release(&run->result);
    json_decref(run->data);
    free(run->compiler_log);
    free(run->cache);
    free(run->support);
    free(run->reference);
    free(run->variant);
}

/* Ends the variant. */
static int conclude(const struct steps *steps, enum outcome outcome, const char *reason)
{
    struct result *result = &steps->run->result;
    result->outcome = outcome;
    free(result->reason);
    result->reason = reason[0] != '\0' ? alloc_string(reason) : NULL;
    return 0;
}

/* --- the GPU --- */

static int lock_gpu(const struct steps *steps)
{
    struct single_run *run = steps->run;
    struct error notice;
    bool held;
    int status = device_lock_try(&run->lock, run->gpu.uuid, &held, steps->error);
    if (status != 0 || held)
        return status;
    if (steps->request->no_wait)
        return error_set(steps->error, ERROR_DEVICE,
                         "'%s' is being used by another run, process %ld; leave out --no-wait to "
                         "wait for it",
                         run->gpu.name, run->lock.owner);
    (void)error_set(&notice, ERROR_OK, "waiting for process %ld, which is using '%s'",
                    run->lock.owner, run->gpu.name);
    steps->request->notice(&notice);
    return device_lock_wait(&run->lock, steps->error);
}

/* The worker makes its context while the coordinator compiles. */
static int find_gpu(struct steps *steps)
{
    struct single_run *run = steps->run;
    int status =
        device_client_new(&run->client, NULL, steps->request->device, &run->loop, steps->error);
    if (status == 0)
        status = device_client_gpu(run->client, &run->gpu, steps->error);
    if (status == 0)
        status = lock_gpu(steps);
    if (status != 0)
        return status;
    bindings_append(&steps->fixed, steps->request->problem);
    gpu_bindings(&run->gpu, &steps->fixed);
    return 0;
}

/* --- compiling --- */

static int compile_support(const struct steps *steps)
{
    struct single_run *run = steps->run;
    const struct options options = {0};
    struct compilation compilation = {0};
    int status = single_compile_source_cubin(&run->compiler, device_kernels(), &options,
                                             run->gpu.arch, &compilation, NULL, steps->error);
    compilation_release(&compilation);
    run->support = alloc_string(run->compiler.path);
    return status;
}

static int compile_reference(const struct steps *steps)
{
    struct single_run *run = steps->run;
    const struct template *template = steps->request->template;
    struct bindings defaults = {0};
    struct compilation compilation = {0};
    if (!template_has_helpers(template))
        return 0;
    variant_defaults(template, &defaults);
    const struct build build = {template, &defaults, steps->request->problem, run->gpu.arch, true};
    int status = single_compile_cubin(&run->compiler, &build, &compilation, NULL, steps->error);
    run->reference = alloc_string(run->compiler.path);
    struct launch_check check = {
        .template = template, .gpu = &run->gpu, .compilation = &compilation};
    if (status == 0)
        status = launch_check_helpers(&check, &steps->fixed, steps->error);
    compilation_release(&compilation);
    bindings_release(&defaults);
    return status;
}

/* What can be decided without running it. */
static void check_variant(const struct steps *steps, const struct compilation *compilation)
{
    struct error reason = {0};
    char text[ERROR_TEXT_BYTES];
    enum outcome outcome;
    const struct kernel_stats_source source = {.template = steps->request->template,
                                               .gpu = &steps->run->gpu,
                                               .fixed = &steps->fixed,
                                               .parameters = steps->request->parameters,
                                               .compilation = compilation};
    kernel_stats_fill(&source, &steps->run->result, &outcome, &reason);
    (void)conclude(steps, outcome, error_text(&reason, text));
}

static int compile_variant(const struct steps *steps)
{
    struct single_run *run = steps->run;
    const struct single_run_request *request = steps->request;
    const struct build build = {request->template, request->parameters, request->problem,
                                run->gpu.arch, false};
    struct compilation compilation = {0};
    struct error refusal;
    char text[ERROR_TEXT_BYTES];
    struct options options;
    int status =
        variant_options(build.template, build.parameters, build.problem, &options, &refusal);
    options_release(&options);
    if (status != 0)
        return conclude(steps, OUTCOME_INVALID, error_text(&refusal, text));
    status = single_compile_cubin(&run->compiler, &build, &compilation, NULL, &refusal);
    run->variant = alloc_string(run->compiler.path);
    if (compilation.log != NULL &&
        launch_check_refusal(request->template, compilation.log, NULL) == 0)
        run->compiler_log = alloc_string(compilation.log);
    if (status == 0)
        check_variant(steps, &compilation);
    else if (status == ERROR_CONFIG)
        status = conclude(steps, OUTCOME_COMPILE_ERROR, error_text(&refusal, text));
    else if (steps->error != NULL)
        *steps->error = refusal;
    compilation_release(&compilation);
    return status;
}

static int prepare(struct steps *steps)
{
    int status = find_gpu(steps);
    if (status == 0)
        status = problem_check(steps->request->template, &steps->fixed, steps->error);
    if (status == 0)
        status = compile_variant(steps); /* first, for its messages */
    if (status != 0 || steps->run->result.outcome != OUTCOME_COMPILED)
        return status;
    status = compile_reference(steps);
    return status != 0 ? status : compile_support(steps);
}

/* --- running --- */

static int take_answer(const struct steps *steps, const struct device_client_answer *answer)
{
    return conclude(steps, answer->outcome, answer->reason);
}

static int open_problem(const struct steps *steps)
{
    const struct single_run_request *request = steps->request;
    struct single_run *run = steps->run;
    char digits[HASH_BYTES];
    run->data = fill_list_files(request->template, digits);
    const struct opened_problem problem = {
        .template = request->template,
        .data = run->data,
        .values = request->problem,
        .largest = request->parameters,
        .support_cubin = run->support,
        .reference_cubin = run->reference,
        .cold = request->template->cold,
        .launch_timeout_s = request->launch_timeout_s,
    };
    return device_client_open(run->client, &problem, &run->empty_ns, steps->error);
}

/* Verifies it, takes a few samples, and verifies what the last of them left behind. */
static int try_it(const struct steps *steps)
{
    struct single_run *run = steps->run;
    struct device_client_answer answer = {.again = true};
    struct trial_times times;
    const struct device_client_trial trial = {.samples = FIRST_SAMPLES,
                                              .short_ns = TUNING_SHORT_NS};
    int status = 0;
    for (int i = 0; i < TRIES && answer.again && status == 0; i++) {
        device_client_trial_send(run->client, run->variant, steps->request->parameters, &trial);
        status = device_client_trial_take(run->client, &run->result, &times, &answer, steps->error);
    }
    if (status != 0)
        return status;
    if (answer.again)
        return conclude(steps, OUTCOME_FAULT, "the GPU worker was killed, or the GPU throttled");
    return take_answer(steps, &answer);
}

static int load(const struct steps *steps, int64_t id, struct device_client_answer *answer)
{
    struct single_run *run = steps->run;
    return device_client_load(run->client, id, run->variant, steps->request->parameters,
                              &run->result, answer, steps->error);
}

/* On how many data sets it is verified: a variant that remembers a result repeats it on other data. */
static unsigned data_sets(const struct steps *steps)
{
    bool draws = template_draws_data(steps->request->template);
    return draws && !steps->run->one_data_set ? 2 : 1;
}

/* What differs in the first run that is wrong, as far as it is wrong again. */
static int list_differences(const struct steps *steps)
{
    struct single_run *run = steps->run;
    size_t wanted = steps->request->differences;
    struct device_client_check check = {.runs = FIRST_SAMPLES + 1, .careful = true};
    struct device_client_answer answer;
    int status = load(steps, TRIES, &answer);
    if (wanted > SINGLE_RUN_DIFFERENCES)
        wanted = SINGLE_RUN_DIFFERENCES;
    for (; check.data_set < data_sets(steps) && status == 0 && run->difference_count == 0 &&
           answer.outcome == OUTCOME_MEASURED && !answer.again;
         check.data_set++) {
        run->difference_count = wanted;
        status = device_client_verify_closely(run->client, TRIES, &check, run->differences,
                                              &run->difference_count, &answer, steps->error);
    }
    return status;
}

/* Other data that cannot be made are not the variant's fault. */
static void give_up_data(const struct steps *steps, struct device_client_answer *answer)
{
    struct error notice;
    steps->run->one_data_set = true;
    (void)error_set_at(
        &notice, ERROR_OK, steps->request->template->path, 0,
        "the variant is verified on one data set, because with other random numbers: %s",
        answer->reason);
    steps->request->notice(&notice);
    answer->outcome = OUTCOME_MEASURED;
}

/* Four consecutive runs of variant `id` on each data set, so that each kind of poison has its turn. */
static int verify(const struct steps *steps, int64_t id, struct device_client_answer *answer)
{
    struct device_client_check check = {.runs = 4, .careful = true};
    int status = 0;
    for (; check.data_set < data_sets(steps) && status == 0 && !answer->again &&
           answer->outcome == OUTCOME_MEASURED;
         check.data_set++)
        status = device_client_verify(steps->run->client, id, &check, answer, steps->error);
    if (status == 0 && check.data_set > 1 && answer->unfit)
        give_up_data(steps, answer);
    return status;
}

/* Verifies it, and takes `count` more samples of the kind that it has; again if they were dropped, or
 * their worker was. */
static int verify_and_sample(const struct steps *steps, size_t count)
{
    struct single_run *run = steps->run;
    struct result *result = &run->result;
    struct device_client_sampling sampling = {
        .count = count, .batched = result->runs > 1, .check_after = count - 1, .careful = true};
    struct device_client_answer answer = {.again = true};
    int runs = 0;
    int status = 0;
    for (int i = 0; i < TRIES && answer.again && status == 0; i++) {
        status = load(steps, i, &answer);
        if (status == 0 && !answer.again && answer.outcome == OUTCOME_MEASURED)
            status = verify(steps, i, &answer);
        if (status != 0 || answer.again || answer.outcome != OUTCOME_MEASURED || count == 0)
            continue;
        sampling.data_set = data_sets(steps) - 1;
        device_client_measure_send(run->client, i, &sampling);
        status = device_client_measure_take(run->client, &result->samples_ns, &result->sample_count,
                                            &runs, &answer, steps->error);
    }
    return status != 0 || answer.outcome == OUTCOME_MEASURED ? status : take_answer(steps, &answer);
}

static int measure(const struct steps *steps)
{
    struct single_run *run = steps->run;
    int status = open_problem(steps);
    if (status == 0)
        status = try_it(steps);
    tuning_summarise(&run->result);
    if (status == 0 && run->result.outcome == OUTCOME_MEASURED)
        status = verify_and_sample(steps, run->result.time.median_ns < FAST_NS ? MORE_SAMPLES : 0);
    if (status == 0 && run->result.outcome == OUTCOME_WRONG_RESULT)
        return list_differences(steps);
    tuning_summarise(&run->result);
    if (run->result.runs > 1 && device_client_empty_batch_ns(run->client) > 0)
        run->empty_ns = device_client_empty_batch_ns(run->client);
    return status;
}

int single_run_perform(struct single_run *run, const struct single_run_request *request,
                       struct error *error)
{
    struct steps steps = {.run = run, .request = request, .error = error};
    run->cache = cubin_cache_default_folder();
    int status = cubin_cache_check_folder(run->cache, error);
    if (status == 0 && !cubin_cache_use_begin(&run->cache_use, run->cache))
        status = cubin_cache_use_wait(&run->cache_use, error);
    if (status == 0)
        status = prepare(&steps);
    if (status == 0 && run->result.outcome == OUTCOME_COMPILED)
        status = measure(&steps);
    bindings_release(&steps.fixed);
    return status;
}
