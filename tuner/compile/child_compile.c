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
#include <sys/wait.h>
#include <unistd.h>

/* What the child writes first; an entry of the cubin cache or the PTX follows. `status` and `error` are
 * those of the compiler's call. */
struct answer {
    int status;
    struct error error;
    size_t bytes; /* of what follows */
};

/* It writes to a pipe, because files, also in memory, are subject to `ulimit -f`. */
struct child {
    pid_t process;
    int results; /* the end to read from */
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
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(error, ERROR_RECORD, "cannot start the compiler");
    *child = (struct child){.process = fork(), .results = ends[0]};
    if (child->process == 0)
        compile(request, ptx, ends[1]);
    int number = errno;
    (void)close(ends[1]);
    if (child->process > 0)
        return 0;
    (void)close(ends[0]);
    errno = number;
    return error_set_errno(error, ERROR_RECORD, "cannot start the compiler");
}

/* Appends what the child writes to `*text`, of `*count` bytes. Returns false at its end, or if a signal
 * arrives. */
static bool read_more(int results, char **text, size_t *count)
{
    enum { READ_BYTES = 65536 };
    struct pollfd source = {.fd = results, .events = POLLIN};
    *text = alloc_resize(*text, *count + READ_BYTES, 1);
    ssize_t got = interrupt_poll(&source, 1, -1);
    if (got > 0)
        got = read(results, *text + *count, READ_BYTES);
    if (got < 0)
        return errno == EINTR && !interrupt_requested();
    *count += (size_t)got;
    return got > 0;
}

/* Reads what the child writes, a new string of `*count` bytes, and waits for its end; kills it if a signal
 * arrives. `*status` is that from waitpid(). */
static char *await(const struct child *child, size_t *count, int *status)
{
    char *text = NULL;
    *count = 0;
    while (read_more(child->results, &text, count))
        ;
    if (interrupt_requested())
        (void)kill(child->process, SIGKILL);
    (void)close(child->results);
    while (waitpid(child->process, status, 0) < 0 && errno == EINTR)
        ;
    text[*count] = '\0'; /* there is room: the last reading found the end */
    return text;
}

/* Takes the answer off the text that the child wrote; false if it did not write all of it. */
static bool take_answer(char *text, size_t count, struct answer *answer)
{
    if (count < sizeof *answer)
        return false;
    memcpy(answer, text, sizeof *answer);
    if (count - sizeof *answer != answer->bytes)
        return false;
    memmove(text, text + sizeof *answer, answer->bytes + 1);
    return true;
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
    struct child child = {0};
    struct answer answer = {0};
    size_t count;
    int ended = 0;
    int status = start(&child, request, ptx != NULL, error);
    if (status != 0)
        return status;
    char *bytes = await(&child, &count, &ended);
    bool whole = take_answer(bytes, count, &answer);
    if (whole && answer.status != 0 && error != NULL)
        *error = answer.error;
    if (whole && ptx != NULL && answer.status == 0) {
        *ptx = bytes;
        return 0;
    }
    if (ptx == NULL)
        whole = whole && cubin_cache_parse(request->name, bytes, answer.bytes, compilation);
    free(bytes);
    return whole ? answer.status : lost(ended, error);
}
