#include "tune/storage.h"

#include "base/file_system.h"
#include "tune/gpu_lock.h"

#include <stdlib.h>

int storage_check_record(const char *results, bool allowed, struct error *error)
{
    const char *network = file_system_network(results);
    if (network == NULL || allowed)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "the record would be in '%s', which is on a network file system (%s): two "
                     "machines that write to it can damage it, and every result waits for the "
                     "server; choose a folder on a local disk with --results, or allow it with "
                     "--record-on-network",
                     results, network);
}

void storage_notice(const char *results, const char *cache,
                    void (*notice)(void *user, const struct error *notice), void *user)
{
    char *locks = gpu_lock_folder();
    const struct {
        const char *what, *folder, *cost;
    } places[] = {
        {"the record is", results,
         "every result waits for the server, and only one machine at a time may write to it"},
        {"the cubin cache is", cache,
         "every compiled kernel is written to the server and read from it; set AUTOTUNE_CACHE to a "
         "folder on a local disk"},
        {"the locks of GPUs are", locks,
         "a lock may outlive a crash, and some servers grant it to everybody; set "
         "AUTOTUNE_LOCK_FOLDER to a folder on a local disk"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct error text;
        const char *network = file_system_network(places[i].folder);
        if (network == NULL)
            continue;
        (void)error_set(&text, ERROR_OK, "%s in '%s', which is on a network file system (%s): %s",
                        places[i].what, places[i].folder, network, places[i].cost);
        notice(user, &text);
    }
    free(locks);
}
