/*
 * An LD_PRELOAD library that makes file-system calls fail on purpose:
 *
 *     FAULTFS_FOLDER=/tmp/x FAULTFS_STATE=/tmp/state FAULTFS=17:ENOSPC LD_PRELOAD=…/libfaultfs.so autotune …
 *
 * Calls on files below FAULTFS_FOLDER are counted in FAULTFS_STATE over all processes; number 17
 * fails (`17+`: and all after it). Without FAULTFS they are only counted. The calls are those of the
 * table at the end. libc's own calls do not come by here, so that for streams fopen() and fflush()
 * stand for the open() and write() behind them.
 *
 * FAULTFS_NETWORK=cache:6969 says that statfs() of a path with `cache` in it reports that type, in hex.
 * FAULTFS_NO_LOCKS=1: flock() fails as on a file system without locks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

struct tuning_job {
    uint64_t first, last;
    int error;
    const char *folder;
    uint64_t *counter;
};

static const struct tuning_job *plan(void)
{
    static struct tuning_job plan;
    static bool read_once;
    if (read_once)
        return &plan;
    read_once = true;
    const char *text = getenv("FAULTFS");
    const char *state = getenv("FAULTFS_STATE");
    plan.folder = getenv("FAULTFS_FOLDER");
    if (text != NULL) {
        char *end;
        plan.first = plan.last = strtoull(text, &end, 10);
        if (*end == '+') {
            plan.last = UINT64_MAX;
            end++;
        }
        plan.error = strcmp(end, ":ENOSPC") == 0   ? ENOSPC
                     : strcmp(end, ":EACCES") == 0 ? EACCES
                                                   : EIO;
    }
    long file = state != NULL
                    ? syscall(SYS_openat, AT_FDCWD, state, O_RDWR | O_CREAT | O_CLOEXEC, 0666)
                    : -1;
    if (file >= 0 && syscall(SYS_ftruncate, file, sizeof *plan.counter) == 0) {
        long page = syscall(SYS_mmap, NULL, sizeof *plan.counter, PROT_READ | PROT_WRITE,
                            MAP_SHARED, file, 0);
        plan.counter = page == -1 ? NULL : (uint64_t *)page;
    }
    return &plan;
}

static bool is_ours(const char *path)
{
    const char *folder = plan()->folder;
    char real[4096];
    if (folder == NULL || path == NULL)
        return false;
    if (path[0] != '/') {
        if (getcwd(real, sizeof real) == NULL)
            return false;
        path = real;
    }
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Counts a call on `path`; true, with errno, where it is to fail. */
static bool fails(const char *path)
{
    int number = errno;
    const struct tuning_job *now = plan();
    if (now->counter == NULL || !is_ours(path)) {
        errno = number;
        return false;
    }
    uint64_t count = __atomic_add_fetch(now->counter, 1, __ATOMIC_SEQ_CST);
    bool fault = now->first > 0 && count >= now->first && count <= now->last;
    errno = fault ? now->error : number;
    return fault;
}

static bool fails_on(int file)
{
    char link[64];
    char path[4096];
    if (file < 0)
        return false;
    int number = errno;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = number;
    if (length < 0 || path[0] != '/')
        return false;
    path[length] = '\0';
    return fails(path);
}

/* The function behind ours. */
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define NEXT(name, ...)                                                                            \
    __typeof__(&name) function;                                                                    \
    void *symbol = next(#name);                                                                    \
    memcpy(&function, &symbol, sizeof symbol);                                                     \
    return function(__VA_ARGS__)

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;             \
        va_end(list);                                                                              \
        if (fails(path))                                                                           \
            return -1;                                                                             \
        NEXT(name, path, flags, mode);                                                             \
    }
OPEN(open)
OPEN(open64)

#define ON_PATH(type, failure, name, parameters, path, ...)                                        \
    type name parameters                                                                           \
    {                                                                                              \
        if (fails(path))                                                                           \
            return failure;                                                                        \
        NEXT(name, __VA_ARGS__);                                                                   \
    }
#define ON_FILE(type, failure, name, parameters, file, ...)                                        \
    type name parameters                                                                           \
    {                                                                                              \
        if (fails_on(file))                                                                        \
            return failure;                                                                        \
        NEXT(name, __VA_ARGS__);                                                                   \
    }

ON_PATH(FILE *, NULL, fopen, (const char *path, const char *mode), path, path, mode)
ON_PATH(FILE *, NULL, fopen64, (const char *path, const char *mode), path, path, mode)
ON_PATH(int, -1, rename, (const char *from, const char *to), from, from, to)
ON_PATH(int, -1, mkdir, (const char *path, mode_t mode), path, path, mode)
ON_FILE(int, EOF, fflush, (FILE * stream), stream != NULL ? fileno(stream) : -1, stream)
ON_FILE(ssize_t, -1, write, (int file, const void *bytes, size_t count), file, file, bytes, count)
ON_FILE(ssize_t, -1, pwrite, (int file, const void *bytes, size_t count, off_t at), file, file,
        bytes, count, at)
ON_FILE(ssize_t, -1, pwrite64, (int file, const void *bytes, size_t count, off64_t at), file, file,
        bytes, count, at)
ON_FILE(int, -1, fsync, (int file), file, file)
ON_FILE(int, -1, fdatasync, (int file), file, file)
ON_FILE(int, -1, ftruncate, (int file, off_t size), file, file, size)
ON_FILE(int, -1, ftruncate64, (int file, off64_t size), file, file, size)
ON_FILE(void *, MAP_FAILED, mmap,
        (void *address, size_t size, int protection, int flags, int file, off_t at), file, address,
        size, protection, flags, file, at)
ON_FILE(void *, MAP_FAILED, mmap64,
        (void *address, size_t size, int protection, int flags, int file, off64_t at), file,
        address, size, protection, flags, file, at)

int flock(int file, int operation)
{
    if (getenv("FAULTFS_NO_LOCKS") != NULL) {
        errno = ENOLCK;
        return -1;
    }
    NEXT(flock, file, operation);
}

int statfs(const char *path, struct statfs *system)
{
    const char *network = getenv("FAULTFS_NETWORK");
    const char *type = network != NULL ? strrchr(network, ':') : NULL;
    char part[256] = "";
    __typeof__(&statfs) function;
    void *symbol = next("statfs");
    memcpy(&function, &symbol, sizeof symbol);
    int status = function(path, system);
    if (type != NULL)
        (void)snprintf(part, sizeof part, "%.*s", (int)(type - network), network);
    if (status == 0 && part[0] != '\0' && strstr(path, part) != NULL)
        system->f_type = (__typeof__(system->f_type))strtoul(type + 1, NULL, 16);
    return status;
}
