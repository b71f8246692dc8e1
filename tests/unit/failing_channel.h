/*
 * Makes the next calls of sendmsg() or read() in this process fail, as if the kernel had no memory for them.
 */
#ifndef AUTOTUNE_TEST_FAILING_CHANNEL_H
#define AUTOTUNE_TEST_FAILING_CHANNEL_H

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failing_sends;
static int failing_reads;

static int fails(int *left, int number)
{
    if (*left == 0)
        return 0;
    --*left;
    errno = number;
    return 1;
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    return fails(&failing_sends, ENOBUFS) ? -1 : syscall(SYS_sendmsg, descriptor, message, flags);
}

ssize_t read(int descriptor, void *bytes, size_t count)
{
    return fails(&failing_reads, ENOMEM) ? -1 : syscall(SYS_read, descriptor, bytes, count);
}

#endif
