#include "tune/progress.h"

#include "base/clock.h"
#include "base/literal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- where the coordinator's time goes --- */

void timings_start(struct timings *timings)
{
    *timings = (struct timings){.since_ns = clock_ns(), .stage = TIMING_START};
}

void timings_stage(struct timings *timings, enum timing_stage stage)
{
    int64_t now = clock_ns();
    timings->total_ns[timings->stage] += now - timings->since_ns;
    timings->since_ns = now;
    timings->stage = stage;
}

void timings_share(struct timings *timings, int64_t load_ns, int64_t verify_ns, int64_t measure_ns)
{
    int64_t now = clock_ns();
    double sum = (double)load_ns + (double)verify_ns + (double)measure_ns;
    double elapsed = (double)(now - timings->since_ns);
    int64_t load = sum > 0 ? (int64_t)(elapsed * (double)load_ns / sum) : 0;
    int64_t verify = sum > 0 ? (int64_t)(elapsed * (double)verify_ns / sum) : 0;
    timings->total_ns[TIMING_LOAD] += load;
    timings->total_ns[TIMING_VERIFY] += verify;
    timings->total_ns[TIMING_MEASURE] += now - timings->since_ns - load - verify;
    timings->since_ns = now;
}

void timings_print(struct timings *timings, FILE *stream)
{
    static const char *const texts[] = {
#define X(name, text) text,
        TIMING_STAGES(X)
#undef X
    };
    int64_t sum = 0;
    timings_stage(timings, timings->stage);
    for (int i = 0; i < TIMING_STAGE_COUNT; i++) {
        fprintf(stream, "%9.3f s  %s\n", (double)timings->total_ns[i] * 1e-9, texts[i]);
        sum += timings->total_ns[i];
    }
    fprintf(stream, "%9.3f s  total\n", (double)sum * 1e-9);
}

/* --- what trying every variant will cost --- */

enum { ENOUGH_VARIANTS = 20, FORECAST_BYTES = 256 };

static const double early_s = 3; /* before it, too little is known … */
static const double late_s = 10; /* after it, few variants will do */
static const double long_s = 30; /* worth saying */
static const double hours_s = 3600;

/* After `done` variants in `elapsed_s` seconds, with `left` to go: true, with a message, if enough is known to say how
 * long it will take, and that is long enough to be worth saying. If it takes hours and a run `can_search`, the message
 * names the options that make it search. */
static bool forecast(double elapsed_s, size_t done, size_t left, bool can_search,
                     char text[FORECAST_BYTES])
{
    char duration[DURATION_BYTES];
    char each[DURATION_BYTES];
    if (done == 0 || elapsed_s < early_s || (elapsed_s < late_s && done < ENOUGH_VARIANTS))
        return false;
    double each_s = elapsed_s / (double)done;
    double left_s = each_s * (double)left;
    if (left_s < long_s)
        return false;
    (void)snprintf(each, sizeof each, each_s < 1 ? "%.3g ms" : "%.1f s",
                   each_s < 1 ? each_s * 1e3 : each_s);
    (void)snprintf(text, FORECAST_BYTES, "about %s left: %zu variants at %s each%s",
                   duration_text(left_s, duration), left, each,
                   can_search && left_s >= hours_s
                       ? "; --budget 10m or --evaluations 1000 tries only the most promising"
                       : "");
    return true;
}

/* --- the progress line --- */

static const int64_t terminal_interval_ns = 100000000;
static const int64_t log_interval_ns = 5000000000;

void progress_start(struct progress *progress, size_t total, bool quiet)
{
    int64_t now = clock_ns();
    *progress = (struct progress){.quiet = quiet,
                                  .terminal = isatty(STDERR_FILENO) == 1,
                                  .total = total,
                                  .label = "",
                                  .start_ns = now,
                                  .shown_ns = now};
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

bool progress_is_due(const struct progress *progress)
{
    return !progress->quiet && clock_ns() - progress->shown_ns >=
                                   (progress->terminal ? terminal_interval_ns : log_interval_ns);
}

/* Whether another line is shown now. */
static bool is_due(struct progress *progress, bool improved)
{
    bool at_once = improved && progress->history && !progress->terminal && !progress->quiet;
    bool due = at_once || progress_is_due(progress);
    if (due)
        progress->shown_ns = clock_ns();
    return due;
}

/* "312 measured, 4 wrong_result" */
static void format_counts(const struct progress *progress, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (progress->counts[i] == 0)
            continue;
        int length = snprintf(text + used, size - used, "%s%zu %s", used > 0 ? ", " : "",
                              progress->counts[i], outcome_name((enum outcome)i));
        if (length < 0 || (size_t)length >= size - used)
            return;
        used += (size_t)length;
    }
}

static void show(const struct progress *progress, const char *text)
{
    if (progress->terminal)
        fprintf(stderr, "\r\033[K%s", text);
    else
        fprintf(stderr, "%s\n", text);
    (void)fflush(stderr);
}

/* "; best 10.5 µs after 3.2 s", with a history "; best 15.9 µs at 0.4 s, 10.5 at 3.2 s". */
static void format_best(const struct progress *progress, char *text, size_t size)
{
    size_t first = progress->history || progress->best_count == 0 ? 0 : progress->best_count - 1;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = first; i < progress->best_count && used < size; i++) {
        const struct progress_best *best = &progress->bests[i];
        int length =
            snprintf(text + used, size - used, "%s%.4g%s %s %.1f s", i == first ? "; best " : ", ",
                     best->time_ns * 1e-3, i == first ? " µs" : "",
                     progress->history ? "at" : "after", best->after_s);
        used += length > 0 ? (size_t)length : 0;
    }
}

static void count(struct progress *progress, const char *label, enum outcome outcome)
{
    progress->label = label;
    progress->done++;
    progress->counts[outcome]++;
}

/* `left_s` is below 0 if it is not known. */
static void show_counts(const struct progress *progress, double left_s)
{
    char counts[160];
    char best[256];
    char left[48] = "";
    char total[32] = "";
    char cluster[112] = "";
    char line[700];
    format_counts(progress, counts, sizeof counts);
    format_best(progress, best, sizeof best);
    if (left_s >= 0)
        (void)snprintf(left, sizeof left, "; %.0f s left", left_s);
    if (progress->total > 0)
        (void)snprintf(total, sizeof total, "/%zu", progress->total);
    double elapsed_s = seconds_between(progress->start_ns, progress->shown_ns);
    if (progress->cluster != NULL && progress->cluster[0] != '\0')
        (void)snprintf(cluster, sizeof cluster, "; %s, %.3g variants/s", progress->cluster,
                       elapsed_s > 0 ? (double)progress->done / elapsed_s : 0);
    (void)snprintf(line, sizeof line, "%s: %zu%s: %s%s%s%s", progress->label, progress->done, total,
                   counts, best, left, cluster);
    show(progress, line);
}

/* Says, once, what the run will cost. */
static void show_forecast(struct progress *progress)
{
    char text[FORECAST_BYTES];
    double elapsed_s = seconds_between(progress->start_ns, clock_ns());
    if (progress->quiet || progress->forecast_shown || progress->end_ns > 0 ||
        progress->total < progress->done ||
        !forecast(elapsed_s, progress->done, progress->total - progress->done, progress->can_search,
                  text))
        return;
    progress->forecast_shown = true;
    progress_end(progress);
    fprintf(stderr, "autotune: %s\n", text);
}

void progress_add(struct progress *progress, const char *label, enum outcome outcome,
                  double median_ns)
{
    count(progress, label, outcome);
    size_t bests = progress->best_count;
    bool improved = median_ns > 0 && (bests == 0 || median_ns < progress->bests[bests - 1].time_ns);
    if (improved && bests == PROGRESS_BESTS)
        memmove(progress->bests, progress->bests + 1, --bests * sizeof *progress->bests);
    if (improved) {
        progress->bests[bests] =
            (struct progress_best){median_ns, seconds_between(progress->start_ns, clock_ns())};
        progress->best_count = bests + 1;
    }
    show_forecast(progress);
    if (!is_due(progress, improved))
        return;
    double elapsed_s = seconds_between(progress->start_ns, progress->shown_ns);
    double left_s = -1; /* by the budget, or by the rate so far */
    if (progress->end_ns > 0)
        left_s = fmax(0, seconds_between(progress->shown_ns, progress->end_ns));
    else if (progress->total > 0)
        left_s = elapsed_s * (double)(progress->total - progress->done) / (double)progress->done;
    show_counts(progress, left_s);
}

void progress_add_left(struct progress *progress, const char *label, enum outcome outcome,
                       double left_s)
{
    count(progress, label, outcome);
    if (is_due(progress, false))
        show_counts(progress, left_s);
}

void progress_note(struct progress *progress, const char *label, const char *text)
{
    char line[400];
    if (!is_due(progress, false))
        return;
    (void)snprintf(line, sizeof line, "%s: %s", label, text);
    show(progress, line);
}

void progress_problem(struct progress *progress)
{
    progress->best_count = 0;
}

void progress_end(struct progress *progress)
{
    if (!progress->quiet && progress->terminal)
        fputs("\r\033[K", stderr);
}
