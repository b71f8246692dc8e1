/* Signals are held back until the process waits; the second one ends it. */
#include "base/interrupt.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ONE_SECOND_NS = 1000000000 };

/* In a child: two signals, each followed by a wait. Exits with the step that went wrong. */
static void take_two_signals(int number)
{
    interrupt_install();
    if (interrupt_poll(NULL, 0, 0) != 0 || interrupt_requested())
        _exit(1);
    (void)kill(getpid(), number);
    if (interrupt_requested())
        _exit(2);
    if (interrupt_poll(NULL, 0, ONE_SECOND_NS) != -1 || errno != EINTR || !interrupt_requested())
        _exit(3);
    (void)kill(getpid(), number);
    (void)interrupt_poll(NULL, 0, ONE_SECOND_NS);
    _exit(4);
}

static void test_the_second_signal_ends_the_process(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            take_two_signals(signals[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status))
            fail_msg("signal %d: wrong at step %d", signals[i], WEXITSTATUS(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_second_signal_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
