#include "tune/device_lock.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/interrupt.h"
#include "base/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_NS = 100 * 1000 * 1000 };

char *device_lock_folder(void)
{
    const mode_t shared = S_IWOTH | S_ISVTX;
    const char *stated = getenv("AUTOTUNE_LOCK_FOLDER");
    struct stat information;
    if (stated != NULL && stated[0] != '\0')
        return alloc_string(stated);
    /* by its mode, not by what this user may do: all users have to choose the same folder */
    bool usable = stat("/run/lock", &information) == 0 && S_ISDIR(information.st_mode) &&
                  (information.st_mode & shared) == shared;
    return alloc_string(usable ? "/run/lock" : "/tmp");
}

/* Opens the file; creates it, for all users, if it does not exist. Returns -1 with errno set. Apart,
 * because Linux does not let a user open another one's file in such a folder with O_CREAT. */
static int open_file(const char *path)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    for (;;) {
        int file = open(path, O_RDWR | flags);
        if (file >= 0 || errno != ENOENT)
            return file;
        file = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
        if (file >= 0)
            (void)fchmod(file, 0666); /* whatever the umask */
        if (file >= 0 || errno != EEXIST)
            return file;
    }
}

/* 1 if the lock is ours now, 0 if another process holds it, or ERROR_RECORD. */
static int take(struct device_lock *lock, struct error *error)
{
    struct stat information;
    char owner[32] = ""; /* only for people */
    int file = open_file(lock->path);
    if (file >= 0 && (fstat(file, &information) != 0 || !S_ISREG(information.st_mode) ||
                      information.st_nlink > 1)) {
        (void)close(file);
        return error_set(error, ERROR_RECORD,
                         "lock '%s' is not a file of its own; remove it, or choose another "
                         "folder with AUTOTUNE_LOCK_FOLDER",
                         lock->path);
    }
    if (file < 0 && error_is_file_limit(errno))
        return error_set_errno(error, ERROR_RECORD, "cannot open lock '%s'", lock->path);
    if (file < 0)
        return error_set(error, ERROR_RECORD,
                         "cannot open lock '%s' (%s); remove it, or choose another folder with "
                         "AUTOTUNE_LOCK_FOLDER",
                         lock->path, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        lock->owner = pread(file, owner, sizeof owner - 1, 0) > 0 ? strtol(owner, NULL, 10) : 0;
        (void)close(file);
        return 0;
    }
    int length = snprintf(owner, sizeof owner, "%ld\n", (long)getpid());
    if (length > 0 && ftruncate(file, 0) == 0)
        (void)!pwrite(file, owner, (size_t)length, 0);
    lock->file = file;
    return 1;
}

int device_lock_try(struct device_lock *lock, const char *uuid, bool *held, struct error *error)
{
    char *folder = device_lock_folder();
    *lock =
        (struct device_lock){.file = -1, .path = alloc_format("%s/autotune-%s.lock", folder, uuid)};
    free(folder);
    int status = write_file_make_folders(lock->path, error);
    if (status == 0)
        status = take(lock, error);
    *held = status == 1;
    return status < 0 ? status : 0;
}

int device_lock_wait(struct device_lock *lock, struct error *error)
{
    int status;
    while ((status = take(lock, error)) == 0) {
        (void)interrupt_poll(NULL, 0, POLL_NS);
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED,
                             "interrupted while another run was using the GPU");
    }
    return status < 0 ? status : 0;
}

void device_lock_release(struct device_lock *lock)
{
    if (lock->file >= 0)
        (void)close(lock->file);
    free(lock->path);
    *lock = (struct device_lock){.file = -1};
}

/* --- the lock on a GPU of another machine --- */

enum { POLL_MS = 100, ANSWER_TIMEOUT_S = 60 };

/* --- the worker --- */

static bool has_closed(const struct channel *channel, int timeout_ms)
{
    struct pollfd end = {.fd = channel->in, .events = POLLIN};
    return poll(&end, 1, timeout_ms) != 0; /* nothing is ever sent */
}

/* Sends whether it is held, which `held` is set to; or the error. */
static int try_lock(struct channel *channel, struct device_lock *lock, const char *uuid, bool *held,
                    struct error *error)
{
    int status = device_lock_try(lock, uuid, held, error);
    if (status != 0) {
        (void)channel_send(channel, message_from_error(error), NULL);
        return status;
    }
    return channel_send(
        channel,
        *held ? json_pack("{s:s}", "event", "held")
              : json_pack("{s:s, s:I}", "event", "busy", "owner", (json_int_t)lock->owner),
        error);
}

int lock_worker_run(struct channel *channel, const char *uuid, struct error *error)
{
    struct device_lock lock = {.file = -1};
    bool held;
    int status = try_lock(channel, &lock, uuid, &held, error);
    while (status == 0 && !held && !has_closed(channel, POLL_MS)) {
        device_lock_release(&lock);
        status = device_lock_try(&lock, uuid, &held, error);
        if (status == 0 && held)
            status = channel_send(channel, json_pack("{s:s}", "event", "held"), error);
    }
    if (status == 0 && held)
        (void)has_closed(channel, -1);
    device_lock_release(&lock);
    return status;
}

/* --- the coordinator --- */

int lock_worker_begin(struct worker *worker, struct node *node, const char *uuid,
                      struct error *error)
{
    return worker_start(worker, node, "lock", uuid, error);
}

int lock_worker_take(struct worker *worker, bool wait, bool *held, long *owner, struct error *error)
{
    int64_t timeout_ns = (int64_t)(worker_timeout_s(ANSWER_TIMEOUT_S) * 1e9);
    json_t *message = NULL;
    bool late;
    int status = channel_receive_until(
        &worker->channel, wait ? EVENT_NEVER : clock_ns() + timeout_ns, &late, &message, error);
    if (status == 1)
        status = message_error(message, error);
    else if (status == 0)
        status = error_set(error, ERROR_WORKER, "the worker that locks a GPU %s",
                           late ? "does not answer" : "has ended");
    const char *event = json_string_value(json_object_get(message, "event"));
    *held = event != NULL && strcmp(event, "held") == 0;
    *owner = (long)json_integer_value(json_object_get(message, "owner"));
    json_decref(message);
    if (status != 0)
        (void)worker_stop(worker);
    if (status == ERROR_INTERRUPTED)
        (void)error_set(error, ERROR_INTERRUPTED,
                        "interrupted while another run was using the GPU");
    return status;
}
