/* Tasks that wait in one event loop. */
#include "base/task.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include "unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the tasks of a test share. */
struct shared {
    struct event_loop loop;
    char log[64]; /* a letter for each thing that happened */
    int pipe[2];
};

struct player {
    struct shared *shared;
    char letter;
    int turns;
};

static void note(struct shared *shared, char letter)
{
    shared->log[strlen(shared->log)] = letter;
}

static int wait_some_turns(void *owner, struct error *error)
{
    struct player *player = owner;
    int status = 0;
    for (int i = 0; i < player->turns && status >= 0; i++) {
        note(player->shared, player->letter);
        status = event_loop_wait(&player->shared->loop, -1, clock_ns() + 1000000, error);
    }
    return status;
}

UNIT_TEST(tasks_take_turns_while_they_wait)
{
    struct shared shared = {0};
    struct player players[] = {{&shared, 'a', 2}, {&shared, 'b', 2}};
    struct task tasks[] = {{.run = wait_some_turns, .owner = &players[0]},
                           {.run = wait_some_turns, .owner = &players[1]}};
    struct error error;
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), 0);
    assert_int_equal(strncmp(shared.log, "ab", 2), 0);
    assert_int_equal(strlen(shared.log), 4);
    event_loop_release(&shared.loop);
}

/* Writes what another task waits for, and fails. */
static int write_and_fail(void *owner, struct error *error)
{
    struct player *player = owner;
    assert_int_equal(write(player->shared->pipe[1], "x", 1), 1);
    return error_set(error, ERROR_DEVICE, "the device of '%c' is lost", player->letter);
}

static int read_one(void *owner, struct error *error)
{
    struct player *player = owner;
    int status =
        event_loop_wait(&player->shared->loop, player->shared->pipe[0], EVENT_NEVER, error);
    note(player->shared, player->letter);
    return status == 1 ? 0 : status;
}

UNIT_TEST(the_error_of_one_is_returned_when_all_have_ended)
{
    struct shared shared = {0};
    struct player reader = {&shared, 'r', 0};
    struct player writer = {&shared, 'w', 0};
    struct task tasks[] = {{.run = read_one, .owner = &reader},
                           {.run = write_and_fail, .owner = &writer}};
    struct error error;
    assert_int_equal(pipe2(shared.pipe, O_CLOEXEC), 0);
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), ERROR_DEVICE);
    assert_string_equal(error.message, "the device of 'w' is lost");
    assert_string_equal(shared.log, "r");
    event_loop_release(&shared.loop);
    (void)close(shared.pipe[0]);
    (void)close(shared.pipe[1]);
}

static int run_two_more(void *owner, struct error *error)
{
    struct player *player = owner;
    struct player inner[] = {{player->shared, 'c', 2}, {player->shared, 'd', 1}};
    struct task tasks[] = {{.run = wait_some_turns, .owner = &inner[0]},
                           {.run = wait_some_turns, .owner = &inner[1]}};
    int status = tasks_run(&player->shared->loop, tasks, 2, error);
    note(player->shared, player->letter);
    return status;
}

UNIT_TEST(a_task_may_run_tasks)
{
    struct shared shared = {0};
    struct player players[] = {{&shared, 'a', 0}, {&shared, 'b', 0}};
    struct task tasks[] = {{.run = run_two_more, .owner = &players[0]},
                           {.run = run_two_more, .owner = &players[1]}};
    struct error error;
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), 0);
    assert_int_equal(strlen(shared.log), 8);
    assert_non_null(strchr(shared.log + 6, 'a'));
    assert_non_null(strchr(shared.log + 6, 'b'));
    event_loop_release(&shared.loop);
}

static int wait_for_letter(void *owner, struct error *error)
{
    struct player *player = owner;
    int status = 0;
    while (status == 0 && strchr(player->shared->log, 'k') == NULL)
        status = event_loop_step(&player->shared->loop, EVENT_NEVER, error);
    return status;
}

static int note_and_wake(void *owner, struct error *error)
{
    struct player *player = owner;
    (void)error;
    note(player->shared, player->letter);
    event_loop_wake(&player->shared->loop);
    return 0;
}

UNIT_TEST(one_task_wakes_another)
{
    struct shared shared = {0};
    struct player waiting = {&shared, 'w', 0};
    struct player waking = {&shared, 'k', 0};
    struct task tasks[] = {{.run = wait_for_letter, .owner = &waiting},
                           {.run = note_and_wake, .owner = &waking}};
    struct error error;
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), 0);
    event_loop_release(&shared.loop);
}

static int cancel_the_other(void *owner, struct error *error)
{
    struct task *other = owner;
    (void)error;
    other->cancelled = true;
    return 0;
}

UNIT_TEST(a_cancelled_task_ends_with_its_next_wait)
{
    struct shared shared = {0};
    struct player waiting = {&shared, 'w', 0};
    struct task tasks[2] = {{.run = wait_for_letter, .owner = &waiting}, {.run = cancel_the_other}};
    struct error error;
    tasks[1].owner = &tasks[0];
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), ERROR_WORKER);
    event_loop_release(&shared.loop);
}

static int raise_interrupt(void *owner, struct error *error)
{
    struct player *player = owner;
    (void)raise(SIGINT);
    return event_loop_step(&player->shared->loop, EVENT_NEVER, error);
}

UNIT_TEST(an_interrupt_ends_every_wait)
{
    struct shared shared = {0};
    struct player players[] = {{&shared, 'a', 0}, {&shared, 'b', 0}};
    struct task tasks[] = {{.run = wait_for_letter, .owner = &players[0]},
                           {.run = raise_interrupt, .owner = &players[1]}};
    struct error error;
    interrupt_install();
    assert_int_equal(tasks_run(&shared.loop, tasks, 2, &error), ERROR_INTERRUPTED);
    assert_int_equal(tasks[0].status, ERROR_INTERRUPTED);
    assert_int_equal(tasks[1].status, ERROR_INTERRUPTED);
    event_loop_release(&shared.loop);
}

/* Writes to so much of the stack. */
static int fill_stack(size_t bytes)
{
    volatile char block[4096];
    block[0] = 1;
    return bytes > sizeof block ? fill_stack(bytes - sizeof block) + block[0] : block[0];
}

static int overflow(void *owner, struct error *error)
{
    (void)owner;
    (void)error;
    return fill_stack((size_t)9 << 20) > 0 ? 0 : ERROR_WORKER;
}

/* Without the guard, it would write into the next task's stack. */
UNIT_TEST(a_task_that_overflows_its_stack_faults)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        struct shared shared = {0};
        struct player player = {&shared, 'a', 1};
        struct task tasks[] = {{.run = overflow}, {.run = wait_some_turns, .owner = &player}};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGSEGV, SIG_DFL); /* not cmocka's */
        _exit(tasks_run(&shared.loop, tasks, 2, NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}
