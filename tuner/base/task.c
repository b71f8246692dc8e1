#include "base/task.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 8 << 20, /* as a main thread has; only what is used becomes memory */
    GUARD_BYTES = 1 << 16, /* below it; a function with large variables could skip one page */
};

struct task_stack {
    struct task *task;
    struct event_loop *loop;
    ucontext_t own, scheduler;     /* where the task goes on, and who resumed it */
    char *memory;                  /* begins with GUARD_BYTES that cannot be used */
    int64_t until_ns;              /* a deadline of its wait, beside those of the sources */
    const struct event_wait *wait; /* what it waits for; NULL: for anything */
    int waited;                    /* what the wait made of it */
    struct error waited_error;
    const void *scheduler_memory; /* for the address sanitizer */
    size_t scheduler_bytes;
};

/* --- switching; the address sanitizer must know which stack is in use --- */

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define BEGIN_SWITCH __sanitizer_start_switch_fiber
#define END_SWITCH __sanitizer_finish_switch_fiber
#else
#define BEGIN_SWITCH(saved, memory, bytes) ((void)(saved))
#define END_SWITCH(saved, memory, bytes) ((void)(saved))
#endif

/* Back to the scheduler; returns when the task is resumed. One that `ends` is not. */
static void leave(struct task_stack *stack, bool ends)
{
    void *saved = NULL;
    BEGIN_SWITCH(ends ? NULL : &saved, stack->scheduler_memory, stack->scheduler_bytes);
    (void)swapcontext(&stack->own, &stack->scheduler);
    END_SWITCH(saved, &stack->scheduler_memory, &stack->scheduler_bytes);
}

/* In place of event_loop_step() while a task runs. */
static int park(struct task_stack *stack, int64_t until_ns, struct error *error)
{
    stack->until_ns = until_ns;
    stack->wait = stack->loop->wait;
    stack->loop->wait = NULL;
    leave(stack, false);
    if (stack->waited != 0 && error != NULL)
        *error = stack->waited_error;
    if (stack->waited == 0 && stack->task->cancelled)
        return error_set(error, ERROR_WORKER, "given up, because it is not needed any more");
    return stack->waited;
}

/* Where a task begins. makecontext() passes numbers only. */
static void enter(unsigned high, unsigned low)
{
    struct task_stack *stack = (struct task_stack *)((uintptr_t)high << 32 | low); // NOLINT
    struct task *task = stack->task;
    END_SWITCH(NULL, &stack->scheduler_memory, &stack->scheduler_bytes);
    task->status = task->run(task->owner, &task->error);
    task->done = true;
    leave(stack, true);
}

/* Runs the task until it waits or ends. */
static void resume(struct task_stack *stack)
{
    struct event_loop *loop = stack->loop;
    void *saved = NULL;
    loop->running = stack;
    loop->park = park;
    BEGIN_SWITCH(&saved, stack->memory + GUARD_BYTES, STACK_BYTES);
    (void)swapcontext(&stack->scheduler, &stack->own);
    END_SWITCH(saved, NULL, NULL);
    loop->running = NULL;
}

/* --- tasks --- */

/* Memory for a stack that grows down to a guard: an overflow is a fault, and damages nothing. NULL:
 * there is none (errno). */
static char *map_stack(void)
{
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, GUARD_BYTES, PROT_NONE) == 0)
        return memory;
    int reason = errno;
    (void)munmap(memory, GUARD_BYTES + STACK_BYTES);
    errno = reason;
    return NULL;
}

static void stack_free(struct task_stack *stack)
{
    (void)munmap(stack->memory, GUARD_BYTES + STACK_BYTES);
    free(stack);
}

static int start(struct event_loop *loop, struct task *task, struct error *error)
{
    char *memory = map_stack();
    if (memory == NULL)
        return error_set_errno(error, ERROR_WORKER, "cannot allocate a stack");
    struct task_stack *stack = alloc_zeroed(1, sizeof *stack);
    *stack = (struct task_stack){.task = task, .loop = loop, .memory = memory};
    (void)getcontext(&stack->own); /* cannot fail on Linux */
    stack->own.uc_stack.ss_sp = memory + GUARD_BYTES;
    stack->own.uc_stack.ss_size = STACK_BYTES;
    makecontext(&stack->own, (void (*)(void))enter, 2, (unsigned)((uintptr_t)stack >> 32),
                (unsigned)(uintptr_t)stack);
    *ARRAY_APPEND(loop->tasks, loop->task_count) = stack;
    return 0;
}

/* Whether nothing has happened that concerns the task. Switching to a thousand tasks takes as long as
 * serving ten of them. */
static bool waits_on(const struct task_stack *stack, int64_t now_ns)
{
    return stack->wait != NULL && !stack->wait->readable && now_ns < stack->wait->until_ns &&
           stack->waited == 0 && !stack->task->cancelled;
}

/* Runs every task until it waits, including tasks that others start meanwhile, and removes those that
 * have ended. Returns whether any have, or a task was woken. */
static bool resume_all(struct event_loop *loop)
{
    size_t kept = 0;
    int64_t now_ns = clock_ns();
    loop->woken = false;
    for (size_t i = 0; i < loop->task_count; i++) {
        if (waits_on(loop->tasks[i], now_ns))
            continue;
        resume(loop->tasks[i]);
        if (loop->tasks[i]->task->done)
            loop->woken = true;
    }
    for (size_t i = 0; i < loop->task_count; i++) {
        struct task_stack *stack = loop->tasks[i];
        if (stack->task->done)
            stack_free(stack);
        else
            loop->tasks[kept++] = stack;
    }
    loop->task_count = kept;
    return loop->woken;
}

/* Waits for what the tasks wait for, and tells them what came of it. */
static void wait_for_all(struct event_loop *loop, bool woken)
{
    struct error error = {0};
    int64_t until_ns = woken ? 0 : EVENT_NEVER;
    for (size_t i = 0; i < loop->task_count; i++)
        if (loop->tasks[i]->until_ns < until_ns)
            until_ns = loop->tasks[i]->until_ns;
    int status = event_loop_step(loop, until_ns, &error);
    for (size_t i = 0; i < loop->task_count; i++) {
        loop->tasks[i]->waited = status;
        if (status != 0) /* large, and there may be a thousand tasks */
            loop->tasks[i]->waited_error = error;
    }
}

static bool all_done(const struct task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!tasks[i].done)
            return false;
    return true;
}

/* A task that runs others waits until the scheduler has run them, whatever becomes of its wait. */
static void wait_for_others(struct event_loop *loop, const struct task *tasks, size_t count)
{
    event_loop_wake(loop);
    while (!all_done(tasks, count))
        (void)event_loop_step(loop, EVENT_NEVER, NULL);
}

int tasks_run(struct event_loop *loop, struct task *tasks, size_t count, struct error *error)
{
    int status = 0;
    size_t started = 0;
    for (size_t i = 0; i < count; i++)
        tasks[i].done = false;
    while (started < count && status == 0) {
        status = start(loop, &tasks[started], error);
        started += status == 0;
    }
    if (loop->running != NULL)
        wait_for_others(loop, tasks, started);
    while (!all_done(tasks, started)) {
        bool woken = resume_all(loop);
        if (!all_done(tasks, started))
            wait_for_all(loop, woken);
    }
    for (size_t i = 0; i < started && status == 0; i++) {
        status = tasks[i].status;
        if (status != 0 && error != NULL)
            *error = tasks[i].error;
    }
    return status;
}
