#include "compile/staging.h"

#include "base/alloc.h"
#include "base/write_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void staging_init(struct staging *staging)
{
    const char *temporary = getenv("TMPDIR");
    unsigned long long number = 0;
    (void)!getrandom(&number, sizeof number, 0);
    *staging = (struct staging){
        alloc_format("%s/autotune-%016llx",
                     temporary != NULL && temporary[0] == '/' ? temporary : "/tmp", number),
        NULL};
}

/* The working folder is then one in which nothing can be found. */
static void clear(struct staging *staging)
{
    if (chdir("/proc/self/fdinfo") != 0)
        abort(); /* without /proc, no worker starts */
    write_file_remove_folder(staging->folder);
    json_decref(staging->placed);
    staging->placed = NULL;
}

void staging_release(struct staging *staging)
{
    clear(staging);
    free(staging->folder);
}

/* --- requests --- */

void staging_describe(const struct source *source, json_t *request)
{
    json_t *files = json_array();
    json_t *ways = json_array();
    for (size_t i = 0; i < source->file_count; i++)
        json_array_append_new(files,
                              json_pack("[s, s]", source->files[i].path, source->files[i].hash));
    for (size_t i = 0; i < source->way_count; i++)
        json_array_append_new(ways, json_pack("[i, s, s?]", (int)source->ways[i].kind,
                                              source->ways[i].path, source->ways[i].target));
    json_object_set_new(request, "files", files);
    json_object_set_new(request, "ways", ways);
}

static const char *text_at(const json_t *array, size_t index)
{
    const char *text = json_string_value(json_array_get(array, index));
    return text != NULL ? text : "";
}

static const struct channel_kept *find_file(const struct channel *channel, const json_t *file,
                                            struct error *error)
{
    const struct channel_kept *kept = channel_find(channel, text_at(file, 1));
    if (kept == NULL || text_at(file, 0)[0] != '/') {
        (void)error_set(error, ERROR_WORKER, "the text of '%s' has not been sent",
                        text_at(file, 0));
        return NULL;
    }
    return kept;
}

const char *staging_first(const struct channel *channel, const json_t *request, const char **path,
                          struct error *error)
{
    const json_t *file = json_array_get(json_object_get(request, "files"), 0);
    const struct channel_kept *kept = find_file(channel, file, error);
    *path = text_at(file, 0);
    return kept != NULL ? kept->bytes : NULL;
}

/* --- files --- */

/* A #line cannot name every file, and a byte order mark stays the first thing of its file. */
static int write_copy(const char *folder, const char *path, const struct channel_kept *kept,
                      struct error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    char *copy = alloc_format("%s%s", folder, path);
    size_t skipped = strncmp(kept->bytes, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    int status = write_file_make_folders(copy, error);
    FILE *file = status == 0 ? fopen(copy, "wxe") : NULL;
    if (file != NULL && skipped > 0)
        fputs(mark, file);
    if (file != NULL && strpbrk(path, "\"\\\n") == NULL)
        fprintf(file, "#line 1 \"%s\"\n", path);
    if (file != NULL)
        (void)fwrite(kept->bytes + skipped, 1, kept->count - skipped, file);
    bool failed = file == NULL || ferror(file) != 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (status == 0 && failed)
        status = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", copy);
    free(copy);
    return status;
}

/* The path of a way's copy; NULL: it is no file. */
static char *way_copy(const char *folder, const json_t *way)
{
    enum source_way_kind kind = (enum source_way_kind)json_integer_value(json_array_get(way, 0));
    return kind == SOURCE_WAY_NAME ? NULL
                                   : alloc_format("%s%s%s", folder, text_at(way, 1),
                                                  kind == SOURCE_WAY_FOLDER ? "/." : "");
}

/* A link that is a folder already, as a file below it was copied, stays one. */
static int make_way(const char *folder, const json_t *way, struct error *error)
{
    const char *target = text_at(way, 2);
    char *path = way_copy(folder, way);
    if (path == NULL)
        return 0;
    char *there =
        alloc_format("%s%s", target[0] == '/' ? folder : "", target); /* until it is followed */
    int status = write_file_make_folders(path, error);
    if (status == 0 && target[0] != '\0' && symlink(there, path) != 0 && errno != EEXIST)
        status = error_set_errno(error, ERROR_RECORD, "cannot create '%s'", path);
    free(there);
    free(path);
    return status;
}

static int place(const struct staging *staging, const struct channel *channel, const json_t *files,
                 const json_t *ways, struct error *error)
{
    int status = 0;
    for (size_t i = 1; i < json_array_size(files) && status == 0; i++) {
        const json_t *file = json_array_get(files, i);
        const struct channel_kept *kept = find_file(channel, file, error);
        if (i == 1 && mkdir(staging->folder, 0700) != 0 && errno != EEXIST)
            status = error_set_errno(error, ERROR_RECORD, "cannot create '%s'", staging->folder);
        if (status == 0)
            status = kept == NULL ? ERROR_WORKER
                                  : write_copy(staging->folder, text_at(file, 0), kept, error);
    }
    for (size_t i = 0; i < json_array_size(ways) && status == 0; i++)
        status = make_way(staging->folder, json_array_get(ways, i), error);
    if (status == 0 && json_array_size(files) > 1 && chdir(staging->folder) != 0)
        status = error_set_errno(error, ERROR_RECORD, "cannot enter '%s'", staging->folder);
    return status;
}

static bool exists(char *path)
{
    struct stat stat;
    bool there = path == NULL || lstat(path, &stat) == 0;
    free(path);
    return there;
}

bool staging_stands(const struct staging *staging)
{
    const json_t *files = json_array_get(staging->placed, 0);
    const json_t *ways = json_array_get(staging->placed, 1);
    bool stands = staging->placed != NULL;
    for (size_t i = 1; i < json_array_size(files) && stands; i++)
        stands =
            exists(alloc_format("%s%s", staging->folder, text_at(json_array_get(files, i), 0)));
    for (size_t i = 0; i < json_array_size(ways) && stands; i++)
        stands = exists(way_copy(staging->folder, json_array_get(ways, i)));
    return stands;
}

int staging_place(struct staging *staging, const struct channel *channel, const json_t *request,
                  struct error *error)
{
    json_t *files = json_object_get(request, "files");
    json_t *ways = json_object_get(request, "ways");
    json_t *wanted = json_pack("[O?, O?]", files, ways);
    int status = 0;
    if (!json_equal(staging->placed, wanted) || !staging_stands(staging)) {
        clear(staging);
        status = place(staging, channel, files, ways, error);
        staging->placed = status == 0 ? json_incref(wanted) : NULL;
    }
    json_decref(wanted);
    return status;
}
