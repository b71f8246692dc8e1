/* The first signal is noted wherever the process is; the second one ends it. */
#include "base/interrupt.h"

#include "unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { ONE_SECOND_NS = 1000000000 };

/* In a child: one signal while it works, and one while it waits. Exits with the step that went
 * wrong. */
static void take_two_signals(int number)
{
    interrupt_install();
    if (interrupt_poll(NULL, 0, 0) != 0 || interrupt_requested())
        _exit(1);
    (void)kill(getpid(), number);
    if (!interrupt_requested()) /* long work asks, and ends */
        _exit(2);
    if (interrupt_poll(NULL, 0, ONE_SECOND_NS) != -1 || errno != EINTR)
        _exit(3);
    (void)kill(getpid(), number);
    _exit(4);
}

/* In a child. */
static void take_a_signal_after_the_end(int number)
{
    interrupt_install();
    interrupt_end();
    (void)kill(getpid(), number);
    _exit(1);
}

/* In a child that nohup started. */
static void hang_up(int number)
{
    (void)signal(number, SIG_IGN);
    interrupt_install();
    (void)kill(getpid(), number);
    _exit(interrupt_requested() || interrupt_poll(NULL, 0, 0) != 0);
}

/* The status with which a child ends that calls this. */
static int status_of(void (*act)(int number), int number)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        act(number);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

UNIT_TEST(test_the_second_signal_ends_the_process)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status = status_of(take_two_signals, signals[i]);
        if (WIFEXITED(status))
            fail_msg("signal %d: wrong at step %d", signals[i], WEXITSTATUS(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
    }
}

UNIT_TEST(test_after_the_end_the_first_signal_ends_the_process)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status = status_of(take_a_signal_after_the_end, signals[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
    }
}

UNIT_TEST(test_what_nohup_ignores_stays_ignored)
{
    assert_int_equal(status_of(hang_up, SIGHUP), 0);
}
