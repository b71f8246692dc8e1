/* The lock on a GPU: who gets it, and what lies in its place. */
#include "tune/device_lock.h"

#include "base/alloc.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LOCK "locks/autotune-GPU-1.lock"

static int enter(void **state)
{
    return scratch_enter(state) != 0 || setenv("AUTOTUNE_LOCK_FOLDER", "locks", 1) != 0;
}

static int leave(void **state)
{
    (void)unsetenv("AUTOTUNE_LOCK_FOLDER");
    return scratch_leave(state);
}

static bool try_lock(struct device_lock *lock, const char *uuid)
{
    struct error error = {0};
    bool held;
    int status = device_lock_try(lock, uuid, &held, &error);
    if (status != 0)
        print_message("%s\n", error.message);
    assert_int_equal(status, 0);
    return held;
}

static bool can_lock(const char *uuid)
{
    struct device_lock lock;
    bool held = try_lock(&lock, uuid);
    device_lock_release(&lock);
    return held;
}

UNIT_TEST_WITH(one_at_a_time_on_each_gpu, enter, leave)
{
    struct device_lock first;
    struct device_lock second;
    assert_true(try_lock(&first, "GPU-1"));
    assert_false(try_lock(&second, "GPU-1"));
    assert_int_equal(second.owner, getpid());
    assert_true(can_lock("GPU-2"));
    device_lock_release(&first);
    assert_int_equal(device_lock_wait(&second, NULL), 0);
    assert_false(can_lock("GPU-1"));
    device_lock_release(&second);
    assert_true(can_lock("GPU-1"));
}

UNIT_TEST_WITH(what_a_killed_run_leaves_is_no_lock, enter, leave)
{
    int status;
    pid_t run = fork();
    if (run == 0) {
        struct device_lock lock;
        (void)try_lock(&lock, "GPU-1");
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(run, &status, 0), run);
    assert_int_equal(access(LOCK, F_OK), 0);
    assert_true(can_lock("GPU-1"));
}

/* Whoever may use the GPU may lock it, whatever the umask of the user who came first. */
UNIT_TEST_WITH(every_user_may_lock, enter, leave)
{
    struct device_lock lock;
    struct stat information;
    mode_t usual = umask(0077);
    assert_true(try_lock(&lock, "GPU-1"));
    (void)umask(usual);
    assert_int_equal(stat(LOCK, &information), 0);
    assert_int_equal(information.st_mode & 0777, 0666);
    device_lock_release(&lock);
}

static void assert_refused(void)
{
    struct error error = {0};
    struct device_lock lock;
    bool held;
    assert_int_equal(device_lock_try(&lock, "GPU-1", &held, &error), ERROR_RECORD);
    assert_false(held);
    assert_non_null(strstr(error.message, LOCK));
    device_lock_release(&lock);
}

/* In a folder that everybody may write to, the lock's place may hold anything. */
UNIT_TEST_WITH(what_lies_in_its_place_is_not_touched, enter, leave)
{
    static const char *const plants[] = {"ln -s ../mine " LOCK, "ln mine " LOCK, "mkfifo " LOCK,
                                         "mkdir " LOCK, "ln -s nowhere " LOCK};
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        assert_int_equal(system("mkdir locks && echo precious >mine"), 0);
        assert_int_equal(system(plants[i]), 0);
        assert_refused();
        char *text = scratch_read("mine");
        assert_string_equal(text, "precious\n");
        free(text);
        assert_int_equal(system("rm -r locks"), 0);
    }
}

UNIT_TEST_WITH(a_lock_that_was_removed_is_made_again, enter, leave)
{
    struct device_lock first;
    struct device_lock second;
    assert_true(try_lock(&first, "GPU-1"));
    assert_false(try_lock(&second, "GPU-1"));
    assert_int_equal(unlink(LOCK), 0);
    assert_int_equal(device_lock_wait(&second, NULL), 0);
    assert_false(can_lock("GPU-1"));
    device_lock_release(&first);
    assert_false(can_lock("GPU-1"));
    device_lock_release(&second);
}
