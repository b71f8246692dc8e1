#include "base/file_system.h"
#include "base/interrupt.h"
#include "base/path.h"
#include "base/write_file.h"
#include "record/tuned_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
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

/* --- what turns out to be wrong --- */

/* How the study refutes a configuration; NULL if it does not. */
static const struct result *find_refutation(const struct study *study,
                                            const struct bindings *parameters)
{
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *run = study_run(study, &study->results[i]);
        if (result_is_refuted(run) && bindings_alike(&study->results[i].parameters, parameters))
            return run;
    }
    return NULL;
}

/* The same for what an entry ships for the study's problem. Sets `*parameters`, which is empty, to the
 * configuration. */
static const struct result *refute_choices(const struct study *study,
                                           const struct tuned_entry *entry,
                                           struct bindings *parameters)
{
    const struct result *run = NULL;
    for (size_t i = 0; i < tuned_entry_count(entry) && run == NULL; i++) {
        if (entry->cover != NULL && !tuned_entry_allows(entry, i, &study->problem))
            continue;
        bindings_release(parameters);
        *parameters = tuned_entry_parameters(entry, i);
        run = find_refutation(study, parameters);
    }
    return run;
}

static bool is_of_subject(const struct tuned_entry *entry, const struct study *study)
{
    const struct gpu *gpu = &study->environment.gpu;
    const struct tuned_entry measured = {.gpu = (char *)(uintptr_t)gpu->name,
                                         .arch = (char *)(uintptr_t)gpu->arch,
                                         .sm_count = (int)gpu->attributes[GPU_sm_count]};
    return strcmp(entry->template_hash, study->template_hash) == 0 &&
           tuned_entry_same_gpu(entry, &measured) &&
           (entry->cover != NULL || bindings_alike(&entry->problem, &study->problem));
}

/* Whether one of the studies refutes the entry; says so in `notice`. */
static bool is_refuted(const char *path, const struct tuned_entry *entry,
                       const struct study *studies, size_t count, struct error *notice)
{
    const struct result *run = NULL;
    struct bindings parameters = {0};
    size_t i = 0;
    for (; i < count && run == NULL; i++)
        if (is_of_subject(entry, &studies[i]))
            run = refute_choices(&studies[i], entry, &parameters);
    if (run == NULL) {
        bindings_release(&parameters);
        return false;
    }
    char *problem = bindings_text(&studies[i - 1].problem);
    char *variant = bindings_text(&parameters);
    bindings_release(&parameters);
    (void)error_set(notice, ERROR_NOTHING_VALID,
                    "'%s' no longer has the %s of '%s' for %.256s: %.256s: %s%s%.512s%s", path,
                    entry->cover != NULL ? "cover" : "configuration", entry->kernel,
                    problem[0] != '\0' ? problem : "its problem", variant,
                    outcome_name(run->outcome), run->reason != NULL ? ": " : "",
                    run->reason != NULL ? run->reason : "",
                    entry->cover != NULL ? "; `autotune cover` makes another" : "");
    free(variant);
    free(problem);
    return true;
}

static bool any_refutes(const struct study *studies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < studies[i].result_count; j++)
            if (result_is_refuted(&studies[i].results[j]))
                return true;
    return false;
}

int tuned_file_refute(const char *path, const struct study *studies, size_t count,
                      void (*notice)(void *user, const struct error *notice), void *user,
                      struct error *error)
{
    struct tuned_file tuned = {0};
    struct error found;
    size_t kept = 0;
    int lock = -1;
    if (!any_refutes(studies, count) || access(path, F_OK) != 0)
        return 0;
    int status = tuned_file_lock(path, &lock, error);
    if (status == 0)
        status = tuned_file_read(path, &tuned, error);
    size_t before = tuned.count;
    for (size_t i = 0; i < before; i++) {
        struct tuned_entry *entry = &tuned.entries[i];
        if (is_refuted(path, entry, studies, count, &found)) {
            notice(user, &found);
            tuned_entry_release(entry);
        } else {
            tuned.entries[kept++] = *entry;
        }
    }
    tuned.count = kept;
    if (status == 0 && kept < before)
        status = tuned_file_write(path, &tuned, error);
    if (lock >= 0)
        (void)close(lock);
    tuned_file_release(&tuned);
    return status;
}
