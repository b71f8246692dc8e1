/* What a compile pool is made of. Only compile_pool.c makes and frees one. */
#ifndef AUTOTUNE_COMPILE_POOL_STATE_H
#define AUTOTUNE_COMPILE_POOL_STATE_H

#include "base/event_loop.h"
#include "compile/pool_jobs.h"
#include "compile/pool_workers.h"

struct compile_pool {
    struct event_source source; /* hands out jobs before each wait */
    struct pool_workers workers;
    struct pool_jobs jobs;
    double compile_timeout_s; /* for one job */
    char arch[16];            /* of the requests that follow; "" before it is set */
};

#endif
