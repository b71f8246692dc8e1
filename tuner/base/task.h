/*
 * Tasks: several calls that wait in one event loop, each as if it had the loop to itself. A task has
 * a stack of its own (8 MiB; an overflow is a fault). When it waits (event_loop_step() and whatever is
 * built on it), the others run. All of them run in the caller's thread, one at a time: a task is
 * interrupted only where it waits, so what tasks share needs no locks, but may have changed after
 * each wait.
 *
 * Calling sequence:
 *     struct task tasks[] = {{.run = measure, .owner = &first}, {.run = measure, .owner = &second}};
 *     status = tasks_run(&loop, tasks, 2, error);
 *
 * A task may run further tasks in the same way. QEMU's coroutines (util/coroutine-ucontext.c) are made
 * with the same means.
 */
#ifndef AUTOTUNE_TASK_H
#define AUTOTUNE_TASK_H

#include "base/error.h"
#include "base/event_loop.h"

#include <stdbool.h>
#include <stddef.h>

struct task {
    int (*run)(void *owner, struct error *error);
    void *owner;
    int status; /* what it returned, with its error */
    struct error error;
    bool done;
    bool cancelled; /* set it, and event_loop_wake(): all its waits fail with ERROR_WORKER */
};

/*
 * Runs `count` tasks until all have returned. Returns 0, or the status and error of the first in the
 * array that failed; or ERROR_WORKER if there is no memory for a stack, after those before it have
 * returned. The others are not told: if they should end as well, what they share must say so
 * (event_loop_wake()). An interruption and a failing callback end the wait of every task.
 */
int tasks_run(struct event_loop *loop, struct task *tasks, size_t count, struct error *error);

#endif
