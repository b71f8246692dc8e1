#include "cover/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, FEWEST_ROUNDS = 4, VERIFICATION = 2 /* as many rounds take as long */ };

/* What a nominee's samples of a round take, apart from its own time: flushing the cache, loading. */
static const double round_overhead_s = 0.002;

/* Of a budget, for all rounds at all sizes. */
static const double rounds_share = 0.45;

double cover_runs_spent_s(const struct cover_session *session)
{
    return (double)(clock_ns() - session->begin_ns) * 1e-9;
}

/* "(n, k)=(512, 64),(1024, 64)": the values of `rows`, which have the same names, so that they read
 * back the same. A new string. */
static char *tuples(const struct bindings *rows, size_t count)
{
    char *text = NULL;
    for (size_t i = 0; i < rows[0].count; i++)
        alloc_append(&text, "%s%s", i > 0 ? ", " : "(", rows[0].items[i].name);
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].count; i++) {
            char value[VALUE_TEXT_BYTES];
            alloc_append(&text, "%s%s",
                         i > 0      ? ", "
                         : row == 0 ? ")=("
                                    : "), (",
                         value_exact_text(rows[row].items[i].value, value));
        }
    alloc_append(&text, ")");
    return text;
}

static char *problem_tuples(const struct cover_session *session, const struct sizes *sizes)
{
    struct bindings *problems = alloc_zeroed(sizes->count, sizeof *problems);
    for (size_t i = 0; i < sizes->count; i++)
        problem_range_bind(&session->range, sizes_at(sizes, i), &problems[i]);
    char *text = tuples(problems, sizes->count);
    for (size_t i = 0; i < sizes->count; i++)
        bindings_release(&problems[i]);
    free(problems);
    return text;
}

/* Times on other data cannot be compared. */
static int check_alike(const struct cover_session *session, const struct study *study,
                       struct error *error)
{
    const struct study *first = cover_session_study(session);
    if (first == NULL || strcmp(study->data_hash, first->data_hash) == 0)
        return 0;
    return error_set(error, ERROR_CONFIG,
                     "%s: a file of data has changed since the run started; run again",
                     session->config);
}

/* Whether a setting, "block_size=64" or "(block_size, num_load)=(64, 1)", is of parameters. */
static bool sets_parameters(const struct cover_session *session, const char *setting)
{
    const char *start = setting + strspn(setting, "( \t");
    char *name = alloc_string_n(start, strcspn(start, ",)= \t"));
    bool found = template_parameter(&session->range.kernel->template, name) != NULL;
    free(name);
    return found;
}

/* Loads the kernel alone, for these problems, with the nominees or else the parameters of --set. Its times cannot be
 * compared with those of another version, nor may another sweep state the rest of its constraints. */
static int load(const struct cover_session *session, const char *problems, const char *nominees,
                struct sweep *sweep, struct error *error)
{
    struct sweep_request request = session->source;
    const char **settings = NULL;
    size_t count = 0;
    *ARRAY_APPEND(settings, count) = problems;
    if (nominees != NULL)
        *ARRAY_APPEND(settings, count) = nominees;
    for (const char *const *given = session->source.settings;
         nominees == NULL && given != NULL && *given != NULL; given++)
        if (sets_parameters(session, *given))
            *ARRAY_APPEND(settings, count) = *given;
    *ARRAY_APPEND(settings, count) = NULL;
    request.only = &session->kernel;
    request.only_count = 1;
    request.settings = settings;
    int status = sweep_open(sweep, &request, error);
    free(settings);
    if (status != 0)
        return status;
    const struct template *template = &sweep->kernels[0].template;
    const bool same_sweep = request.path == NULL || strcmp(sweep->ini.text, session->text) == 0;
    if (!same_sweep || strcmp(template->hash, session->range.kernel->template.hash) != 0)
        return error_set_at(error, ERROR_CONFIG, same_sweep ? template->path : session->config, 0,
                            "the %s has changed since the run started; run again",
                            same_sweep ? "template" : "sweep");
    sweep->limits = sweep->kernels[0].limits = (struct sweep_limits){0};
    sweep->kernels[0].limited = false;
    return 0;
}

/* Whether the kernel's constraints rule a variant out, as far as they can be told before it is
 * compiled. */
static bool is_ruled_out(const struct cover_session *session, const struct study *study,
                         const struct bindings *parameters)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    struct bindings device = {0};
    bool ruled_out = false;
    gpu_bindings(&study->environment.gpu, &device);
    const struct scope attributes = {.bindings = &device};
    const struct scope problem = {.bindings = &study->problem, .outer = &attributes};
    const struct scope scope = {.bindings = parameters, .outer = &problem};
    for (size_t i = 0; i < kernel->constraint_count && !ruled_out; i++) {
        bool holds;
        int status = expression_boolean(kernel->constraints[i], &scope, &holds, NULL);
        ruled_out = status == 0 && !holds;
    }
    bindings_release(&device);
    return ruled_out;
}

/* Notes a configuration that is refuted; takes over `why` for the output. */
static void note_refuted(struct cover_session *session, const struct bindings *parameters,
                         char *why)
{
    size_t count = session->refuted.count;
    if (nominees_add(&session->refuted, parameters))
        *ARRAY_APPEND(session->refutations, count) = why;
    else
        free(why);
}

/* Adds what a study of a size in the range refutes. */
static void add_refuted(struct cover_session *session, const struct study *study)
{
    for (size_t i = 0; i < study->result_count; i++) {
        const struct bindings *parameters = &study->results[i].parameters;
        const struct result *run = study_run(study, &study->results[i]);
        if (!result_is_refuted(run) || is_ruled_out(session, study, parameters))
            continue;
        char *problem = bindings_text(&study->problem);
        note_refuted(session, parameters,
                     alloc_format("%s for %s%s%s", outcome_name(run->outcome), problem,
                                  run->reason != NULL ? ": " : "",
                                  run->reason != NULL ? run->reason : ""));
        free(problem);
    }
}

/* Whether one variant was run and is right in this study, and the other failed there. */
static bool is_cleared_by(const struct study *study, const struct bindings *right,
                          const struct bindings *failed)
{
    bool measured = false;
    bool refuted = false;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        measured = measured || (result->outcome == OUTCOME_MEASURED &&
                                bindings_equal(&result->parameters, right));
        refuted =
            refuted || (result_is_refuted(result) && bindings_equal(&result->parameters, failed));
    }
    return measured && refuted;
}

static bool is_cleared(const struct cover_session *session, const struct run *run,
                       const struct bindings *right, const struct bindings *failed)
{
    for (size_t i = 0; i < session->sizes.count; i++)
        if (is_cleared_by(&session->tuned[i], right, failed))
            return true;
    for (size_t i = 0; i < run->job_count; i++)
        if (is_cleared_by(&run->jobs[i].study, right, failed))
            return true;
    return false;
}

/* Adds what runs as a refuted configuration does at a size of the range, unless it was run where that one
 * failed: it may be the one of the two that was not tried there. */
static void add_twins(struct cover_session *session, const struct run *run,
                      const struct study *study)
{
    if (study_count(study, OUTCOME_DUPLICATE) == 0)
        return;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *own = &study->results[i];
        if (own->run_hash[0] == '\0' || !nominees_has(&session->refuted, &own->parameters))
            continue;
        for (size_t j = 0; j < study->result_count; j++)
            if (strcmp(own->run_hash, study->results[j].run_hash) == 0 &&
                !is_cleared(session, run, &study->results[j].parameters, &own->parameters)) {
                char *twin = bindings_text(&own->parameters);
                note_refuted(session, &study->results[j].parameters,
                             alloc_format("runs the same code as %s", twin));
                free(twin);
            }
    }
}

/* Whether a study in the record is within the range and its constraints, under whatever name. A size may be that of an
 * earlier session, or have been tuned alone. */
static bool is_in_range(const struct cover_session *session, const struct study *study)
{
    int64_t size[SWEEP_COVER_AXES];
    return problem_range_size(&session->range, &study->problem, size) &&
           problem_range_admits(&session->range, size, NULL) == 1;
}

static int find_refuted(struct cover_session *session, const struct run *run, struct error *error)
{
    struct study *studies = NULL;
    size_t count = 0;
    int status = record_failures(run->record, &run->jobs[0].study, &studies, &count, error);
    cover_session_forget_refuted(session);
    for (size_t i = 0; i < count; i++)
        if (is_in_range(session, &studies[i]))
            add_refuted(session, &studies[i]);
    if (status == 0)
        status = tuned_file_refute(session->tuned_path, studies, count, session->options.notice,
                                   session->options.user, error);
    for (size_t i = 0; i < count; i++)
        study_release(&studies[i]);
    free(studies);
    return status;
}

/* Whether a size's rounds refuted all nominees, so that others will be measured there. */
static bool is_refuted(const struct cover_session *session, const struct study *study)
{
    bool refuted = study->result_count > 0 && strcmp(study->kernel, session->rounds_kernel) == 0;
    for (size_t i = 0; i < study->result_count; i++)
        refuted = refuted && nominees_has(&session->refuted, &study->results[i].parameters);
    return refuted;
}

/* Notes the sizes at which nothing was measured, unless there was no time for it or others will be
 * measured there. */
static void note_refusals(struct cover_session *session, const struct run *run)
{
    int64_t size[SWEEP_COVER_AXES];
    for (size_t i = 0; i < run->job_count; i++) {
        const struct tuning_job *job = &run->jobs[i];
        struct error reason = run->refusal;
        bool measured = study_best(&job->study) < job->study.result_count;
        if (!job->refused &&
            (measured || tuning_job_is_searching(job) || is_refuted(session, &job->study)))
            continue;
        if (!job->refused)
            (void)run_say_no_winner(job, &reason);
        if (problem_range_size(&session->range, &job->study.problem, size))
            cover_session_leave_out(session, size);
        if (session->refused_count++ == 0)
            session->refusal = reason;
    }
}

/* Runs the sweep and takes its studies, which are in the order of the problems. */
static int hold(struct cover_session *session, const struct run_options *options,
                const struct sweep *sweep, struct study *studies, struct error *error)
{
    struct run *run = &session->run;
    run_next(run, options);
    int status = run_sweep(run, sweep, error);
    bool began = run->record != NULL && run->job_count > 0; /* it may have been interrupted since */
    int found = began ? find_refuted(session, run, status == 0 ? error : NULL) : 0;
    if (status == 0)
        status = found;
    for (size_t i = 0; i < session->sizes.count; i++)
        add_twins(session, run, &session->tuned[i]);
    for (size_t i = 0; i < run->job_count; i++)
        add_twins(session, run, &run->jobs[i].study);
    if (status == 0)
        note_refusals(session, run);
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        status = check_alike(session, &run->jobs[i].study, error);
        tuning_job_take_study(&run->jobs[i], &studies[i]);
    }
    run_next(run, &session->options); /* which leaves nothing of the sweep */
    return status;
}

int cover_runs_tune(struct cover_session *session, const struct sizes *sizes, double budget_s,
                    struct study *studies, struct error *error)
{
    struct run_options options = session->options;
    char *problems = problem_tuples(session, sizes);
    struct sweep sweep;
    options.limits = session->limits;
    options.limits.budget_s = budget_s < INFINITY ? budget_s : 0;
    options.suggestions = session->seeds.items;
    options.suggestion_count = session->seeds.count;
    int status = load(session, problems, NULL, &sweep, error);
    if (status == 0)
        status = hold(session, &options, &sweep, studies, error);
    sweep_release(&sweep);
    free(problems);
    return status;
}

/* How many times all rounds' share of the budget has time for a round of one nominee at as many sizes
 * as there may be: an estimate, until sizes were measured. INFINITY without a budget. */
static double count_measurements(const struct cover_session *session)
{
    double round_s = 0;
    size_t tuned = 0;
    if (session->limits.budget_s <= 0)
        return INFINITY;
    for (size_t i = 0; i < session->sizes.count; i++) {
        const struct study *study = &session->tuned[i];
        if (study->result_count == 0)
            continue;
        double sample_s = study->results[study_best(study)].time.median_ns * 1e-9;
        round_s += 6 * sample_s + round_overhead_s;
        tuned++;
    }
    size_t sizes =
        session->sizes.count > session->most_sizes ? session->sizes.count : session->most_sizes;
    return rounds_share * session->limits.budget_s * (double)tuned / (round_s * (double)sizes);
}

size_t cover_runs_most_nominees(const struct cover_session *session)
{
    double most = count_measurements(session) / (FEWEST_ROUNDS + VERIFICATION);
    return most < NOMINEES_LIMIT ? (size_t)most : NOMINEES_LIMIT;
}

static unsigned count_rounds(const struct cover_session *session)
{
    double rounds = count_measurements(session) / (double)session->nominees.count - VERIFICATION;
    if (rounds >= ROUNDS)
        return ROUNDS;
    return rounds > FEWEST_ROUNDS ? (unsigned)rounds : FEWEST_ROUNDS;
}

int cover_runs_rounds(struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error)
{
    struct run_options options = session->options;
    char *problems = problem_tuples(session, sizes);
    char *nominees = tuples(session->nominees.items, session->nominees.count);
    struct sweep sweep;
    options.limits = (struct sweep_limits){0};
    options.exhaustive = count_rounds(session);
    int status = load(session, problems, nominees, &sweep, error);
    if (status == 0) {
        sweep.kernels[0].label = session->rounds_kernel;
        status = hold(session, &options, &sweep, studies, error);
    }
    sweep_release(&sweep);
    free(problems);
    free(nominees);
    return status;
}

void cover_runs_find_seeds(struct cover_session *session, const char *path)
{
    struct tuned_file tuned;
    (void)tuned_file_read(path, &tuned, NULL); /* if it cannot be read, the next run says so */
    for (size_t i = 0; i < tuned.count; i++) {
        const struct tuned_entry *entry = &tuned.entries[i];
        if (entry->cover == NULL || strcmp(entry->kernel, session->kernel) != 0)
            continue;
        for (size_t j = 0; j < tuned_entry_count(entry); j++) {
            struct bindings parameters = tuned_entry_parameters(entry, j);
            (void)nominees_add(&session->seeds, &parameters);
            bindings_release(&parameters);
        }
    }
    tuned_file_release(&tuned);
}
