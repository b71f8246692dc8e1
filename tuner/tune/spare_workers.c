#include "tune/spare_workers.h"

#include "base/clock.h"

#include <string.h>

/* Spares are wanted from HOT on, and stopped at 0. */
enum { HOT = 2, HOTTEST = 6 };

const char *spare_worker_event(const struct spare_worker *spare, size_t index)
{
    static const char *const events[] = {"ready", "opened", "waited", NULL};
    return events[index + (index > 0 && !spare->opens)];
}

size_t spare_workers_heat(struct spare_workers *spares)
{
    spares->heat += spares->heat < HOTTEST;
    return spares->heat < HOT || spares->refused ? 0 : SPARE_WORKERS - spares->count;
}

void spare_workers_start(struct spare_workers *spares, const char *ordinal, json_t *open)
{
    struct spare_worker *spare = &spares->list[spares->count];
    *spare = (struct spare_worker){.opens = open != NULL};
    if (worker_start(&spare->worker, "device", ordinal, NULL) != 0) {
        json_decref(open);
        return;
    }
    spares->count++;
    if (open != NULL) /* a worker that is gone already shows when it is to take over */
        (void)channel_send(&spare->worker.channel, open, NULL);
    (void)channel_send(&spare->worker.channel, json_pack("{s:s}", "do", "wait"), NULL);
}

static bool is_ready(const struct spare_worker *spare)
{
    return spare_worker_event(spare, spare->messages) == NULL;
}

static void remove_spare(struct spare_workers *spares, size_t index)
{
    spares->count--;
    memmove(&spares->list[index], &spares->list[index + 1],
            (spares->count - index) * sizeof *spares->list);
}

size_t spare_workers_running(const struct spare_workers *spares)
{
    return spares->count + spares->leaving_count;
}

bool spare_workers_take(struct spare_workers *spares, struct spare_worker *spare)
{
    if (spares->count == 0)
        return false;
    *spare = spares->list[0];
    remove_spare(spares, 0);
    return true;
}

/* --- ending --- */

/* Waits until all killed workers are gone; false if one does not end. */
static bool await_left(struct spare_workers *spares)
{
    bool ended = true;
    while (spares->leaving_count > 0)
        ended = worker_stop(&spares->leaving[--spares->leaving_count]) && ended;
    return ended;
}

bool spare_workers_leave(struct spare_workers *spares, struct worker *worker)
{
    if (worker->pid <= 0)
        return true;
    bool ended = spares->leaving_count < SPARE_LEAVING || await_left(spares);
    worker_kill(worker);
    spares->leaving[spares->leaving_count++] = *worker;
    *worker = (struct worker){0};
    return ended;
}

void spare_workers_clear(struct spare_workers *spares)
{
    for (size_t i = 0; i < spares->count; i++)
        worker_kill(&spares->list[i].worker); /* all at once */
    for (size_t i = 0; i < spares->count; i++)
        (void)worker_stop(&spares->list[i].worker);
    (void)await_left(spares);
    *spares = (struct spare_workers){0};
}

/* --- while variants run --- */

/* Takes the messages that have come. Returns whether the worker is still good for something. */
static bool take_messages(struct spare_worker *spare, struct event_loop *loop)
{
    struct channel *channel = &spare->worker.channel;
    while (!is_ready(spare)) {
        json_t *message;
        int status = channel_next(channel, &message, NULL);
        if (status == 0 && event_loop_wait(loop, channel->in, clock_ns(), NULL) != 1)
            return true;
        if (status == 0 && channel_fill(channel, NULL) == 1)
            continue;
        if (status <= 0)
            return false;
        const char *event = json_string_value(json_object_get(message, "event"));
        const char *expected = spare_worker_event(spare, spare->messages++);
        bool good = event != NULL && strcmp(event, expected) == 0;
        json_decref(message);
        if (!good)
            return false;
    }
    return true;
}

/* Whether all spares are ready and those that were killed are gone. */
static bool is_quiet(struct spare_workers *spares, struct event_loop *loop)
{
    bool quiet = true;
    for (size_t i = spares->count; i-- > 0;) {
        if (!take_messages(&spares->list[i], loop)) {
            (void)spare_workers_leave(spares, &spares->list[i].worker);
            remove_spare(spares, i);
            spares->refused = true;
        } else {
            quiet = quiet && is_ready(&spares->list[i]);
        }
    }
    for (size_t i = spares->leaving_count; i-- > 0;)
        if (worker_has_ended(&spares->leaving[i]))
            spares->leaving[i] = spares->leaving[--spares->leaving_count];
    return quiet && spares->leaving_count == 0;
}

void spare_workers_note(struct spare_workers *spares, struct event_loop *loop, size_t requests)
{
    if (!is_quiet(spares, loop))
        spares->beside = requests;
}

bool spare_workers_cool(struct spare_workers *spares)
{
    if (spares->beside > 0) {
        spares->beside--;
        return true;
    }
    spares->heat -= spares->heat > 0;
    while (spares->count > 0 && spares->heat == 0)
        (void)spare_workers_leave(spares, &spares->list[--spares->count].worker);
    return false;
}
