#include "template/source.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- includes --- */

struct include {
    char *name;
    bool quoted; /* "name" rather than <name> */
};

struct include_list {
    struct include *items;
    size_t count;
};

static void include_list_release(struct include_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (struct include_list){0};
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* Skips `word` and the blanks after it; NULL if `text` does not start with `word`. */
static const char *skip_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? skip_blanks(text + length) : NULL;
}

/* If `line` is an #include, adds it to the list. */
static void scan_line(const char *line, struct include_list *list)
{
    const char *at = skip_word(skip_blanks(line), "#");
    if (at == NULL || (at = skip_word(at, "include")) == NULL || (*at != '"' && *at != '<'))
        return;
    bool quoted = *at == '"';
    size_t length = strcspn(at + 1, quoted ? "\"\n" : ">\n");
    if (length == 0 || at[1 + length] != (quoted ? '"' : '>'))
        return;
    struct include *include = ARRAY_APPEND(list->items, list->count);
    include->name = alloc_string_n(at + 1, length);
    include->quoted = quoted;
}

/*
 * Lists every #include line, even in comments and inactive #if branches: an unnecessary header
 * causes only an unnecessary compilation when it changes, but a missed one causes a stale cubin.
 */
static struct include_list scan_includes(const char *text)
{
    struct include_list list = {0};
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        scan_line(line, &list);
    }
    return list;
}

/* The real path of FOLDER/NAME if that is a regular file, otherwise NULL; free it. */
static char *find_in(const char *folder, const char *name)
{
    char *joined = name[0] == '/' ? alloc_string(name) : alloc_format("%s/%s", folder, name);
    char *path = realpath(joined, NULL);
    free(joined);
    struct stat information;
    if (path != NULL && (stat(path, &information) != 0 || !S_ISREG(information.st_mode))) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Searches in the compiler's order: "name" first beside the including file, then the folders. */
static char *find_include(const struct source *source, const char *including_file,
                          const struct include *include)
{
    char *path = NULL;
    if (include->quoted) {
        char *folder = path_folder(including_file);
        path = find_in(folder, include->name);
        free(folder);
    }
    for (size_t i = 0; path == NULL && i < source->include_count; i++)
        path = find_in(source->include_folders[i], include->name);
    return path;
}

static bool is_known(const struct source *source, const char *path)
{
    bool known = strcmp(source->path, path) == 0;
    for (size_t i = 0; !known && i < source->header_count; i++)
        known = strcmp(source->headers[i], path) == 0;
    return known;
}

static void add_toolkit_header(struct source *source, const char *name)
{
    for (size_t i = 0; i < source->toolkit_count; i++)
        if (strcmp(source->toolkit_headers[i], name) == 0)
            return;
    *ARRAY_APPEND(source->toolkit_headers, source->toolkit_count) = alloc_string(name);
}

/* Appends the headers that `text` (of file `path`) includes to source->headers and hashes their
 * names; headers that are not found go to source->toolkit_headers. */
static void follow_includes(struct source *source, const char *path, const char *text,
                            struct hash *hash)
{
    struct include_list list = scan_includes(text);
    for (size_t i = 0; i < list.count; i++) {
        char *found = find_include(source, path, &list.items[i]);
        if (found != NULL && !is_known(source, found)) {
            hash_add_text(hash, list.items[i].name); /* not the path: the checkout may move */
            *ARRAY_APPEND(source->headers, source->header_count) = found;
        } else {
            if (found == NULL)
                add_toolkit_header(source, list.items[i].name);
            free(found);
        }
    }
    include_list_release(&list);
}

/* Reads one file into `*text`, hashes it and appends the headers that it includes. */
static int load_file(struct source *source, const char *path, char **text, struct hash *hash,
                     struct error *error)
{
    size_t length = 0;
    int status = read_file(path, text, &length, error);
    if (status != 0)
        return status;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): error_set() never returns 0 */
    if (strlen(*text) != length)
        return error_set(error, ERROR_CONFIG,
                         "'%s' contains a zero byte; it must be a CUDA C++ source in plain text",
                         path);
    hash_add_text(hash, *text);
    follow_includes(source, path, *text, hash);
    return 0;
}

static int resolve_folders(struct source *source, const char *const *folders, size_t folder_count,
                           struct error *error)
{
    char *own = path_folder(source->path);
    *ARRAY_APPEND(source->include_folders, source->include_count) = own;
    for (size_t i = 0; i < folder_count; i++) {
        char *joined = folders[i][0] == '/' ? alloc_string(folders[i])
                                            : alloc_format("%s/%s", own, folders[i]);
        char *path = realpath(joined, NULL);
        free(joined);
        if (path == NULL)
            return error_set_errno(error, ERROR_CONFIG, "cannot find include folder '%s' from '%s'",
                                   folders[i], own);
        *ARRAY_APPEND(source->include_folders, source->include_count) = path;
    }
    return 0;
}

int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error)
{
    *source = (struct source){0};
    struct hash *hash = hash_new();
    int status = 0;
    source->path = realpath(path, NULL);
    if (source->path == NULL) {
        status = error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", path);
        goto done;
    }
    status = resolve_folders(source, folders, folder_count, error);
    if (status != 0)
        goto done;
    status = load_file(source, source->path, &source->text, hash, error);
    for (size_t i = 0; status == 0 && i < source->header_count; i++) { /* grows as we go */
        char *text = NULL;
        status = load_file(source, source->headers[i], &text, hash, error);
        free(text);
    }
done:
    hash_finish(hash, source->hash);
    if (status != 0)
        source_release(source);
    return status;
}

static void release_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void source_release(struct source *source)
{
    free(source->path);
    free(source->text);
    release_texts(source->include_folders, source->include_count);
    release_texts(source->headers, source->header_count);
    release_texts(source->toolkit_headers, source->toolkit_count);
    *source = (struct source){0};
}
