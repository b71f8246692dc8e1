#include "base/write_file.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    int number = errno;
    struct stat status;
    if (stat(path, &status) != 0) {
        errno = number; /* report why mkdir() failed, not why stat() did */
        return false;
    }
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
}

int write_file_make_folders(const char *path, struct error *error)
{
    char *folder = path_folder(path);
    int result = 0;
    for (char *end = folder + 1; result == 0; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char separator = *end;
        *end = '\0';
        if (!make_folder(folder))
            result = error_set_errno(error, ERROR_RECORD, "cannot create folder '%s'", folder);
        *end = separator;
        if (separator == '\0')
            break;
    }
    free(folder);
    return result;
}

/* Creates a temporary file beside `path` and sets `*temporary` to its path. Returns the descriptor,
 * or -1 with errno set. */
static int open_temporary(const char *path, char **temporary)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t digits;
        if (getrandom(&digits, sizeof digits, 0) != (ssize_t)sizeof digits)
            continue;
        *temporary = alloc_format("%s.%016" PRIx64 ".tmp", path, digits);
        int descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0)
            return descriptor;
        free(*temporary);
        *temporary = NULL;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static void release(struct write_file *file)
{
    (void)close(file->descriptor);
    free(file->text);
    free(file->path);
    free(file->temporary);
    *file = (struct write_file){0};
}

int write_file_begin(struct write_file *file, const char *path, struct error *error)
{
    *file = (struct write_file){0};
    if (write_file_make_folders(path, error) != 0)
        return ERROR_RECORD;
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return error_set(error, ERROR_RECORD, "'%s' is not a regular file; choose another path",
                         path);
    file->path = exists ? realpath(path, NULL) : NULL;
    if (file->path == NULL)
        file->path = alloc_string(path);
    file->descriptor = open_temporary(file->path, &file->temporary);
    if (file->descriptor < 0) {
        int result = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", path);
        release(file);
        return result;
    }
    if (exists)
        (void)fchmod(file->descriptor, old.st_mode & 07777); /* some file systems refuse this */
    file->stream = alloc_stream(&file->text, &file->length);
    return 0;
}

/* Waits until the folder's entries are on disk. Some file systems do not support it (EINVAL). */
static bool flush_folder(const char *path)
{
    char *folder = path_folder(path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0)
        return errno == EACCES; /* the folder may be writable but not readable */
    bool flushed = fsync(descriptor) == 0 || errno == EINVAL;
    int number = errno;
    (void)close(descriptor);
    errno = number;
    return flushed;
}

/* Of a disk that gets full, write() takes a part before it says so. */
static bool write_all(const struct write_file *file)
{
    for (size_t written = 0; written < file->length;) {
        ssize_t step = write(file->descriptor, file->text + written, file->length - written);
        if (step >= 0)
            written += (size_t)step;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

static bool is_unchanged(const struct write_file *file)
{
    char *old;
    size_t length = 0;
    bool same = read_file(file->path, &old, &length, NULL) == 0 && length == file->length &&
                memcmp(old, file->text, length) == 0;
    free(old);
    return same;
}

int write_file_commit(struct write_file *file, enum write_file_durability durability,
                      struct error *error)
{
    bool durable = durability == WRITE_FILE_DURABLE;
    int result = 0;
    bool complete = ferror(file->stream) == 0;
    complete = fclose(file->stream) == 0 && complete; /* otherwise memory ran out: errno */
    if (complete && is_unchanged(file)) {
        (void)unlink(file->temporary);
    } else if (!complete || !write_all(file) || (durable && fsync(file->descriptor) != 0) ||
               rename(file->temporary, file->path) != 0) {
        result = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", file->path);
        (void)unlink(file->temporary);
    } else if (durable && !flush_folder(file->path)) {
        result = error_set_errno(error, ERROR_RECORD, "wrote '%s' but cannot flush its folder",
                                 file->path);
    }
    release(file);
    return result;
}

void write_file_abandon(struct write_file *file)
{
    (void)fclose(file->stream);
    (void)unlink(file->temporary);
    release(file);
}

int write_file_finish(struct write_file *file, int status, struct error *error)
{
    if (status == 0)
        return write_file_commit(file, WRITE_FILE_DURABLE, error);
    write_file_abandon(file);
    return status;
}

int write_file_bytes(const char *path, const void *bytes, size_t count, struct error *error)
{
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    (void)fwrite(bytes, 1, count, file.stream); /* a failure shows at the commit */
    return write_file_commit(&file, WRITE_FILE_CACHED, error);
}

static int remove_entry(const char *path, const struct stat *information, int type,
                        struct FTW *place)
{
    (void)information;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void write_file_remove_folder(const char *path)
{
    enum { DESCRIPTORS = 16 };
    (void)nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
