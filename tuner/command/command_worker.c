#include "command/command.h"

#include "base/channel.h"
#include "base/worker.h"
#include "compile/compile_worker.h"
#include "gpu/device_worker.h"
#include "tune/lock_worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Messages use copies of standard input and output. Standard output itself becomes stderr, so that
 * nothing a library prints can get between the messages.
 */
static int open_channel(struct channel *channel, struct error *error)
{
    int in = dup(STDIN_FILENO);
    int out = dup(STDOUT_FILENO);
    if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return error_set_errno(error, ERROR_WORKER, "cannot use standard input and output");
    channel_init(channel, in, out);
    return 0;
}

int command_worker(int argc, const char **argv, struct error *error)
{
    struct channel channel;
    bool compiles = argc > 1 && strcmp(argv[1], "compile") == 0;
    bool locks = argc > 2 && strcmp(argv[1], "lock") == 0; /* for other machines alone */
    if (!compiles && !locks && (argc < 2 || strcmp(argv[1], "device") != 0))
        return error_set(error, ERROR_USAGE,
                         "workers are started as `autotune worker compile` or "
                         "`autotune worker device [N|UUID]`");
    worker_enter(compiles);
    int status = open_channel(&channel, error);
    if (status != 0)
        return status;
    status = locks      ? lock_worker_run(&channel, argv[2], error)
             : compiles ? compile_worker_run(&channel, error)
                        : device_worker_run(&channel, argc > 2 ? argv[2] : "0", error);
    if (status == ERROR_WORKER) /* of the channel, or for want of memory: all others are sent */
        worker_give_up(error);
    channel_release(&channel);
    error->message[0] = '\0'; /* it was sent through the channel */
    return status;
}
