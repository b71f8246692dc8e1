#include "base/subprocess.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/read_file.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 60000, POLL_MS = 2, OUTPUT_BYTES = 1 << 30 };

char *subprocess_find(const char *name)
{
    const char *path = getenv("PATH");
    char *folders = alloc_string(path != NULL ? path : "/usr/bin:/bin");
    char *found = NULL;
    char *rest = NULL;
    for (char *folder = strtok_r(folders, ":", &rest); folder != NULL && found == NULL;
         folder = strtok_r(NULL, ":", &rest)) {
        found = alloc_format("%s/%s", folder, name);
        if (access(found, X_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
    free(folders);
    return found;
}

/* In-memory files. With pipes, we and the process could block on each other. */
struct streams {
    FILE *in, *out, *err;
};

static FILE *open_stream(void)
{
    int descriptor = memfd_create("program", MFD_CLOEXEC);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    if (stream == NULL && descriptor >= 0)
        (void)close(descriptor);
    return stream;
}

static void close_streams(const struct streams *streams)
{
    FILE *const all[] = {streams->in, streams->out, streams->err};
    for (size_t i = 0; i < 3; i++)
        if (all[i] != NULL)
            (void)fclose(all[i]);
}

/* The whole file as a new string; NULL if it cannot be read. */
static char *read_all(FILE *stream)
{
    char *text = NULL;
    size_t length;
    if (fseek(stream, 0, SEEK_SET) == 0)
        (void)read_stream(stream, OUTPUT_BYTES, &text, &length);
    return text;
}

static int open_streams(struct streams *streams, const void *input, size_t input_bytes,
                        struct error *error)
{
    *streams = (struct streams){open_stream(), open_stream(), open_stream()};
    if (streams->in != NULL && streams->out != NULL && streams->err != NULL &&
        fwrite(input, 1, input_bytes, streams->in) == input_bytes &&
        fseek(streams->in, 0, SEEK_SET) == 0)
        return 0;
    (void)error_set_errno(error, ERROR_RECORD, "cannot create in-memory files for a program");
    close_streams(streams);
    return ERROR_RECORD;
}

static int start(char *const arguments[], const struct streams *streams, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(streams->in), STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(streams->out), STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(streams->err), STDERR_FILENO);
    int status = posix_spawnp(process, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* The status from waitpid(). Kills the process and returns -1 after a minute. */
static int wait_for(pid_t process)
{
    int status = 0;
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += POLL_MS) {
        pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process)
            return status;
        if (ended < 0 && errno != EINTR)
            return -1;
        if (interrupt_requested())
            break;
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    (void)kill(process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

/* Reports the program's standard error without leading blank lines. */
static int report_failure(const char *name, FILE *stream, int status, struct error *error)
{
    if (interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    if (status == -1)
        return error_set(error, ERROR_RECORD, "%s did not finish within a minute", name);
    char *text = read_all(stream);
    const char *message = text != NULL ? text + strspn(text, " \t\r\n") : "";
    (void)error_set(error, ERROR_RECORD, "%s failed: %.1000s", name, message);
    free(text);
    return ERROR_RECORD;
}

int subprocess_run(char *const arguments[], const void *input, size_t input_bytes, char **output,
                   struct error *error)
{
    struct streams streams;
    pid_t process;
    *output = NULL;
    int result = open_streams(&streams, input, input_bytes, error);
    if (result != 0)
        return result;
    int status = start(arguments, &streams, &process);
    if (status != 0) {
        result = error_set(error, ERROR_RECORD, "cannot start %s: %s", arguments[0],
                           error_reason(status));
    } else {
        status = wait_for(process);
        if (status != 0)
            result = report_failure(arguments[0], streams.err, status, error);
    }
    if (result == 0)
        *output = read_all(streams.out);
    if (result == 0 && *output == NULL)
        result = error_set(error, ERROR_RECORD, "cannot read the output of %s", arguments[0]);
    close_streams(&streams);
    return result;
}
