#include "base/file_lock.h"
#include "base/interrupt.h"
#include "base/path.h"
#include "base/write_file.h"
#include "record/tuned_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOCK_TIMEOUT_MS = 10000 };

int tuned_file_lock(const char *path, int *lock, struct error *error)
{
    char *target = realpath(path, NULL); /* writing replaces the file that a link names */
    char *folder = path_folder(target != NULL ? target : path);
    int status = 0;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock >= 0 && !file_lock_take(*lock, LOCK_EX, LOCK_TIMEOUT_MS))
        status =
            interrupt_requested()
                ? error_set(error, ERROR_INTERRUPTED,
                            "interrupted while another process had locked folder '%s'", folder)
                : error_set(error, ERROR_RECORD,
                            "'%s' cannot be written: another process has locked its folder for "
                            "%d s; `lslocks` names it",
                            path, LOCK_TIMEOUT_MS / 1000);
    free(folder);
    free(target);
    return status;
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
    result = tuned_file_lock(path, &lock, error);
    if (result != 0)
        goto done;
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
