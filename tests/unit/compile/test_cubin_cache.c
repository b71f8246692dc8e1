#include "base/alloc.h"
#include "compile/cubin_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ENTRY "cache/cubin/ab/abcd"

static int enter_folder(void **state)
{
    char *folder = alloc_string("/tmp/autotune-cubin-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    *state = folder;
    return 0;
}

static int leave_folder(void **state)
{
    char *command = alloc_format("rm -rf '%s'", (char *)*state);
    int status = chdir("/") + system(command);
    free(command);
    free(*state);
    return status;
}

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
    struct error error = {0};
    if (cubin_cache_write(ENTRY, compilation, &error) != 0)
        fail_msg("%s", error.message);
}

static bool read_entry(struct compilation *compilation)
{
    struct error error = {0};
    bool found = false;
    if (cubin_cache_read(ENTRY, compilation, &found, &error) != 0)
        fail_msg("%s", error.message);
    return found;
}

static void expect_same_figures(const struct compilation *read, const struct compilation *written)
{
    assert_string_equal(read->log, written->log);
    assert_int_equal(read->cubin_bytes, written->cubin_bytes);
    assert_int_equal(read->kernel_count, written->kernel_count);
    for (size_t i = 0; i < read->kernel_count; i++) {
        const struct compiled_kernel *a = &read->kernels[i], *b = &written->kernels[i];
        assert_string_equal(a->entry, b->entry);
        assert_string_equal(a->symbol != NULL ? a->symbol : "", b->symbol != NULL ? b->symbol : "");
        assert_int_equal(a->registers, b->registers);
        assert_int_equal(a->spill_store_bytes, b->spill_store_bytes);
        assert_int_equal(a->spill_load_bytes, b->spill_load_bytes);
        assert_int_equal(a->stack_bytes, b->stack_bytes);
        assert_int_equal(a->shared_bytes, b->shared_bytes);
        assert_int_equal(a->barriers, b->barriers);
        assert_int_equal(a->max_threads_per_block, b->max_threads_per_block);
    }
}

static void an_entry_comes_back_whole(void **state)
{
    struct compilation written = sample(), read;
    (void)state;
    write_entry(&written);
    assert_true(read_entry(&read));
    expect_same_figures(&read, &written);
    assert_memory_equal(read.cubin, written.cubin, written.cubin_bytes);
    compilation_release(&read);
}

static void an_entry_under_another_name_is_damaged(void **state)
{
    struct compilation written = sample(), read;
    (void)state;
    assert_int_equal(cubin_cache_write("cache/cubin/ab/other", &written, NULL), 0);
    assert_int_equal(rename("cache/cubin/ab/other", ENTRY), 0);
    assert_false(read_entry(&read));
    compilation_release(&read);
}

static void a_refused_program_is_kept_with_its_log(void **state)
{
    struct compilation written = {.log = alloc_string("k.cu(1): error: expected a \";\"")}, read;
    (void)state;
    write_entry(&written);
    assert_true(read_entry(&read));
    assert_string_equal(read.log, written.log);
    assert_null(read.cubin);
    assert_int_equal(read.cubin_bytes, 0);
    assert_int_equal(read.kernel_count, 0);
    compilation_release(&read);
    compilation_release(&written);
}

static void a_long_log_is_whole(void **state)
{
    struct compilation written = sample(), read;
    (void)state;
    written.log = alloc_zeroed(50001, 1);
    memset(written.log, 'e', 50000);
    write_entry(&written);
    assert_true(read_entry(&read));
    expect_same_figures(&read, &written);
    compilation_release(&read);
    free(written.log);
}

static void a_log_that_is_no_utf8_keeps_its_ascii(void **state)
{
    struct compilation written = sample(), read;
    (void)state;
    written.log = alloc_string("k.cu(1): error: \xe9t\xe9");
    write_entry(&written);
    assert_true(read_entry(&read));
    assert_string_equal(read.log, "k.cu(1): error: ?t?");
    compilation_release(&read);
    free(written.log);
}

static void a_second_write_replaces_the_first(void **state)
{
    struct compilation written = sample(), read;
    (void)state;
    write_entry(&written);
    written.kernels[0].registers = 40;
    write_entry(&written);
    assert_true(read_entry(&read));
    assert_int_equal(read.kernels[0].registers, 40);
    compilation_release(&read);
    written.kernels[0].registers = 32;
}

static void what_is_not_there_is_not_found(void **state)
{
    struct compilation read;
    (void)state;
    assert_false(read_entry(&read));
    FILE *file = fopen("cache", "w"); /* a file where the folder would be */
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_false(read_entry(&read));
    struct compilation written = sample();
    struct error error = {0};
    assert_int_equal(cubin_cache_write(ENTRY, &written, &error), ERROR_RECORD);
    assert_non_null(strstr(error.message, "cache"));
}

static void an_entry_that_cannot_be_read_is_an_error(void **state)
{
    struct compilation read;
    struct error error = {0};
    bool found = true;
    (void)state;
    char *path = alloc_format("%0300d", 0); /* too long a name */
    assert_int_equal(cubin_cache_read(path, &read, &found, &error), ERROR_RECORD);
    assert_false(found);
    assert_non_null(strstr(error.message, path));
    free(path);
}

/* --- damage ----------------------------------------------------------------------------------- */

struct raw {
    char bytes[8192];
    size_t count;
};

static struct raw read_raw(void)
{
    struct raw raw = {0};
    FILE *file = fopen(ENTRY, "rb");
    assert_non_null(file);
    raw.count = fread(raw.bytes, 1, sizeof raw.bytes, file);
    assert_int_equal(fclose(file), 0);
    assert_in_range(raw.count, 200, sizeof raw.bytes - 2);
    return raw;
}

static void write_raw(const struct raw *raw, size_t count)
{
    FILE *file = fopen(ENTRY, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(raw->bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void expect_damaged(const char *what, size_t where)
{
    struct compilation read;
    if (read_entry(&read))
        fail_msg("%s at %zu went unnoticed", what, where);
    assert_null(read.cubin);
    assert_null(read.log);
    if (access(ENTRY, F_OK) == 0)
        fail_msg("%s at %zu: entry not removed", what, where);
}

static void plant_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = ENTRY};
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(made >= 0);
    assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(close(made), 0);
}

/* Not a file: it is compiled again, and the entry written. */
static void what_cannot_be_an_entry_is_replaced(void **state)
{
    static const char *const plants[] = {
        "mkdir " ENTRY,           "mkdir -p " ENTRY "/full/of/folders",
        "mkfifo " ENTRY,          "ln -s abcd " ENTRY, /* a link to itself */
        "ln -s /dev/null " ENTRY, "true",              /* a socket, made below */
    };
    (void)state;
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct compilation written = sample();
        struct compilation read;
        struct error error = {0};
        write_entry(&written);
        char *command = alloc_format("rm -rf %s* && %s", ENTRY, plants[i]);
        assert_int_equal(system(command), 0);
        if (strcmp(plants[i], "true") == 0)
            plant_socket();
        if (cubin_cache_read(ENTRY, &read, &(bool){true}, &error) != 0 ||
            cubin_cache_write(ENTRY, &written, &error) != 0)
            fail_msg("%s: %s", plants[i], error.message);
        assert_true(read_entry(&read));
        compilation_release(&read);
        free(command);
    }
}

/* In a child, which is not root: the entry is compiled again, and can then be read. */
static int replace_unreadable_entry(void)
{
    struct compilation written = sample();
    struct compilation read;
    struct error error;
    bool found = true;
    if (cubin_cache_read(ENTRY, &read, &found, &error) != 0 || found ||
        cubin_cache_write(ENTRY, &written, &error) != 0 || !read_entry(&read))
        return 1;
    compilation_release(&read);
    return 0;
}

static void what_may_not_be_read_is_replaced(void **state)
{
    (void)state;
    enum { NOBODY = 65534 };
    struct compilation written = sample();
    int status = 0;
    write_entry(&written);
    assert_int_equal(system("chmod -R a+rwX . && chmod 000 " ENTRY), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(geteuid() == 0 && seteuid(NOBODY) != 0 ? 2 : replace_unreadable_entry());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void every_truncation_is_noticed(void **state)
{
    struct compilation written = sample();
    (void)state;
    write_entry(&written);
    struct raw raw = read_raw();
    for (size_t count = 0; count < raw.count; count++) {
        write_raw(&raw, count);
        expect_damaged("a truncation", count);
    }
    raw.bytes[raw.count] = 'x';
    write_raw(&raw, raw.count + 1);
    expect_damaged("a byte too many", raw.count);
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct compilation written = sample();
    (void)state;
    write_entry(&written);
    struct raw raw = read_raw();
    for (size_t bit = 0; bit < raw.count * 8; bit++) {
        raw.bytes[bit / 8] ^= (char)(1 << bit % 8);
        write_raw(&raw, raw.count);
        expect_damaged("a flipped bit", bit);
        raw.bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

static void the_key_stands_for_everything_that_went_in(void **state)
{
    const char *const options[] = {"-DA=1", "-DB=2"}, *const swapped[] = {"-DB=2", "-DA=1"};
    const char *const joined[] = {"-DA=1-DB=2"};
    char keys[8][HASH_BYTES];
    (void)state;
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
    cubin_cache_key("0123", options, 2, "sm_90", "13.0", keys[7]);
    assert_string_equal(keys[0], keys[7]);
    assert_int_equal(strlen(keys[0]), 32);
}

/* Their headers are in the source's hash. */
static void a_copy_of_the_project_has_the_same_keys(void **state)
{
    const char *const here[] = {"-I/here", "-DA=1"}, *const there[] = {"-I/there", "-DA=1"};
    char keys[2][HASH_BYTES];
    (void)state;
    cubin_cache_key("0123", here, 2, "sm_90", "13.0", keys[0]);
    cubin_cache_key("0123", there, 2, "sm_90", "13.0", keys[1]);
    assert_string_equal(keys[0], keys[1]);
}

static void expect_folder(const char *expected)
{
    char *folder = cubin_cache_default_folder();
    assert_string_equal(folder, expected);
    free(folder);
}

static void the_cache_is_where_the_user_wants_it(void **state)
{
    (void)state;
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

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(an_entry_comes_back_whole),
        IN_FOLDER(an_entry_under_another_name_is_damaged),
        IN_FOLDER(a_refused_program_is_kept_with_its_log),
        IN_FOLDER(a_long_log_is_whole),
        IN_FOLDER(a_log_that_is_no_utf8_keeps_its_ascii),
        IN_FOLDER(a_second_write_replaces_the_first),
        IN_FOLDER(what_is_not_there_is_not_found),
        IN_FOLDER(an_entry_that_cannot_be_read_is_an_error),
        IN_FOLDER(what_cannot_be_an_entry_is_replaced),
        IN_FOLDER(what_may_not_be_read_is_replaced),
        IN_FOLDER(every_truncation_is_noticed),
        IN_FOLDER(every_flipped_bit_is_noticed),
        cmocka_unit_test(the_key_stands_for_everything_that_went_in),
        cmocka_unit_test(a_copy_of_the_project_has_the_same_keys),
        cmocka_unit_test(the_cache_is_where_the_user_wants_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
