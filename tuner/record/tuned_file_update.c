#include "base/path.h"
#include "base/write_file.h"
#include "record/tuned_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Waits for the folder of `path`, which is there. Returns a descriptor to close, or -1 where the
 * file system knows no such locks: then the last writer wins. */
static int lock_folder_of(const char *path)
{
    char *folder = path_folder(path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    while (descriptor >= 0 && flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        continue;
    return descriptor;
}

/* An incomplete entry does not replace a complete one, unless that is of another version of the
 * template, which applications would refuse. */
static bool accepts(const struct tuned_file *tuned, const struct tuned_entry *entry)
{
    size_t i = tuned_file_find(tuned, entry);
    return !entry->incomplete || i == tuned->count || tuned->entries[i].incomplete ||
           strcmp(tuned->entries[i].template_hash, entry->template_hash) != 0;
}

int tuned_file_update(const char *path, struct tuned_entry *entries, size_t count, size_t *taken,
                      struct error *error)
{
    struct tuned_file tuned = {0};
    int lock = -1;
    *taken = 0;
    int result = write_file_make_folders(path, error);
    if (result != 0)
        goto done;
    lock = lock_folder_of(path);
    result = tuned_file_read(path, &tuned, error);
    if (result != 0)
        goto done;
    for (size_t i = 0; i < count; i++) {
        if (!accepts(&tuned, &entries[i]))
            continue;
        tuned_file_merge(&tuned, &entries[i]);
        ++*taken;
    }
    if (*taken > 0)
        result = tuned_file_write(path, &tuned, error);
done:
    if (lock >= 0)
        (void)close(lock);
    for (size_t i = 0; i < count; i++)
        tuned_entry_release(&entries[i]);
    tuned_file_release(&tuned);
    return result;
}
