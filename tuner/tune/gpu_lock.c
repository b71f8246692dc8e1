#include "tune/gpu_lock.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_NS = 100 * 1000 * 1000 };

char *gpu_lock_folder(void)
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

/* Whether the path still leads to the open file: who held the lock before may have removed it. */
static bool is_current(int file, const char *path)
{
    struct stat opened;
    struct stat there;
    return fstat(file, &opened) == 0 && lstat(path, &there) == 0 && opened.st_dev == there.st_dev &&
           opened.st_ino == there.st_ino;
}

static void write_owner(int file)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (length > 0 && ftruncate(file, 0) == 0)
        (void)!pwrite(file, text, (size_t)length, 0); /* only for people */
}

static long read_owner(int file)
{
    char text[32] = "";
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

/* 1 if the lock is ours now, 0 if another process holds it, or ERROR_RECORD. */
static int take(struct gpu_lock *lock, struct error *error)
{
    struct stat information;
    for (;;) {
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
        bool ours = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (ours && is_current(file, lock->path)) {
            write_owner(file);
            lock->file = file;
            return 1;
        }
        if (!ours)
            lock->owner = read_owner(file);
        (void)close(file);
        if (!ours)
            return 0;
    }
}

int gpu_lock_try(struct gpu_lock *lock, const char *uuid, bool *held, struct error *error)
{
    char *folder = gpu_lock_folder();
    *lock =
        (struct gpu_lock){.file = -1, .path = alloc_format("%s/autotune-%s.lock", folder, uuid)};
    free(folder);
    int status = write_file_make_folders(lock->path, error);
    if (status == 0)
        status = take(lock, error);
    *held = status == 1;
    return status < 0 ? status : 0;
}

int gpu_lock_wait(struct gpu_lock *lock, struct error *error)
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

void gpu_lock_release(struct gpu_lock *lock)
{
    if (lock->file >= 0) {
        if (is_current(lock->file, lock->path))
            (void)unlink(lock->path);
        (void)close(lock->file);
    }
    free(lock->path);
    *lock = (struct gpu_lock){.file = -1};
}
