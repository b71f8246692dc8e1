/*
 * Outcomes: every variant ends with exactly one. To add one, add a line to OUTCOMES and its name in
 * T4 to t4_invalidity() (report/t4.c); the record and the other reports need no change.
 */
#ifndef AUTOTUNE_OUTCOME_H
#define AUTOTUNE_OUTCOME_H

/* X(NAME, name as printed and stored, what it means) */
#define OUTCOMES(X)                                                                                \
    X(MEASURED, "measured", "verified and timed")                                                  \
    X(COMPILED, "compiled", "compiled in static mode; nothing was run")                            \
    X(DUPLICATE, "duplicate", "the same machine code and launches as another variant")             \
    X(INVALID, "invalid", "the template does not fit it: an expression fails, for example")        \
    X(CONSTRAINT, "constraint", "a constraint on the compiled kernel rejected it")                 \
    X(COMPILE_ERROR, "compile_error", "it did not compile, or the compiler crashed or timed out")  \
    X(LOAD_ERROR, "load_error", "the driver could not load it")                                    \
    X(NOT_RESIDENT, "not_resident", "its blocks must all be resident at once, but do not fit")     \
    X(WRONG_RESULT, "wrong_result", "verification failed")                                         \
    X(LAUNCH_ERROR, "launch_error", "it cannot be launched")                                       \
    X(FAULT, "fault", "the kernel crashed")                                                        \
    X(TIMEOUT, "timeout", "the kernel did not finish by its deadline")

enum outcome {
#define X(name, text, meaning) OUTCOME_##name,
    OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

/* For example "wrong_result". */
const char *outcome_name(enum outcome outcome);

/* A one-line explanation. */
const char *outcome_meaning(enum outcome outcome);

/* The outcome called `name`, or -1. */
int outcome_from_name(const char *name);

#endif
