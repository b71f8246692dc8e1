/*
 * The coordinator's event loop: one thread waits for its worker processes, and for Ctrl-C, in one
 * place. The compile pool registers each compile worker as a source; the GPU client waits for its
 * own worker with event_loop_wait(), during which the compile workers are served, too.
 *
 * Calling sequence:
 *     struct event_loop loop = {0};
 *     event_loop_add(&loop, &source);                  the source stays the caller's
 *     while (!done)
 *         status = event_loop_step(&loop, EVENT_NEVER, error);
 *     event_loop_remove(&loop, &source);
 *     event_loop_release(&loop);
 *
 * Callbacks may add and remove sources, their own included, but must not run the loop.
 *
 * Several tasks can wait in one loop (task.h).
 */
#ifndef AUTOTUNE_EVENT_LOOP_H
#define AUTOTUNE_EVENT_LOOP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_NEVER INT64_MAX /* a deadline that never passes */

/*
 * What the loop waits for. Each callback returns 0, or an error that ends the step and is passed on
 * to whoever runs the loop. A callback that is NULL is not called.
 */
struct event_source {
    int descriptor;      /* read from; -1: none. Stays as it is until the source is removed */
    int64_t deadline_ns; /* on clock_ns(), or EVENT_NEVER */
    void *owner;         /* for the callbacks */
    /* before each wait: hands out work and sets the deadline */
    int (*prepare)(struct event_source *source, struct error *error);
    /* the descriptor can be read, or its other end is closed */
    int (*readable)(struct event_source *source, struct error *error);
    /* the deadline has passed, and there is nothing to read */
    int (*expired)(struct event_source *source, struct error *error);
    size_t place; /* the loop's: among the sources */
};

struct pollfd;
struct task_stack;

/* What event_loop_wait() waits for: nothing else concerns the task that calls it. */
struct event_wait {
    bool readable;
    int64_t until_ns;
};

/* Zeroed is an empty loop. */
struct event_loop {
    struct event_source **sources; /* NULL: removed since the last step began */
    size_t count;
    struct pollfd *polled; /* of each source, in a step */
    /* for task.c: */
    struct task_stack **tasks;
    size_t task_count;
    struct task_stack *running; /* NULL: none */
    struct event_wait *wait;    /* of event_loop_wait(), for the step that it begins */
    /* what event_loop_step() does in a task; a pointer, so that only users of tasks need task.c */
    int (*park)(struct task_stack *running, int64_t until_ns, struct error *error);
    bool woken;  /* since the last wait: the next one ends at once */
    bool failed; /* a callback, or waiting: whoever was waiting then is not at fault */
};

void event_loop_release(struct event_loop *loop);

void event_loop_add(struct event_loop *loop, struct event_source *source);
void event_loop_remove(struct event_loop *loop,
                       const struct event_source *source); /* may be unknown */

/*
 * Sleeps until a source can be read, a deadline passes or `until_ns` (on clock_ns()), and makes the
 * callbacks that are due. A source that can be read is read even if its deadline has passed
 * meanwhile. In a task, the other tasks run meanwhile, and it may return earlier. Returns 0, a
 * callback's error, ERROR_INTERRUPTED after a signal (interrupt.h), or ERROR_WORKER if waiting fails
 * or the task is cancelled.
 */
int event_loop_step(struct event_loop *loop, int64_t until_ns, struct error *error);

/*
 * Runs the loop. Returns 1 when `descriptor` (-1: none) can be read, 0 when `until_ns` has passed,
 * or an error of event_loop_step().
 */
int event_loop_wait(struct event_loop *loop, int descriptor, int64_t until_ns, struct error *error);

/* Ends the present wait of every task: something that they share has changed. */
void event_loop_wake(struct event_loop *loop);

#endif
