#include "compile/cubin_cache.h"

#include "base/alloc.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENTRY "cache/cubin/ab/abcd"

static struct error error; /* the last one */

/* A compilation in static storage: nothing to release. The image holds zeros and line ends. */
static struct compilation sample(void)
{
    static char image[] = "\x7f"
                          "ELF\0\n\n{}\0\xff cubin";
    static char log[] = "k.cu(3): warning: \"x\" is never used\n  int x; // \xc3\xa9";
    static char first[] = "partial", second[] = "_Z6finishIfEvPT_";
    static char name[] = "finish<float>";
    static struct compiled_kernel kernels[] = {
        {.entry = first,
         .registers = 32,
         .spill_store_bytes = 1524,
         .spill_load_bytes = 1576,
         .stack_bytes = 776,
         .shared_bytes = 4096,
         .barriers = 1,
         .max_threads_per_block = 256},
        {.entry = name, .symbol = second, .registers = 255},
    };
    return (struct compilation){.cubin = image,
                                .cubin_bytes = sizeof image - 1,
                                .log = log,
                                .kernels = kernels,
                                .kernel_count = 2};
}

static void write_entry(const struct compilation *compilation)
{
    if (cubin_cache_write(ENTRY, compilation, &error) != 0)
        fail_msg("%s", error.message);
}

static bool read_entry(struct compilation *compilation)
{
    return cubin_cache_read(ENTRY, true, compilation);
}

static void expect_same(const struct compilation *read, const struct compilation *written)
{
    assert_string_equal(read->log, written->log);
    assert_int_equal(read->cubin_bytes, written->cubin_bytes);
    assert_true((read->cubin != NULL) == (written->cubin_bytes > 0));
    if (read->cubin != NULL)
        assert_memory_equal(read->cubin, written->cubin, written->cubin_bytes);
    assert_int_equal(read->kernel_count, written->kernel_count);
    for (size_t i = 0; i < read->kernel_count; i++) {
        struct compiled_kernel a = read->kernels[i], b = written->kernels[i];
        assert_string_equal(a.entry, b.entry);
        assert_string_equal(a.symbol != NULL ? a.symbol : "", b.symbol != NULL ? b.symbol : "");
        a.entry = b.entry = a.symbol = b.symbol = NULL;
        assert_memory_equal(&a, &b, sizeof a);
    }
}

/* Each replaces the one before: a sample, one with a long log, and a program that was refused. */
UNIT_TEST_WITH(an_entry_comes_back_whole, scratch_enter, scratch_leave)
{
    struct compilation written[] = {sample(), sample(), {0}}, read;
    written[1].log = alloc_zeroed(50001, 1);
    memset(written[1].log, 'e', 50000);
    written[2].log = (char[]){"k.cu(1): error: expected a \";\""};
    for (size_t i = 0; i < 3; i++) {
        write_entry(&written[i]);
        assert_true(read_entry(&read));
        expect_same(&read, &written[i]);
        compilation_release(&read);
    }
    free(written[1].log);
    written[0].log = (char[]){"k.cu(1): error: \xe9t\xe9"};
    write_entry(&written[0]);
    assert_true(read_entry(&read));
    assert_string_equal(read.log, "k.cu(1): error: ?t?"); /* it was not UTF-8 */
    compilation_release(&read);
}

UNIT_TEST_WITH(an_entry_under_another_name_is_damaged, scratch_enter, scratch_leave)
{
    struct compilation written = sample(), read;
    assert_int_equal(cubin_cache_write("cache/cubin/ab/other", &written, NULL), 0);
    assert_int_equal(rename("cache/cubin/ab/other", ENTRY), 0);
    assert_false(read_entry(&read));
    compilation_release(&read);
}

UNIT_TEST_WITH(what_is_not_there_is_not_found, scratch_enter, scratch_leave)
{
    struct compilation read;
    assert_false(read_entry(&read));
    FILE *file = fopen("cache", "w"); /* a file where the folder would be */
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_false(read_entry(&read));
    struct compilation written = sample();
    assert_int_equal(cubin_cache_write(ENTRY, &written, &error), ERROR_RECORD);
    assert_non_null(strstr(error.message, "cache"));
}

/* --- damage ----------------------------------------------------------------------------------- */

static void plant_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = ENTRY};
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(made >= 0);
    assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(close(made), 0);
}

/* Not a file: it is compiled again, and the entry written. */
UNIT_TEST_WITH(what_cannot_be_an_entry_is_replaced, scratch_enter, scratch_leave)
{
    static const char *const plants[] = {
        "mkdir " ENTRY,           "mkfifo " ENTRY, "ln -s abcd " ENTRY, /* a link to itself */
        "ln -s /dev/null " ENTRY, "true",                               /* a socket, made below */
    };
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct compilation written = sample();
        struct compilation read;
        write_entry(&written);
        char *command = alloc_format("rm -rf %s* && %s", ENTRY, plants[i]);
        assert_int_equal(system(command), 0);
        if (strcmp(plants[i], "true") == 0)
            plant_socket();
        assert_false(read_entry(&read));
        if (cubin_cache_write(ENTRY, &written, &error) != 0)
            fail_msg("%s: %s", plants[i], error.message);
        assert_true(read_entry(&read));
        compilation_release(&read);
        free(command);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

UNIT_TEST(the_key_stands_for_everything_that_went_in)
{
    const char *const options[] = {"-DA=1", "-DB=2"}, *const swapped[] = {"-DB=2", "-DA=1"};
    const char *const joined[] = {"-DA=1-DB=2"};
    char keys[8][HASH_BYTES];
    cubin_cache_key("0123", options, 2, "sm_90", "13.0", keys[0]);
    cubin_cache_key("0124", options, 2, "sm_90", "13.0", keys[1]);
    cubin_cache_key("0123", options, 1, "sm_90", "13.0", keys[2]);
    cubin_cache_key("0123", swapped, 2, "sm_90", "13.0", keys[3]);
    cubin_cache_key("0123", joined, 1, "sm_90", "13.0", keys[4]);
    cubin_cache_key("0123", options, 2, "sm_90a", "13.0", keys[5]);
    cubin_cache_key("0123", options, 2, "sm_90", "13.1", keys[6]);
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    const char *const moved[] = {"-I/there", "-DA=1",
                                 "-DB=2"}; /* the source's hash has its headers */
    cubin_cache_key("0123", moved, 3, "sm_90", "13.0", keys[7]);
    assert_string_equal(keys[0], keys[7]);
    assert_int_equal(strlen(keys[0]), 32);
}

static void expect_folder(const char *expected)
{
    char *folder = cubin_cache_default_folder();
    assert_string_equal(folder, expected);
    free(folder);
}

UNIT_TEST(the_cache_is_where_the_user_wants_it)
{
    setenv("AUTOTUNE_CACHE", "mine", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/someone", 1);
    expect_folder("mine");
    setenv("AUTOTUNE_CACHE", "", 1);
    expect_folder("/xdg/autotune");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_folder("/home/someone/.cache/autotune");
    unsetenv("AUTOTUNE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    expect_folder("/home/someone/.cache/autotune");
    unsetenv("HOME");
    char *folder = cubin_cache_default_folder();
    assert_non_null(strstr(folder, "/.cache/autotune"));
    free(folder);

    char *path = cubin_cache_path("/cache", "abcdef");
    assert_string_equal(path, "/cache/cubin/ab/abcdef");
    free(path);
}

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
    if (cubin_cache_measure("c", &contents, &error) != 0)
        fail_msg("%s", error.message);
    return contents;
}

/* A run that has written so much. */
static void run(uint64_t written, uint64_t limit)
{
    struct cubin_cache_use use;
    cubin_cache_use_begin(&use, "c");
    assert_true(use.file >= 0);
    if (cubin_cache_use_end(&use, "c", written, limit, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(use.file, -1);
}

static struct cubin_cache_contents clear(void)
{
    struct cubin_cache_contents removed;
    if (cubin_cache_clear("c", &removed, &error) != 0)
        fail_msg("%s", error.message);
    return removed;
}

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

UNIT_TEST_WITH(only_entries_and_temporaries_go, scratch_enter, scratch_leave)
{
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

UNIT_TEST_WITH(a_size_file_that_is_a_link_is_not_followed, scratch_enter, scratch_leave)
{
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

UNIT_TEST_WITH(temporaries_that_were_left_go_after_a_day, scratch_enter, scratch_leave)
{
    make_file(KEY ".0123456789abcdef.tmp", 100, DAY + HOUR);
    make_file(KEY ".ffffffffffffffff.tmp", 100, DAY - HOUR);
    run(1, 1000);
    assert_false(exists(KEY ".0123456789abcdef.tmp"));
    assert_true(exists(KEY ".ffffffffffffffff.tmp"));
    clear();
    assert_false(exists(KEY ".ffffffffffffffff.tmp"));
    assert_false(exists("c/cubin/06"));
}

/* As a user to whom the folder is closed: the child gives up root if it has it. */
static int use_closed_cache(void)
{
    struct cubin_cache_use use;
    struct cubin_cache_contents contents;
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

UNIT_TEST_WITH(a_cache_that_cannot_be_written_is_left_alone, scratch_enter, scratch_leave)
{
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
