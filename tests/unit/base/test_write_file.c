#include "base/write_file.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    struct write_file file;
    struct error error;
    assert_int_equal(write_file_begin(&file, path, &error), 0);
    assert_true(fputs(text, file.stream) >= 0);
    assert_int_equal(write_file_commit(&file, WRITE_FILE_DURABLE, &error), 0);
}

static void assert_text(const char *path, const char *expected)
{
    char *text = scratch_read(path);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static size_t count_files(const char *folder)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        count += entry->d_name[0] != '.';
    assert_int_equal(closedir(listing), 0);
    return count;
}

/* Nothing that watches dates, like make, has anything to do then. */
UNIT_TEST_WITH(test_same_content_leaves_the_file_alone, scratch_enter, scratch_leave)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    struct stat status;
    write_text("same", "as it is");
    assert_int_equal(utimensat(AT_FDCWD, "same", long_ago, 0), 0);
    write_text("same", "as it is");
    assert_int_equal(stat("same", &status), 0);
    assert_int_equal(status.st_mtime, 1000000000);
    write_text("same", "as it is, and more");
    assert_text("same", "as it is, and more");
    write_text("same", "as it is");
    assert_text("same", "as it is");
    assert_int_equal(count_files("."), 1);
}

UNIT_TEST_WITH(test_killed_writer_leaves_the_old_file, scratch_enter, scratch_leave)
{
    write_text("file", "old");
    pid_t child = fork();
    if (child == 0) {
        struct write_file file;
        if (write_file_begin(&file, "file", NULL) == 0) {
            fputs("half of the n", file.stream);
            fflush(file.stream);
        }
        (void)raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_text("file", "old");
    write_text("file", "new");
    assert_text("file", "new");
}

/* A file-size limit stands in for a full disk. The child's exit status says which check failed. */
static int write_beyond_limit(void)
{
    struct write_file file;
    struct error error = {0};
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (write_file_begin(&file, "file", &error) != 0)
        return 2;
    for (int i = 0; i < 100000; i++)
        fputs("too much", file.stream);
    if (write_file_commit(&file, WRITE_FILE_DURABLE, &error) != ERROR_RECORD)
        return 3;
    return strstr(error.message, "cannot write 'file'") != NULL ||
                   (strstr(error.message, "cannot write '/") != NULL &&
                    strstr(error.message, "/file'") != NULL)
               ? 0
               : 4;
}

UNIT_TEST_WITH(test_full_disk_leaves_the_old_file, scratch_enter, scratch_leave)
{
    write_text("file", "old");
    pid_t child = fork();
    if (child == 0)
        _exit(write_beyond_limit());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_text("file", "old");
    assert_int_equal(count_files("."), 1);
}

UNIT_TEST_WITH(test_several_writers_never_mix, scratch_enter, scratch_leave)
{
    enum { WRITERS = 4, ROUNDS = 50 };
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        int result = 0;
        for (int round = 0; result == 0 && round < ROUNDS; round++) {
            struct write_file file;
            result = write_file_begin(&file, "file", NULL);
            for (int j = 0; result == 0 && j < 20; j++) {
                fputc('a' + i, file.stream);
                fflush(file.stream);
            }
            if (result == 0)
                result = write_file_commit(&file, WRITE_FILE_CACHED, NULL);
        }
        _exit(result == 0 ? 0 : 1);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    char *text = scratch_read("file");
    assert_non_null(text);
    assert_int_equal(strlen(text), 20);
    assert_int_equal(strspn(text, (char[]){text[0], '\0'}), 20);
    free(text);
    assert_int_equal(count_files("."), 1);
}

UNIT_TEST_WITH(test_keeps_permissions_and_follows_links, scratch_enter, scratch_leave)
{
    struct stat status;
    write_text("real/file", "old");
    assert_int_equal(chmod("real/file", 0640), 0);
    assert_int_equal(symlink("real/file", "link"), 0);
    write_text("link", "new");
    assert_text("real/file", "new");
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat("real/file", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
}
