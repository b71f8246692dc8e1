/*
 * Where the coordinator's time goes. It does one thing at a time, so the stages add up to the wall
 * clock. Calling sequence: timings_start, then timings_stage at each change; what passes between
 * two changes belongs to the former's stage.
 */
#ifndef AUTOTUNE_TIMINGS_H
#define AUTOTUNE_TIMINGS_H

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

#endif
