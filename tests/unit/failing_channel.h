/*
 * Makes the next calls of send() or read() in this process fail, as if the kernel had no memory for them.
 */
#ifndef AUTOTUNE_TEST_FAILING_CHANNEL_H
#define AUTOTUNE_TEST_FAILING_CHANNEL_H

#include <errno.h>
#include <stddef.h>
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

ssize_t send(int descriptor, const void *bytes, size_t count, int flags)
{
    return fails(&failing_sends, ENOBUFS)
               ? -1
               : syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
}

ssize_t read(int descriptor, void *bytes, size_t count)
{
    return fails(&failing_reads, ENOMEM) ? -1 : syscall(SYS_read, descriptor, bytes, count);
}

#endif
