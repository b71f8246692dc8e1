/* Which NVRTC this is, and with which headers: nvrtc_build_find() in nvrtc_library.h. */
#include "compile/nvrtc_library.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/open_regular.h"
#include "base/path.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "compile/linker.h"

#include <fts.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STAMP_DIGITS = 8 };

/* --- the files --- */

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void hash_contents(struct hash *hash, const char *path)
{
    FILE *file = open_regular(path);
    if (file == NULL)
        return; /* the compiler cannot read it, either */
    (void)hash_add_file(hash, file);
    (void)fclose(file); /* only read */
}

/* A file that was replaced by another of the same size and date has a new status-change time. */
static void hash_status(struct hash *hash, const struct stat *status)
{
    const int64_t numbers[] = {status->st_size, status->st_mtim.tv_sec, status->st_mtim.tv_nsec,
                               status->st_ctim.tv_sec, status->st_ctim.tv_nsec};
    hash_add(hash, numbers, sizeof numbers);
}

/* Adds the names of the files below `root`, or of the file that it is, and their contents or else
 * their sizes and times. A missing one adds nothing. */
static void hash_tree(struct hash *hash, const char *root, bool contents)
{
    char *path = alloc_string(root);
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
    FTSENT *file;
    while (tree != NULL && (file = fts_read(tree)) != NULL) {
        if (file->fts_info != FTS_F)
            continue;
        hash_add_text(hash, file->fts_path + strlen(root));
        if (contents)
            hash_contents(hash, file->fts_path);
        else
            hash_status(hash, file->fts_statp);
    }
    if (tree != NULL)
        (void)fts_close(tree);
    free(path);
}

/* Hashes what NVRTC reads, its own headers and the toolkit's; and the linker, if there is one. */
static void hash_files(const struct nvrtc *nvrtc, bool contents, char digits[HASH_BYTES])
{
    struct hash *hash = hash_new();
    char *name = alloc_format(NVRTC_BUILTINS_FORMAT, nvrtc->version);
    char *builtins = path_beside(nvrtc->path, name);
    char *linker = linker_find(nvrtc->path, nvrtc->version);
    if (!contents) {
        hash_add_text(hash, nvrtc->path);
        hash_tree(hash, nvrtc->path, false);
    }
    hash_tree(hash, builtins, contents);
    if (linker != NULL)
        hash_tree(hash, linker, contents);
    const char *last = NULL;
    for (size_t i = 0; i < nvrtc->include_options.count; i++) {
        const char *folder = nvrtc->include_options.items[i] + strlen("-I");
        size_t length = last != NULL ? strlen(last) : 0;
        if (last != NULL && strncmp(folder, last, length) == 0 &&
            (folder[length] == '/' || folder[length] == '\0'))
            continue; /* CCCL within the toolkit's folder */
        last = folder;
        if (!contents)
            hash_add_text(hash, folder);
        hash_tree(hash, folder, contents);
    }
    hash_finish(hash, digits);
    free(linker);
    free(builtins);
    free(name);
}

/* Whether one of the names, each followed by a line feed, is a word of the text. */
static bool has_word(const char *text, const char *names)
{
    static const char word[] = "0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t length; *names != '\0'; names += length + 1) {
        length = strcspn(names, "\n");
        char *name = alloc_string_n(names, length);
        const char *at = text;
        while ((at = strstr(at, name)) != NULL &&
               ((at > text && strchr(word, at[-1]) != NULL) || strspn(at + length, word) > 0))
            at += length;
        free(name);
        if (at != NULL)
            return true;
    }
    return false;
}

bool nvrtc_headers_name(const struct nvrtc *nvrtc, const char *names)
{
    size_t count = nvrtc->include_options.count;
    char **roots = alloc_zeroed(count + 1, sizeof *roots);
    for (size_t i = 0; i < count; i++)
        roots[i] = nvrtc->include_options.items[i] + strlen("-I");
    FTS *tree = count > 0 ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *file;
    bool found = false;
    while (tree != NULL && !found && (file = fts_read(tree)) != NULL) {
        char *text = NULL;
        if (file->fts_info == FTS_F && read_file(file->fts_path, &text, NULL, NULL) == 0)
            found = has_word(text, names);
        free(text);
    }
    if (tree != NULL)
        (void)fts_close(tree);
    free(roots);
    return found;
}

/* --- the version --- */

/* What the compiler writes into PTX, up to its version, which is "13.0.88" for example. */
struct search {
    const struct nvrtc *nvrtc;
    char text[64];
    const char *found; /* the version in the library's memory; NULL: not found */
};

static int search_object(struct dl_phdr_info *object, size_t bytes, void *context)
{
    struct search *search = context;
    char *path = realpath(object->dlpi_name, NULL);
    bool is_nvrtc = path != NULL && strcmp(path, search->nvrtc->path) == 0;
    (void)bytes;
    free(path);
    for (size_t i = 0; is_nvrtc && i < object->dlpi_phnum && search->found == NULL; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags != PF_R)
            continue;
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the ELF's addresses are integers */
        const void *start = (const void *)(object->dlpi_addr + segment->p_vaddr);
        const char *at = memmem(start, segment->p_memsz, search->text, strlen(search->text));
        if (at != NULL)
            search->found = at + strlen(search->text);
    }
    return is_nvrtc;
}

/* nvrtcVersion() says "13.0" for 13.0.48 and for 13.0.88. */
static const char *find_version(const struct nvrtc *nvrtc)
{
    struct search search = {.nvrtc = nvrtc};
    (void)snprintf(search.text, sizeof search.text, "Cuda compilation tools, release %s, V",
                   nvrtc->version);
    (void)dl_iterate_phdr(search_object, &search);
    return search.found;
}

/* --- remembering --- */

/* Whether it is "13.0.88+1a2b3c4d". */
static bool is_build(const struct nvrtc *nvrtc, const char *text)
{
    size_t version = strspn(text, "0123456789.");
    return strncmp(text, nvrtc->version, strlen(nvrtc->version)) == 0 && text[version] == '+' &&
           strspn(text + version + 1, "0123456789abcdef") == STAMP_DIGITS &&
           strlen(text) == version + 1 + STAMP_DIGITS && strlen(text) < sizeof nvrtc->build;
}

static bool recall(struct nvrtc *nvrtc, const char *path)
{
    char *text = NULL;
    bool known = read_file(path, &text, NULL, NULL) == 0 && is_build(nvrtc, text);
    if (known)
        (void)snprintf(nvrtc->build, sizeof nvrtc->build, "%s", text);
    free(text);
    return known;
}

void nvrtc_build_find(struct nvrtc *nvrtc, const char *cache)
{
    char listing[HASH_BYTES];
    char contents[HASH_BYTES];
    hash_files(nvrtc, false, listing);
    char *path = cache != NULL ? alloc_format("%s/toolkit/%s", cache, listing) : NULL;
    if (path == NULL || !recall(nvrtc, path)) {
        const char *version = find_version(nvrtc);
        hash_files(nvrtc, true, contents);
        /* a library that does not say its version is told by its file's size and times */
        (void)snprintf(nvrtc->build, sizeof nvrtc->build, "%.*s+%.*s",
                       version != NULL ? (int)strspn(version, "0123456789.") : 16,
                       version != NULL ? version : nvrtc->version, STAMP_DIGITS,
                       version != NULL ? contents : listing);
        if (path != NULL)
            (void)write_file_bytes(path, nvrtc->build, strlen(nvrtc->build), NULL);
    }
    free(path);
}
