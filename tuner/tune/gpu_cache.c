#include "tune/gpu_cache.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/open_regular.h"
#include "base/write_file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRY_FORMAT "2" /* to be raised whenever a description says the same in another way */

static bool add_file(struct hash *hash, const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    hash_add(hash, text, fread(text, 1, sizeof text, file));
    (void)fclose(file); /* opened for reading: nothing to lose */
    return true;
}

/* Every GPU's model, UUID and place. */
static bool add_gpus(struct hash *hash)
{
    glob_t files;
    bool found = glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &files) == 0;
    for (size_t i = 0; found && i < files.gl_pathc; i++)
        found = add_file(hash, files.gl_pathv[i]);
    globfree(&files);
    return found;
}

/* The entry's file, a new string; NULL where the kernel driver's files are not there. */
static char *entry_path(const char *folder, int ordinal)
{
    /* which library answers, and which of the GPUs it shows in which order */
    static const char *const variables[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                                            "CUDA_DEVICE_ORDER"};
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    hash_add_text(hash, ENTRY_FORMAT);
    bool found = add_file(hash, "/proc/driver/nvidia/version") && add_gpus(hash);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        hash_add_text(hash, value != NULL ? value : "");
    }
    hash_add(hash, &ordinal, sizeof ordinal);
    hash_finish(hash, digits);
    return found ? alloc_format("%s/gpu/%s.json", folder, digits) : NULL;
}

bool gpu_cache_read(const char *folder, int ordinal, struct gpu *gpu, bool *several)
{
    char *path = entry_path(folder, ordinal);
    FILE *file = path != NULL ? open_regular(path) : NULL;
    json_t *object = file != NULL ? json_loadf(file, 0, NULL) : NULL;
    if (file != NULL)
        (void)fclose(file); /* only read */
    bool known = object != NULL && gpu_from_json(object, gpu, NULL) == 0;
    *several = json_is_true(json_object_get(object, "several"));
    json_decref(object);
    free(path);
    return known;
}

void gpu_cache_write(const char *folder, int ordinal, const struct gpu *gpu, bool several)
{
    struct write_file file;
    char *path = entry_path(folder, ordinal);
    if (path != NULL && write_file_begin(&file, path, NULL) == 0) {
        json_t *object = gpu_to_json(gpu);
        (void)json_object_set_new(object, "several", json_boolean(several));
        (void)json_dumpf(object, file.stream, JSON_INDENT(1));
        json_decref(object);
        (void)write_file_commit(&file, WRITE_FILE_CACHED, NULL);
    }
    free(path);
}

bool gpu_equal(const struct gpu *a, const struct gpu *b)
{
    json_t *first = gpu_to_json(a);
    json_t *second = gpu_to_json(b);
    bool equal = json_equal(first, second) == 1;
    json_decref(first);
    json_decref(second);
    return equal;
}
