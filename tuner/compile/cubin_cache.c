#include "compile/cubin_cache.h"

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "compile/cubin_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { USE_RESOLUTION_S = 60 * 60, ENTRY_BYTES_MAX = 512 << 20 };

/* --- names ------------------------------------------------------------------------------------ */

void cubin_cache_key(const char *source_hash, const char *const *options, size_t option_count,
                     const char *arch, const char *build, char key[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_add_text(hash, CUBIN_ENTRY_FORMAT);
    hash_add_text(hash, source_hash);
    hash_add_text(hash, arch);
    hash_add_text(hash, build);
    for (size_t i = 0; i < option_count; i++)
        if (strncmp(options[i], "-I", 2) != 0)
            hash_add_text(hash, options[i]);
    hash_finish(hash, key);
}

/* The value of an environment variable, NULL where it is not set or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

char *cubin_cache_default_folder(void)
{
    const char *folder = environment("AUTOTUNE_CACHE");
    if (folder != NULL)
        return alloc_string(folder);
    folder = environment("XDG_CACHE_HOME");
    if (folder != NULL && folder[0] == '/') /* relative ones do not count, says its specification */
        return alloc_format("%s/autotune", folder);
    const char *home = environment("HOME");
    const struct passwd *user = home == NULL ? getpwuid(getuid()) : NULL;
    if (user != NULL)
        home = user->pw_dir;
    return alloc_format("%s/.cache/autotune", home != NULL ? home : ".");
}

int cubin_cache_check_folder(const char *folder, struct error *error)
{
    if (json_text_is_utf8(folder))
        return 0;
    return error_set(error, ERROR_CONFIG,
                     "the cubin cache's folder '%s' is not UTF-8; rename it, or set "
                     "AUTOTUNE_CACHE to another",
                     folder);
}

char *cubin_cache_path(const char *folder, const char *key)
{
    return alloc_format("%s/cubin/%.2s/%s", folder, key, key);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* An open entry, whole in memory. */
struct entry {
    const char *path;
    int file;
    char *bytes;
    size_t count;
    time_t used; /* the last time, as far as its file says */
};

/* -1 with errno. */
static int read_entry(struct entry *entry)
{
    struct stat information;
    if (fstat(entry->file, &information) != 0)
        return -1;
    entry->used = information.st_mtime;
    if (!S_ISREG(information.st_mode) || information.st_size > ENTRY_BYTES_MAX)
        return 0; /* empty: damaged */
    size_t wanted = (size_t)information.st_size;
    entry->bytes = alloc_resize(NULL, wanted, 1);
    while (entry->count < wanted) {
        ssize_t got = read(entry->file, entry->bytes + entry->count, wanted - entry->count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0) /* somebody cut it */
            break;
        entry->count += (size_t)got;
    }
    return 0;
}

/* Sets the entry's modification time to now, but only once per hour, so that it costs next to
 * nothing. A cache that cannot be written stays as it is. */
static void mark_used(const struct entry *entry)
{
    if (time(NULL) - entry->used > USE_RESOLUTION_S)
        (void)futimens(entry->file, NULL);
}

/* Makes way for the next write. Where that fails, the write replaces a file, or says why it cannot. */
static void discard_entry(const char *path)
{
    if (remove(path) == 0 || errno == ENOENT)
        return;
    char *aside = alloc_format("%s.damaged", path); /* a folder that is not empty */
    (void)rename(path, aside);
    free(aside);
}

/* Whether open() failed because of what is at the path: a socket, a link to itself, or a file that may
 * not be read. It is removed, because a new file would get the old one's permissions. */
static bool is_unusable(int code)
{
    return code == ENXIO || code == ELOOP || code == EACCES;
}

static int read_path(const char *path, bool whole, struct compilation *compilation, bool *found,
                     struct error *error)
{
    *compilation = (struct compilation){0};
    *found = false;
    struct entry entry = {.path = path, .file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (entry.file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (entry.file < 0 && is_unusable(errno)) {
        discard_entry(path);
        return 0;
    }
    if (entry.file < 0)
        return error_set_errno(error, ERROR_RECORD, "cannot open cache entry '%s'", path);
    int status = 0;
    if (read_entry(&entry) != 0) {
        status = error_set_errno(error, ERROR_RECORD, "cannot read cache entry '%s'", path);
    } else if (cubin_entry_parse(entry.path, entry.bytes, entry.count, whole, compilation)) {
        *found = true;
        mark_used(&entry);
    } else {
        discard_entry(path);
    }
    (void)close(entry.file); /* only read from */
    free(entry.bytes);
    return status;
}

int cubin_cache_read(const char *path, struct compilation *compilation, bool *found,
                     struct error *error)
{
    return read_path(path, true, compilation, found, error);
}

bool cubin_cache_parse(const char *name, char *bytes, size_t count, bool whole,
                       struct compilation *compilation)
{
    return cubin_entry_parse(name, bytes, count, whole, compilation);
}

int cubin_cache_require(const char *path, struct compilation *compilation, struct error *error)
{
    bool found = false;
    int status = cubin_cache_read(path, compilation, &found, error);
    if (status == 0 && (!found || compilation->cubin == NULL)) {
        compilation_release(compilation);
        status = error_set(error, ERROR_RECORD,
                           "cubin '%s' is missing or damaged; run again to recompile it", path);
    }
    return status;
}

int cubin_cache_check(const char *path, struct compilation *compilation, bool *found,
                      struct error *error)
{
    return read_path(path, false, compilation, found, error);
}

/* --- writing ---------------------------------------------------------------------------------- */

int cubin_cache_write(const char *path, const struct compilation *compilation, struct error *error)
{
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    cubin_entry_print(file.stream, path, compilation);
    return write_file_commit(&file, WRITE_FILE_CACHED, error);
}

char *cubin_cache_entry(const char *name, const struct compilation *compilation, size_t *count)
{
    char *bytes = NULL;
    FILE *memory = open_memstream(&bytes, count);
    if (memory == NULL)
        abort(); /* out of memory, as in alloc.h */
    cubin_entry_print(memory, name, compilation);
    if (fclose(memory) != 0)
        abort();
    return bytes;
}
