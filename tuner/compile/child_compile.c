#include "compile/child_compile.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/worker.h"
#include "compile/cubin_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child writes first into `results`, an in-memory file; an entry of the cubin cache or the PTX
 * follows. `status` and `error` are those of the compiler's call. */
struct answer {
    int status;
    struct error error;
    size_t bytes; /* of what follows */
};

/* The child has the other end of the pipe open, and never writes to it. */
struct child {
    pid_t process;
    int results;
    int ended;
};

/* --- in the child --- */

static bool write_answer(int results, const struct answer *answer, const char *bytes)
{
    FILE *file = fdopen(results, "wb");
    return file != NULL && fwrite(answer, sizeof *answer, 1, file) == 1 &&
           (answer->bytes == 0 || fwrite(bytes, 1, answer->bytes, file) == answer->bytes) &&
           fflush(file) == 0;
}

static _Noreturn void compile(const struct child_compile_request *request, bool ptx, int results)
{
    struct answer answer = {0};
    struct compilation compilation = {0};
    char *bytes = NULL;
    worker_enter(false);
    if (ptx) {
        answer.status =
            nvrtc_compile_ptx(request->nvrtc, request->name, request->text, request->arch,
                              request->options, request->option_count, &bytes, &answer.error);
        answer.bytes = bytes != NULL ? strlen(bytes) : 0;
    } else {
        answer.status =
            nvrtc_compile(request->nvrtc, request->name, request->text, request->arch,
                          request->options, request->option_count, &compilation, &answer.error);
        if (compilation.log == NULL)
            compilation.log = alloc_string("");
        bytes = cubin_cache_entry(request->name, &compilation, &answer.bytes);
    }
    _exit(write_answer(results, &answer, bytes) ? 0 : 1);
}

/* --- in the caller --- */

static int start(struct child *child, const struct child_compile_request *request, bool ptx,
                 struct error *error)
{
    int pipe_ends[2];
    *child = (struct child){.process = -1, .results = memfd_create("compiled", MFD_CLOEXEC)};
    if (child->results < 0 || pipe2(pipe_ends, O_CLOEXEC) != 0) {
        (void)error_set_errno(error, ERROR_RECORD, "cannot start the compiler");
        if (child->results >= 0)
            (void)close(child->results);
        return ERROR_RECORD;
    }
    child->ended = pipe_ends[0];
    child->process = fork();
    if (child->process == 0)
        compile(request, ptx, child->results);
    int number = errno;
    (void)close(pipe_ends[1]);
    if (child->process > 0)
        return 0;
    (void)close(pipe_ends[0]);
    (void)close(child->results);
    errno = number;
    return error_set_errno(error, ERROR_RECORD, "cannot start the compiler");
}

/* Waits for the child, and kills it if a signal arrives. Returns the status from waitpid(). */
static int await(const struct child *child)
{
    struct pollfd end = {.fd = child->ended, .events = POLLIN};
    int status = 0;
    while (interrupt_poll(&end, 1, -1) < 0 && !interrupt_requested())
        ;
    if (interrupt_requested())
        (void)kill(child->process, SIGKILL);
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR)
        ;
    (void)close(child->ended);
    return status;
}

static bool read_bytes(int file, void *bytes, size_t count, off_t offset)
{
    ssize_t got = 0;
    for (size_t done = 0; done < count; done += (size_t)got) {
        got = pread(file, (char *)bytes + done, count - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            return false;
    }
    return true;
}

/* What follows the answer, a new string; NULL if the child did not write all of it. */
static char *read_answer(int results, struct answer *answer)
{
    if (!read_bytes(results, answer, sizeof *answer, 0))
        return NULL;
    char *bytes = alloc_zeroed(answer->bytes + 1, 1);
    if (read_bytes(results, bytes, answer->bytes, sizeof *answer))
        return bytes;
    free(bytes);
    return NULL;
}

static int lost(int status, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    if (interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    (void)worker_describe_end(status, reason);
    return error_set(error, ERROR_WORKER, "the compiler %s", reason);
}

int child_compile(const struct child_compile_request *request, struct compilation *compilation,
                  char **ptx, struct error *error)
{
    struct child child;
    struct answer answer = {0};
    int status = start(&child, request, ptx != NULL, error);
    if (status != 0)
        return status;
    int ended = await(&child);
    char *bytes = read_answer(child.results, &answer);
    (void)close(child.results);
    if (bytes == NULL)
        return lost(ended, error);
    if (answer.status != 0 && error != NULL)
        *error = answer.error;
    if (ptx != NULL && answer.status == 0) {
        *ptx = bytes;
        return 0;
    }
    bool whole = ptx != NULL || cubin_cache_parse(request->name, bytes, answer.bytes, compilation);
    free(bytes);
    return whole ? answer.status : lost(ended, error);
}
