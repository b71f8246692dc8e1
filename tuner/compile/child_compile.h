/*
 * Compiles in a child process, so that the caller answers signals whatever the compiler does. The child
 * is a copy of the caller, which must have one thread. For the commands that compile a few variants; a
 * sweep has workers (compile_worker.h), and an application's process is not ours to copy.
 */
#ifndef AUTOTUNE_CHILD_COMPILE_H
#define AUTOTUNE_CHILD_COMPILE_H

#include "base/error.h"
#include "compile/compilation.h"
#include "compile/nvrtc.h"

#include <stddef.h>

/* As for nvrtc_compile(). */
struct child_compile_request {
    struct nvrtc *nvrtc;
    const char *name;
    const char *text;
    const char *arch;
    const char *const *options;
    size_t option_count;
};

/*
 * As nvrtc_compile(), and with `ptx`, as nvrtc_compile_ptx(); one of the two is NULL. Also returns
 * ERROR_INTERRUPTED if a signal has arrived (base/interrupt.h), ERROR_WORKER if the compiler ends the
 * child, and ERROR_RECORD if the system has no process or memory for it.
 */
int child_compile(const struct child_compile_request *request, struct compilation *compilation,
                  char **ptx, struct error *error);

#endif
