#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOUR = 60 * 60, DAY = 24 * HOUR };

/* --- a cache of files that are entries by their names --- */

static void make_file(const char *path, size_t bytes, long age_s)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    char *command = alloc_format("mkdir -p \"$(dirname '%s')\" && head -c %zu /dev/zero >'%s'",
                                 path, bytes, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(command);
}

/* The entry's path, a new string; `number` gives the key, and with it the folder. */
static char *entry_path(unsigned number)
{
    char key[33];
    (void)snprintf(key, sizeof key, "%02x%030x", number * 37 % 256, number);
    return cubin_cache_path("c", key);
}

static void make_entry(unsigned number, size_t bytes, long age_s)
{
    char *path = entry_path(number);
    make_file(path, bytes, age_s);
    free(path);
}

static bool exists(const char *path)
{
    struct stat information;
    return lstat(path, &information) == 0;
}

static bool entry_exists(unsigned number)
{
    char *path = entry_path(number);
    bool found = exists(path);
    free(path);
    return found;
}

static struct cubin_cache_contents measure(void)
{
    struct cubin_cache_contents contents;
    struct error error = {0};
    if (cubin_cache_measure("c", &contents, &error) != 0)
        fail_msg("%s", error.message);
    return contents;
}

/* A run that has written so much. */
static void run(uint64_t written, uint64_t limit)
{
    struct cubin_cache_use use;
    struct error error = {0};
    cubin_cache_use_begin(&use, "c");
    assert_true(use.file >= 0);
    if (cubin_cache_use_end(&use, "c", written, limit, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(use.file, -1);
}

static struct cubin_cache_contents clear(void)
{
    struct cubin_cache_contents removed;
    struct error error = {0};
    if (cubin_cache_clear("c", &removed, &error) != 0)
        fail_msg("%s", error.message);
    return removed;
}

/* --- the limit --- */

static void test_the_limit_is_2_gib_or_the_users(void **state)
{
    static const char *const bad[] = {"0", "-1", "x", "1x", "1.5", "99999999999999999999", " "};
    struct error error = {0};
    uint64_t bytes;
    (void)state;
    unsetenv("AUTOTUNE_CACHE_MB");
    assert_int_equal(cubin_cache_limit(&bytes, &error), 0);
    assert_true(bytes == 2147483648u);
    setenv("AUTOTUNE_CACHE_MB", "", 1);
    assert_int_equal(cubin_cache_limit(&bytes, &error), 0);
    assert_true(bytes == 2147483648u);
    setenv("AUTOTUNE_CACHE_MB", "3", 1);
    assert_int_equal(cubin_cache_limit(&bytes, &error), 0);
    assert_true(bytes == 3145728);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("AUTOTUNE_CACHE_MB", bad[i], 1);
        assert_int_equal(cubin_cache_limit(&bytes, &error), ERROR_USAGE);
        assert_non_null(strstr(error.message, "AUTOTUNE_CACHE_MB"));
    }
    unsetenv("AUTOTUNE_CACHE_MB");
}

static void test_the_oldest_used_go_first_and_no_more_than_needed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; i++)
        make_entry(i, 100, (long)(i * 7 % 30 + 1) * DAY); /* not in the order of their names */
    run(100, 3000);
    assert_int_equal(measure().entries, 30); /* the limit is reached, not passed */
    make_entry(30, 100, 0);
    run(100, 3000);
    struct cubin_cache_contents contents = measure();
    assert_int_equal(contents.entries, 27); /* 10 % below */
    assert_int_equal(contents.bytes, 2700);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(entry_exists(i), i * 7 % 30 + 1 <= 26);
    assert_true(entry_exists(30));
    assert_in_range(time(NULL) - contents.oldest_s, 26 * DAY, 26 * DAY + 100);
}

static void test_one_entry_above_the_limit_goes(void **state)
{
    (void)state;
    make_entry(1, 5000, 0);
    run(5000, 1000);
    assert_int_equal(measure().entries, 0);
}

static void test_a_run_that_wrote_nothing_removes_nothing(void **state)
{
    (void)state;
    make_entry(1, 5000, DAY);
    run(0, 1000);
    assert_true(entry_exists(1));
}

static void test_it_looks_only_when_the_limit_may_be_passed(void **state)
{
    (void)state;
    make_entry(1, 100, 2 * DAY);
    run(100, 1000);           /* the first look */
    make_entry(2, 5000, DAY); /* which no run has said */
    for (int i = 0; i < 9; i++) {
        run(100, 1000);
        assert_true(entry_exists(2));
    }
    run(1, 1000); /* 100 that were found, 901 that were said */
    assert_int_equal(measure().entries, 0);
    make_entry(3, 100, DAY);
    run(901, 1000); /* what was said is forgotten after a look */
    run(99, 1000);
    assert_true(entry_exists(3));
}

/* Whether a run looks through the cache that finds this file; "%ld" in it is a time so long ago. */
static bool looks(const char *size, long age_s)
{
    char text[64];
    (void)snprintf(text, sizeof text, size, (long)time(NULL) - age_s);
    run(0, 1000); /* makes the folder */
    assert_int_equal(scratch_write("c/cubin/size", text), 0);
    make_entry(1, 5000, DAY);
    run(1, 1000);
    return !entry_exists(1);
}

static void test_a_damaged_size_file_is_not_believed(void **state)
{
    static const char *const damaged[] = {
        "",          "x",           "@",           "+",         "@%ld",         "@%ld\n+",
        "@%ld\n+5",  "@%ld\n+-5\n", "@%ld\n-5\n",  "+5\n",      "@%ld\n\n",     "\n@%ld\n+5\n",
        "@%ld\n5\n", "@%ld\n+5x\n", "@%ld\n+ 5\n", "@-1\n+5\n", "@%ld\n+1001\n"};
    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        if (!looks(damaged[i], 0))
            fail_msg("'%s' is believed", damaged[i]);
    assert_false(looks("@%ld\n+5\n", 0));
    assert_false(looks("@%ld\n+5\n", DAY - 100));
    assert_true(looks("@%ld\n+5\n", DAY + 100));
    assert_true(looks("@%ld\n+5\n", -100)); /* the clock was set back */
}

static void test_the_size_file_does_not_grow_for_ever(void **state)
{
    struct stat information;
    (void)state;
    for (int i = 0; i < 3000; i++)
        run(1, 1000000);
    assert_int_equal(stat("c/cubin/size", &information), 0);
    assert_in_range(information.st_size, 1, 4200);
}

static void test_nothing_goes_while_another_run_uses_the_cache(void **state)
{
    (void)state;
    struct cubin_cache_use other;
    struct cubin_cache_contents removed;
    struct error error = {0};
    make_entry(1, 5000, DAY);
    cubin_cache_use_begin(&other, "c");
    run(5000, 1000);
    assert_true(entry_exists(1));
    assert_int_equal(cubin_cache_clear("c", &removed, &error), ERROR_RECORD);
    assert_non_null(strstr(error.message, "a run is using the cubin cache 'c'"));
    assert_true(entry_exists(1));
    assert_int_equal(cubin_cache_use_end(&other, "c", 1, 1000, &error), 0); /* the last one */
    assert_false(entry_exists(1));
}

/* --- what is ours --- */

static const char *const foreign[] = {
    "c/notes.txt",
    "c/gpu/x.json",
    "c/cubin/notes.txt",
    "c/cubin/00000000000000000000000000000001",    /* not in its folder */
    "c/cubin/zz/zz000000000000000000000000000001", /* no digits */
    "c/cubin/01/01",
    "c/cubin/01/0100000000000000000000000000000",   /* one digit too few */
    "c/cubin/01/010000000000000000000000000000012", /* one too many */
    "c/cubin/01/0100000000000000000000000000000G",
    "c/cubin/01/01ABCDEF000000000000000000000001",
    "c/cubin/01/02000000000000000000000000000001", /* another folder's */
    "c/cubin/01/01000000000000000000000000000001.txt",
    "c/cubin/01/01000000000000000000000000000001.tmp",
    "c/cubin/01/01000000000000000000000000000001.012345678901234.tmp",
    "c/cubin/01/01000000000000000000000000000001.pch.txt",
    "outside/ab/ab000000000000000000000000000001",
    "outside/file",
};

enum { FOREIGN_COUNT = sizeof foreign / sizeof *foreign };

static void make_foreign(void)
{
    for (size_t i = 0; i < FOREIGN_COUNT; i++)
        make_file(foreign[i], 100, 30 * DAY);
    assert_int_equal(symlink("../../outside/ab", "c/cubin/ab"), 0);
    assert_int_equal(
        symlink("../../../outside/file", "c/cubin/01/01000000000000000000000000000007"), 0);
    assert_int_equal(mkdir("c/cubin/01/01000000000000000000000000000008", 0777), 0);
}

static void expect_foreign(void)
{
    for (size_t i = 0; i < FOREIGN_COUNT; i++)
        if (!exists(foreign[i]))
            fail_msg("'%s' is gone", foreign[i]);
    assert_true(exists("c/cubin/ab"));
    assert_true(exists("c/cubin/01/01000000000000000000000000000007"));
    assert_true(exists("c/cubin/01/01000000000000000000000000000008"));
}

static void test_only_entries_and_temporaries_go(void **state)
{
    (void)state;
    make_foreign();
    make_entry(1, 5000, DAY);
    assert_int_equal(measure().entries, 1);
    run(1, 1000);
    assert_int_equal(measure().entries, 0);
    expect_foreign();
    make_entry(1, 5000, DAY);
    assert_int_equal(clear().entries, 1);
    assert_false(entry_exists(1));
    expect_foreign();
}

static void test_a_size_file_that_is_a_link_is_not_followed(void **state)
{
    (void)state;
    struct cubin_cache_use use;
    make_file("outside", 100, DAY);
    make_entry(1, 5000, DAY);
    assert_int_equal(symlink("../../outside", "c/cubin/size"), 0);
    cubin_cache_use_begin(&use, "c");
    assert_int_equal(use.file, -1);
    assert_int_equal(clear().entries, 1);
    struct stat information;
    assert_int_equal(stat("outside", &information), 0);
    assert_int_equal(information.st_size, 100);
}

#define KEY "c/cubin/05/05000000000000000000000000000005"

static void test_temporaries_that_were_left_go_after_a_day(void **state)
{
    (void)state;
    make_file(KEY ".0123456789abcdef.tmp", 100, DAY + HOUR);
    make_file(KEY ".ffffffffffffffff.tmp", 100, DAY - HOUR);
    run(1, 1000);
    assert_false(exists(KEY ".0123456789abcdef.tmp"));
    assert_true(exists(KEY ".ffffffffffffffff.tmp"));
    clear();
    assert_false(exists(KEY ".ffffffffffffffff.tmp"));
    assert_false(exists("c/cubin/06"));
}

/* --- clearing --- */

static void test_clearing_removes_everything_and_says_what(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        make_entry(i, i % 3 * 100, (long)i);
    run(1, 1 << 20);
    struct cubin_cache_contents removed = clear();
    assert_int_equal(removed.entries, 300);
    assert_int_equal(removed.bytes, 30000);
    assert_int_equal(measure().entries, 0);
    assert_int_equal(system("[ \"$(ls c/cubin)\" = size ]"), 0);
    removed = clear();
    assert_int_equal(removed.entries, 0);
    make_entry(1, 600, DAY);
    run(600, 1000); /* the size is known to be 0 */
    assert_true(entry_exists(1));
}

static void test_a_cache_is_new_until_it_has_an_entry(void **state)
{
    (void)state;
    assert_true(cubin_cache_is_new("c"));
    run(0, 100);
    assert_true(cubin_cache_is_new("c"));
    make_entry(1, 10, 0);
    assert_false(cubin_cache_is_new("c"));
}

static void test_a_missing_cache_is_empty_and_stays_missing(void **state)
{
    (void)state;
    assert_int_equal(measure().entries, 0);
    assert_int_equal(clear().entries, 0);
    assert_false(exists("c"));
    assert_int_equal(scratch_write("c", "a file"), 0);
    assert_int_equal(measure().entries, 0);
    assert_int_equal(clear().entries, 0);
}

/* As a user to whom the folder is closed: the child gives up root if it has it. */
static int use_closed_cache(void)
{
    struct cubin_cache_use use;
    struct cubin_cache_contents contents;
    struct error error = {0};
    if (geteuid() == 0 && setuid(65534) != 0)
        return 2;
    cubin_cache_use_begin(&use, "c");
    if (use.file >= 0 || cubin_cache_use_end(&use, "c", 5000, 1000, &error) != 0)
        return 3;
    if (cubin_cache_measure("c", &contents, &error) != 0 || contents.entries != 1)
        return 4;
    if (cubin_cache_clear("c", &contents, &error) != ERROR_RECORD ||
        strstr(error.message, "cannot remove 'c/cubin/") == NULL)
        return 5;
    return 0;
}

static void test_a_cache_that_cannot_be_written_is_left_alone(void **state)
{
    (void)state;
    make_entry(1, 5000, DAY);
    assert_int_equal(chmod(*state, 0755), 0);
    assert_int_equal(system("chmod -R a-w,a+rX c"), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(use_closed_cache());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(system("chmod -R u+w c"), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(entry_exists(1));
}

/* --- use --- */

static long age_of(const char *path)
{
    struct stat information;
    assert_int_equal(stat(path, &information), 0);
    return (long)(time(NULL) - information.st_mtime);
}

static void read_aged(const char *path, long age_s)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    struct compilation read;
    struct error error = {0};
    bool found = false;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(cubin_cache_read(path, &read, &found, &error), 0);
    assert_true(found);
    compilation_release(&read);
}

static void test_reading_is_use_noted_to_the_hour(void **state)
{
    char log[] = "";
    struct compilation compilation = {.log = log};
    struct error error = {0};
    (void)state;
    assert_int_equal(cubin_cache_write(KEY, &compilation, &error), 0);
    read_aged(KEY, HOUR / 2);
    assert_in_range(age_of(KEY), HOUR / 2, HOUR / 2 + 100);
    read_aged(KEY, 2 * HOUR);
    assert_in_range(age_of(KEY), 0, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_limit_is_2_gib_or_the_users),
        SCRATCH_TEST(test_the_oldest_used_go_first_and_no_more_than_needed),
        SCRATCH_TEST(test_one_entry_above_the_limit_goes),
        SCRATCH_TEST(test_a_run_that_wrote_nothing_removes_nothing),
        SCRATCH_TEST(test_it_looks_only_when_the_limit_may_be_passed),
        SCRATCH_TEST(test_a_damaged_size_file_is_not_believed),
        SCRATCH_TEST(test_the_size_file_does_not_grow_for_ever),
        SCRATCH_TEST(test_nothing_goes_while_another_run_uses_the_cache),
        SCRATCH_TEST(test_only_entries_and_temporaries_go),
        SCRATCH_TEST(test_a_size_file_that_is_a_link_is_not_followed),
        SCRATCH_TEST(test_temporaries_that_were_left_go_after_a_day),
        SCRATCH_TEST(test_clearing_removes_everything_and_says_what),
        SCRATCH_TEST(test_a_cache_is_new_until_it_has_an_entry),
        SCRATCH_TEST(test_a_missing_cache_is_empty_and_stays_missing),
        SCRATCH_TEST(test_a_cache_that_cannot_be_written_is_left_alone),
        SCRATCH_TEST(test_reading_is_use_noted_to_the_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
