#include "tune/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Whether it is time for another line. */
static bool is_due(struct progress *progress)
{
    int64_t now = clock_ns();
    int64_t interval = progress->terminal ? terminal_interval_ns : log_interval_ns;
    if (progress->quiet || now - progress->shown_ns < interval)
        return false;
    progress->shown_ns = now;
    return true;
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

static void count(struct progress *progress, const char *label, enum outcome outcome)
{
    progress->label = label;
    progress->done++;
    progress->counts[outcome]++;
}

static void show_counts(const struct progress *progress, double left_s)
{
    char counts[160];
    char best[48] = "";
    char line[400];
    format_counts(progress, counts, sizeof counts);
    if (progress->best_ns > 0)
        (void)snprintf(best, sizeof best, "; best %.4g µs", progress->best_ns * 1e-3);
    (void)snprintf(line, sizeof line, "%s: %zu/%zu: %s%s; %.0f s left", progress->label,
                   progress->done, progress->total, counts, best, left_s);
    show(progress, line);
}

void progress_add(struct progress *progress, const char *label, enum outcome outcome,
                  double median_ns)
{
    count(progress, label, outcome);
    if (median_ns > 0 && (progress->best_ns <= 0 || median_ns < progress->best_ns))
        progress->best_ns = median_ns;
    if (!is_due(progress))
        return;
    double elapsed_s = (double)(progress->shown_ns - progress->start_ns) * 1e-9;
    show_counts(progress,
                elapsed_s * (double)(progress->total - progress->done) / (double)progress->done);
}

void progress_add_left(struct progress *progress, const char *label, enum outcome outcome,
                       double left_s)
{
    count(progress, label, outcome);
    if (is_due(progress))
        show_counts(progress, left_s);
}

void progress_note(struct progress *progress, const char *label, const char *text)
{
    char line[400];
    if (!is_due(progress))
        return;
    (void)snprintf(line, sizeof line, "%s: %s", label, text);
    show(progress, line);
}

void progress_problem(struct progress *progress)
{
    progress->best_ns = 0;
}

void progress_end(struct progress *progress)
{
    if (!progress->quiet && progress->terminal)
        fputs("\r\033[K", stderr);
}
