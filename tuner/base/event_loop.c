#include "base/event_loop.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

void event_loop_release(struct event_loop *loop)
{
    free(loop->sources);
    free(loop->polled);
    free(loop->tasks);
    *loop = (struct event_loop){0};
}

void event_loop_add(struct event_loop *loop, struct event_source *source)
{
    source->place = loop->count;
    *ARRAY_APPEND(loop->sources, loop->count) = source;
}

void event_loop_remove(struct event_loop *loop, const struct event_source *source)
{
    if (source->place < loop->count && loop->sources[source->place] == source)
        loop->sources[source->place] = NULL;
}

/* Closes the gaps that removed sources left. */
static void compact(struct event_loop *loop)
{
    size_t count = 0;
    for (size_t i = 0; i < loop->count; i++) {
        if (loop->sources[i] == NULL)
            continue;
        loop->sources[i]->place = count;
        loop->sources[count++] = loop->sources[i];
    }
    loop->count = count;
}

/* Sources that are added meanwhile are prepared as well. */
static int prepare(struct event_loop *loop, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < loop->count && status == 0; i++) {
        struct event_source *source = loop->sources[i];
        if (source != NULL && source->prepare != NULL)
            status = source->prepare(source, error);
    }
    compact(loop);
    return status;
}

/* How long to sleep; negative: until something happens. */
static int64_t sleep_ns(const struct event_loop *loop, int64_t until_ns)
{
    int64_t earliest = until_ns;
    for (size_t i = 0; i < loop->count; i++)
        if (loop->sources[i]->deadline_ns < earliest)
            earliest = loop->sources[i]->deadline_ns;
    if (earliest == EVENT_NEVER)
        return -1;
    int64_t left = earliest - clock_ns();
    return left > 0 ? left : 0;
}

static bool can_be_read(const struct event_source *source)
{
    struct pollfd descriptor = {.fd = source->descriptor, .events = POLLIN};
    return source->descriptor >= 0 && poll(&descriptor, 1, 0) > 0;
}

/* Makes the callback that is due. */
static int serve(struct event_source *source, bool ready, bool late, struct error *error)
{
    if (ready || can_be_read(source))
        return source->readable != NULL ? source->readable(source, error) : 0;
    return late && source->expired != NULL ? source->expired(source, error) : 0;
}

/* Serves the first `count` sources, those that were waited for. Only a callback takes time. */
static int serve_all(struct event_loop *loop, size_t count, struct error *error)
{
    int64_t now_ns = clock_ns();
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct event_source *source = loop->sources[i];
        bool ready = loop->polled[i].revents != 0;
        bool late = source != NULL && source->deadline_ns <= now_ns;
        if (source == NULL || !(ready || late))
            continue;
        status = serve(source, ready, late, error);
        now_ns = clock_ns();
    }
    return status;
}

int event_loop_step(struct event_loop *loop, int64_t until_ns, struct error *error)
{
    if (loop->running != NULL)
        return loop->park(loop->running, until_ns, error);
    int status = prepare(loop, error);
    loop->failed = loop->failed || status != 0;
    if (status != 0)
        return status;
    size_t count = loop->count;
    loop->polled = alloc_resize(loop->polled, count, sizeof *loop->polled);
    for (size_t i = 0; i < count; i++)
        loop->polled[i] = (struct pollfd){.fd = loop->sources[i]->descriptor, .events = POLLIN};
    int ready = interrupt_poll(loop->polled, count, sleep_ns(loop, until_ns));
    if (interrupt_requested())
        status = error_set(error, ERROR_INTERRUPTED, "interrupted");
    else if (ready < 0 && errno != EINTR)
        status = error_set_errno(error, ERROR_WORKER, "cannot wait for the worker processes");
    if (status == 0 && ready >= 0)
        status = serve_all(loop, count, error);
    loop->failed = loop->failed || (status != 0 && status != ERROR_INTERRUPTED);
    return status;
}

static int note_readable(struct event_source *source, struct error *error)
{
    struct event_wait *wait = source->owner;
    (void)error;
    wait->readable = true;
    return 0;
}

int event_loop_wait(struct event_loop *loop, int descriptor, int64_t until_ns, struct error *error)
{
    struct event_wait wait = {.until_ns = until_ns};
    int status = 0;
    struct event_source source = {.descriptor = descriptor,
                                  .deadline_ns = until_ns,
                                  .owner = &wait,
                                  .readable = note_readable};
    event_loop_add(loop, &source);
    do {
        loop->wait = &wait;
        status = event_loop_step(loop, EVENT_NEVER, error);
        loop->wait = NULL;
    } while (status == 0 && !wait.readable && clock_ns() < until_ns);
    event_loop_remove(loop, &source);
    if (status == 0 && !wait.readable) /* it may have come while others were served */
        wait.readable = can_be_read(&source);
    return status != 0 ? status : wait.readable;
}

void event_loop_wake(struct event_loop *loop)
{
    loop->woken = true;
}
