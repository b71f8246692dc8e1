#include "base/event_loop.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include "unit/test.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, PIPES = 3 };

/* A pipe that the loop reads, and what the callbacks were called for. */
struct reader {
    struct event_source source;
    struct event_loop *loop;
    int write_end;
    int prepared, reads, expiries;
    int status;                  /* what the callbacks return */
    struct event_source *remove; /* by the next callback */
    struct event_source *add;    /* likewise */
};

struct fixture {
    struct event_loop loop;
    struct reader readers[PIPES];
};

static void change_loop(struct reader *reader)
{
    if (reader->remove != NULL)
        event_loop_remove(reader->loop, reader->remove);
    if (reader->add != NULL)
        event_loop_add(reader->loop, reader->add);
    reader->remove = NULL;
    reader->add = NULL;
}

static int prepare(struct event_source *source, struct error *error)
{
    struct reader *reader = source->owner;
    (void)error;
    reader->prepared++;
    return 0;
}

static int readable(struct event_source *source, struct error *error)
{
    struct reader *reader = source->owner;
    char byte;
    (void)error;
    reader->reads++;
    (void)!read(source->descriptor, &byte, 1);
    change_loop(reader);
    return reader->status;
}

static int expired(struct event_source *source, struct error *error)
{
    struct reader *reader = source->owner;
    (void)error;
    reader->expiries++;
    source->deadline_ns = EVENT_NEVER;
    change_loop(reader);
    return reader->status;
}

static int make_readers(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    for (size_t i = 0; i < PIPES; i++) {
        struct reader *reader = &fixture.readers[i];
        int ends[2];
        if (pipe(ends) != 0)
            return -1;
        reader->loop = &fixture.loop;
        reader->write_end = ends[1];
        reader->source = (struct event_source){.descriptor = ends[0],
                                               .deadline_ns = EVENT_NEVER,
                                               .owner = reader,
                                               .prepare = prepare,
                                               .readable = readable,
                                               .expired = expired};
    }
    *state = &fixture;
    return 0;
}

static int release_readers(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < PIPES; i++) {
        (void)close(fixture->readers[i].source.descriptor);
        if (fixture->readers[i].write_end >= 0)
            (void)close(fixture->readers[i].write_end);
    }
    event_loop_release(&fixture->loop);
    return 0;
}

static void add_all(struct fixture *fixture)
{
    for (size_t i = 0; i < PIPES; i++)
        event_loop_add(&fixture->loop, &fixture->readers[i].source);
}

static void feed(const struct reader *reader)
{
    assert_int_equal(write(reader->write_end, "x", 1), 1);
}

/* A step that does not sleep. */
static int step(struct fixture *fixture)
{
    return event_loop_step(&fixture->loop, clock_ns(), NULL);
}

/* --- one step --- */

UNIT_TEST_WITH(only_what_can_be_read_is_read, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    add_all(fixture);
    feed(&fixture->readers[1]);
    assert_int_equal(step(fixture), 0);
    assert_int_equal(fixture->readers[0].reads, 0);
    assert_int_equal(fixture->readers[1].reads, 1);
    assert_int_equal(fixture->readers[2].reads, 0);
    for (size_t i = 0; i < PIPES; i++)
        assert_int_equal(fixture->readers[i].prepared, 1);
}

UNIT_TEST_WITH(the_earliest_deadline_ends_the_sleep, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    int64_t start = clock_ns();
    add_all(fixture);
    fixture->readers[0].source.deadline_ns = start + 3600000 * (int64_t)MS;
    fixture->readers[2].source.deadline_ns = start + 20 * MS;
    assert_int_equal(event_loop_step(&fixture->loop, EVENT_NEVER, NULL), 0);
    assert_true(clock_ns() >= start + 20 * MS);
    assert_int_equal(fixture->readers[0].expiries, 0);
    assert_int_equal(fixture->readers[2].expiries, 1);
    assert_int_equal(fixture->readers[2].reads, 0);
}

/* The first reader takes so long that the second's deadline passes meanwhile, but its message was
 * there in time. */
UNIT_TEST_WITH(what_is_late_and_readable_is_read, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *late = &fixture->readers[1];
    add_all(fixture);
    feed(late);
    late->source.deadline_ns = clock_ns() - MS;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(late->reads, 1);
    assert_int_equal(late->expiries, 0);
    assert_int_equal(step(fixture), 0); /* nothing more has come */
    assert_int_equal(late->reads, 1);
    assert_int_equal(late->expiries, 1);
}

static int read_slowly(struct event_source *source, struct error *error)
{
    struct fixture *fixture = ((struct event_source *)source)->owner;
    struct reader *late = &fixture->readers[1];
    (void)error;
    feed(late); /* after poll() has looked */
    late->source.deadline_ns = clock_ns();
    return 0;
}

UNIT_TEST_WITH(what_comes_while_others_are_served_is_in_time, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *slow = &fixture->readers[0];
    struct reader *late = &fixture->readers[1];
    add_all(fixture);
    feed(slow);
    slow->source.owner = fixture;
    slow->source.prepare = NULL;
    slow->source.readable = read_slowly;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(late->reads, 1);
    assert_int_equal(late->expiries, 0);
}

UNIT_TEST_WITH(a_callback_s_error_ends_the_step, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    add_all(fixture);
    feed(&fixture->readers[0]);
    feed(&fixture->readers[1]);
    fixture->readers[0].status = ERROR_RECORD;
    assert_int_equal(step(fixture), ERROR_RECORD);
    assert_int_equal(fixture->readers[1].reads, 0);
    fixture->readers[0].status = 0;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(fixture->readers[1].reads, 1);
}

/* --- changes made by callbacks --- */

UNIT_TEST_WITH(a_source_removes_itself, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *first = &fixture->readers[0];
    add_all(fixture);
    feed(first);
    feed(first);
    feed(&fixture->readers[1]);
    first->remove = &first->source;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(step(fixture), 0);
    assert_int_equal(first->reads, 1);
    assert_int_equal(fixture->readers[1].reads, 1);
    assert_int_equal(first->prepared, 1);
}

UNIT_TEST_WITH(a_source_removes_one_that_is_due, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    add_all(fixture);
    for (size_t i = 0; i < PIPES; i++)
        feed(&fixture->readers[i]);
    fixture->readers[0].remove = &fixture->readers[1].source;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(fixture->readers[1].reads, 0);
    assert_int_equal(fixture->readers[2].reads, 1);
    assert_int_equal(step(fixture), 0);
    assert_int_equal(fixture->readers[1].reads, 0);
}

UNIT_TEST_WITH(what_is_added_is_waited_for_from_the_next_step_on, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *added = &fixture->readers[1];
    event_loop_add(&fixture->loop, &fixture->readers[0].source);
    feed(&fixture->readers[0]);
    feed(added);
    fixture->readers[0].add = &added->source;
    assert_int_equal(step(fixture), 0);
    assert_int_equal(added->reads, 0);
    assert_int_equal(step(fixture), 0);
    assert_int_equal(added->reads, 1);
}

static int add_once(struct event_source *source, struct error *error)
{
    struct reader *reader = source->owner;
    (void)error;
    change_loop(reader);
    return 0;
}

UNIT_TEST_WITH(what_prepare_adds_is_prepared_and_waited_for, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *first = &fixture->readers[0];
    struct reader *added = &fixture->readers[1];
    first->source.prepare = add_once;
    first->add = &added->source;
    first->remove = &first->source;
    event_loop_add(&fixture->loop, &first->source);
    feed(first);
    feed(added);
    assert_int_equal(step(fixture), 0);
    assert_int_equal(added->prepared, 1);
    assert_int_equal(added->reads, 1);
    assert_int_equal(first->reads, 0);
}

/* --- event_loop_wait() --- */

UNIT_TEST_WITH(waiting_serves_the_others, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    int64_t until = clock_ns() + 20 * MS;
    add_all(fixture);
    feed(&fixture->readers[0]);
    assert_int_equal(event_loop_wait(&fixture->loop, -1, until, NULL), 0);
    assert_true(clock_ns() >= until);
    assert_int_equal(fixture->readers[0].reads, 1);
    assert_int_equal(step(fixture), 0); /* its own source, on its stack, is gone */
}

UNIT_TEST_WITH(waiting_ends_with_the_descriptor, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    int descriptor = fixture->readers[2].source.descriptor;
    event_loop_add(&fixture->loop, &fixture->readers[0].source);
    feed(&fixture->readers[2]);
    assert_int_equal(event_loop_wait(&fixture->loop, descriptor, EVENT_NEVER, NULL), 1);
    /* it was not read: that is the caller's part */
    assert_int_equal(event_loop_wait(&fixture->loop, descriptor, clock_ns() - MS, NULL), 1);
}

/* As when many workers that hang have to be killed. */
static int serve_past_the_deadline(struct event_source *source, struct error *error)
{
    struct fixture *fixture = source->owner;
    const struct timespec pause = {.tv_nsec = 20 * MS};
    (void)error;
    feed(&fixture->readers[2]);
    (void)nanosleep(&pause, NULL);
    return 0;
}

UNIT_TEST_WITH(what_comes_while_those_behind_are_served_is_in_time, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    struct reader *first = &fixture->readers[0];
    struct reader *slow = &fixture->readers[1];
    first->source.prepare = add_once;
    first->add = &slow->source; /* behind the source that is waited for */
    slow->source.owner = fixture;
    slow->source.prepare = NULL;
    slow->source.readable = serve_past_the_deadline;
    event_loop_add(&fixture->loop, &first->source);
    feed(slow);
    assert_int_equal(event_loop_wait(&fixture->loop, fixture->readers[2].source.descriptor,
                                     clock_ns() + 15 * MS, NULL),
                     1);
}

UNIT_TEST_WITH(waiting_ends_with_a_callback_s_error, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    int descriptor = fixture->readers[2].source.descriptor;
    event_loop_add(&fixture->loop, &fixture->readers[0].source);
    fixture->readers[0].status = ERROR_WORKER;
    feed(&fixture->readers[0]);
    assert_int_equal(event_loop_wait(&fixture->loop, descriptor, EVENT_NEVER, NULL), ERROR_WORKER);
    feed(&fixture->readers[2]); /* nobody waits for it any more */
    fixture->readers[0].status = 0;
    assert_int_equal(step(fixture), 0);
}

/* --- signals --- */

static void ignore(int number)
{
    (void)number;
}

/* A signal that does not ask for an end wakes the loop, and it sleeps on. */
UNIT_TEST_WITH(another_signal_is_not_an_end, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    const struct sigaction action = {.sa_handler = ignore};
    const struct itimerval soon = {.it_value = {.tv_usec = 5000}};
    int64_t until = clock_ns() + 30 * MS;
    add_all(fixture);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(event_loop_wait(&fixture->loop, -1, until, NULL), 0);
    assert_true(clock_ns() >= until);
    (void)signal(SIGALRM, SIG_DFL);
}

/* In a process of its own, since an interruption is for good. */
static int interrupted_status(struct fixture *fixture)
{
    struct error error = {0};
    interrupt_install();
    (void)kill(getpid(), SIGINT); /* before the loop waits */
    feed(&fixture->readers[0]);
    int status = event_loop_wait(&fixture->loop, -1, EVENT_NEVER, &error);
    return status == ERROR_INTERRUPTED && error.code == ERROR_INTERRUPTED ? 0 : 2;
}

UNIT_TEST_WITH(ctrl_c_ends_the_wait, make_readers, release_readers)
{
    struct fixture *fixture = *state;
    int status = 0;
    event_loop_add(&fixture->loop, &fixture->readers[1].source);
    pid_t child = fork();
    if (child == 0)
        _exit(interrupted_status(fixture));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
