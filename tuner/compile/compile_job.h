/* A job of the compile pool, as whoever requested it sees it. The pool owns it. */
#ifndef AUTOTUNE_COMPILE_JOB_H
#define AUTOTUNE_COMPILE_JOB_H

#include "base/hash.h"
#include "compile/compilation.h"

#include <stdbool.h>

struct compile_job {
    char key[HASH_BYTES];
    char *path; /* of its entry in the cubin cache */
    bool done;
    bool has_cubin;                 /* otherwise `failure` or the compiler's log says why */
    struct compilation compilation; /* kernels and log; no image */
    char failure[256];              /* how its worker was lost; "" if it was not */
    bool timed_out;                 /* the worker missed the deadline */
    bool killed;                    /* from outside, more than once */
    bool invalid;                   /* its options cannot be computed; no worker had it */
    bool cached;                    /* no worker was needed */
    unsigned distrusts;             /* calls of compile_pool_distrust() */
};

#endif
