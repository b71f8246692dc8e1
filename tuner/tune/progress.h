/*
 * Where the coordinator's time goes. It does one thing at a time, so the stages add up to the wall
 * clock. Calling sequence: timings_start, then timings_stage at each change; what passes between
 * two changes belongs to the former's stage.
 */
#ifndef AUTOTUNE_PROGRESS_H
#define AUTOTUNE_PROGRESS_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(NAME, what it is) */
#define TIMING_STAGES(X)                                                                           \
    X(START, "reading files, starting workers")                                                    \
    X(SPACE, "enumerating the space, looking up what is known")                                    \
    X(CONTEXT, "waiting for the CUDA context")                                                     \
    X(SEARCH, "choosing variants")                                                                 \
    X(COMPILE, "waiting for the compiler")                                                         \
    X(PREPARE, "buffers, inputs, references")                                                      \
    X(LOAD, "loading variants")                                                                    \
    X(VERIFY, "verifying")                                                                         \
    X(MEASURE, "screening")                                                                        \
    X(FINALS, "finals")                                                                            \
    X(RECORD, "writing the record and the tuned INI")                                              \
    X(REPORT, "reports")

enum timing_stage {
#define X(name, text) TIMING_##name,
    TIMING_STAGES(X)
#undef X
        TIMING_STAGE_COUNT
};

struct timings {
    int64_t total_ns[TIMING_STAGE_COUNT];
    int64_t since_ns;
    enum timing_stage stage;
};

void timings_start(struct timings *timings);
void timings_stage(struct timings *timings, enum timing_stage stage);

/*
 * Ends the present stage and shares its time since the last change among LOAD, VERIFY and MEASURE
 * in the proportion of the worker's own times, since that is what it was waited for.
 */
void timings_share(struct timings *timings, int64_t load_ns, int64_t verify_ns, int64_t measure_ns);

/* One line a stage, and the sum. */
void timings_print(struct timings *timings, FILE *stream);

/*
 * The progress line: rewritten in place on a terminal, elsewhere a line now and then. On stderr,
 * since stdout is for results. Once it is known, and worth saying, how long a run will take, a line
 * that stays says so.
 */

enum { PROGRESS_BESTS = 6 };

/* The best so far, from some time on. */
struct progress_best {
    double time_ns;
    double after_s;
};

struct progress {
    bool quiet;
    bool terminal;
    /* set these after progress_start() */
    bool history;        /* show how the best improved, and each improvement at once */
    bool can_search;     /* the run could search instead of trying all */
    const char *cluster; /* what the run is on, shown with its rate; NULL or "": do not */
    int64_t end_ns;      /* of the budget, on clock_ns(); 0: none */

    size_t total; /* variants of the whole run; 0: not known */
    size_t done;
    size_t counts[OUTCOME_COUNT];
    struct progress_best bests[PROGRESS_BESTS]; /* the last ones of the problem at hand */
    size_t best_count;
    bool forecast_shown;
    const char *label; /* the kernel at hand, borrowed */
    int64_t start_ns, shown_ns;
};

void progress_start(struct progress *progress, size_t total, bool quiet);

/* One more variant has its outcome; `median_ns` is 0 where it was not timed. */
void progress_add(struct progress *progress, const char *label, enum outcome outcome,
                  double median_ns);

/* The same for a variant that was not timed, if the caller knows the seconds left better than they
 * follow from the rate so far. */
void progress_add_left(struct progress *progress, const char *label, enum outcome outcome,
                       double left_s);

/* Whether the next variant will be shown, so that the seconds left are of any use. */
bool progress_is_due(const struct progress *progress);

/* What is going on besides variants: "finals, round 12 of at most 60, 4 in". */
void progress_note(struct progress *progress, const char *label, const char *text);

/* A new problem: its best is not known yet. */
void progress_problem(struct progress *progress);

/* Clears the line, so that other output can follow. With a history, the last one stays. */
void progress_end(struct progress *progress);

#endif
