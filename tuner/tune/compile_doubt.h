/*
 * Notices when the first variants of a run all fail to compile with one message. Then the kernel is
 * probably wrong, and the user should know before the others are tried.
 */
#ifndef AUTOTUNE_COMPILE_DOUBT_H
#define AUTOTUNE_COMPILE_DOUBT_H

#include <stdbool.h>
#include <stddef.h>

enum { DOUBT_VARIANTS = 8, DOUBT_REASON_BYTES = 256 };

/* Zeroed is the start of a run. */
struct compile_doubt {
    size_t failures; /* alike, and nothing else so far */
    char reason[DOUBT_REASON_BYTES];
    bool settled; /* a variant compiled or failed otherwise, or the user was told */
};

/* A variant compiled (`reason` is NULL), or did not. Returns true once: the first DOUBT_VARIANTS have
 * failed with the same reason. */
bool compile_doubt_note(struct compile_doubt *doubt, const char *reason);

#endif
