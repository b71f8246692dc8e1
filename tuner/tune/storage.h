/*
 * Where a run keeps its files, if that is a network file system (base/file_system.h): what is refused,
 * and what the user is told that it costs.
 */
#ifndef AUTOTUNE_STORAGE_H
#define AUTOTUNE_STORAGE_H

#include "base/error.h"

#include <stdbool.h>

/* ERROR_USAGE if the record in the folder `results` is or would be on a network file system, unless that
 * is `allowed`; else 0. */
int storage_check_record(const char *results, bool allowed, struct error *error);

/* Says what it costs if the record, the cache or the locks of GPUs are on a network file system: one
 * notice for each that is. */
void storage_notice(const char *results, const char *cache,
                    void (*notice)(void *user, const struct error *notice), void *user);

#endif
