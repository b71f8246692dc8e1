#include "tune/gpu_lock.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { POLL_NS = 100 * 1000 * 1000 };

/* Whether the lock is ours now; where it is, says so in the file. */
static bool take(const struct gpu_lock *lock)
{
    char text[32];
    int status;
    while ((status = flock(lock->file, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR)
        continue;
    if (status != 0 && errno == EWOULDBLOCK)
        return false;
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (length > 0 && ftruncate(lock->file, 0) == 0)
        (void)!pwrite(lock->file, text, (size_t)length, 0); /* only for people */
    return true;
}

static long read_owner(const struct gpu_lock *lock)
{
    char text[32] = "";
    ssize_t length = pread(lock->file, text, sizeof text - 1, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

int gpu_lock_try(struct gpu_lock *lock, const char *folder, const char *uuid, bool *held,
                 struct error *error)
{
    *lock = (struct gpu_lock){.file = -1};
    *held = false;
    char *path = alloc_format("%s/lock/%s", folder, uuid);
    int status = write_file_make_folders(path, error);
    if (status == 0)
        lock->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (status == 0 && lock->file < 0)
        status = error_set_errno(error, ERROR_RECORD, "lock '%s' cannot be made", path);
    free(path);
    if (status != 0)
        return status;
    *held = take(lock);
    if (!*held)
        lock->owner = read_owner(lock);
    return 0;
}

int gpu_lock_wait(struct gpu_lock *lock, struct error *error)
{
    while (!take(lock)) {
        (void)interrupt_poll(NULL, 0, POLL_NS);
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED,
                             "interrupted while another run was using the GPU");
    }
    return 0;
}

void gpu_lock_release(struct gpu_lock *lock)
{
    if (lock->file >= 0)
        (void)close(lock->file);
    lock->file = -1;
}
