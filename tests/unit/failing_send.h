/*
 * Makes the next calls of send() in this process fail, as if the kernel had no memory for a message.
 */
#ifndef AUTOTUNE_TEST_FAILING_SEND_H
#define AUTOTUNE_TEST_FAILING_SEND_H

#include <errno.h>
#include <sys/socket.h>

static int failing_sends;

ssize_t send(int descriptor, const void *bytes, size_t count, int flags)
{
    if (failing_sends == 0)
        return sendto(descriptor, bytes, count, flags, NULL, 0);
    failing_sends--;
    errno = ENOBUFS;
    return -1;
}

#endif
