/*
 * Which worker gets which job: the first of the queue goes to whoever is idle. A job that takes long
 * on one machine is given to an idle worker of another one, too, once nothing is queued.
 */
#ifndef AUTOTUNE_POOL_DISPATCH_H
#define AUTOTUNE_POOL_DISPATCH_H

#include "base/event_loop.h"
#include "compile/compile_pool_state.h"

/* From now on, the pool hands out jobs before each wait in the loop, and after each answer. Call it
 * before the first worker is started; whoever frees the pool removes pool->source. */
void pool_dispatch_begin(struct compile_pool *pool, struct event_loop *loop);

#endif
