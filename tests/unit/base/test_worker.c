#include "base/worker.h"

#include "base/alloc.h"
#include "base/json_text.h"

#include "unit/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate_ourselves(void)
{
    free(alloc_resize(NULL, SIZE_MAX / 2, 1));
}

static void allocate_for_a_message(void)
{
    json_malloc_t allocate;
    json_free_t release;
    json_text_set_alloc();
    json_get_alloc_funcs(&allocate, &release);
    release(allocate(SIZE_MAX / 2));
}

/* The signal that ends a worker which runs out of memory. */
static int end_without_memory(void (*allocate)(void), bool limits_memory)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        worker_enter(limits_memory);
        allocate();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

UNIT_TEST(without_memory_one_counts_as_killed_from_outside)
{
#if defined __SANITIZE_ADDRESS__ /* which has handlers of its own */
    skip();
#endif
    assert_int_equal(end_without_memory(allocate_ourselves, false), SIGKILL);
    assert_int_equal(end_without_memory(allocate_for_a_message, false), SIGKILL);
    assert_int_equal(end_without_memory(allocate_ourselves, true), SIGABRT);
}
