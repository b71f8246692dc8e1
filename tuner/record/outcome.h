/*
 * The one outcome that every variant ends with. To add one: a line here; the reports, the record
 * and the summary follow.
 */
#ifndef AUTOTUNE_OUTCOME_H
#define AUTOTUNE_OUTCOME_H

/* X(NAME, name as printed and stored, what it means) */
#define OUTCOMES(X)                                                                                \
    X(MEASURED, "measured", "verified and timed")                                                  \
    X(COMPILED, "compiled", "compiled in static mode; nothing was run")                            \
    X(CONSTRAINT, "constraint", "refused by a constraint on compiled figures")                     \
    X(COMPILE_ERROR, "compile_error", "the compiler refused it, crashed or ran out of time")       \
    X(LOAD_ERROR, "load_error", "the driver did not load it")                                      \
    X(NOT_RESIDENT, "not_resident", "its blocks cannot all be on the GPU at once, as they must")   \
    X(WRONG_RESULT, "wrong_result", "verification failed")                                         \
    X(LAUNCH_ERROR, "launch_error", "the driver refused to launch it")                             \
    X(FAULT, "fault", "the kernel faulted")                                                        \
    X(TIMEOUT, "timeout", "the kernel did not end by its deadline")

enum outcome {
#define X(name, text, meaning) OUTCOME_##name,
    OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

/* "wrong_result" and so on. */
const char *outcome_name(enum outcome outcome);

/* One line of explanation. */
const char *outcome_meaning(enum outcome outcome);

/* The outcome called `name`; -1 where there is none. */
int outcome_from_name(const char *name);

#endif
