#include "compile/nvrtc_library.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/read_file.h"
#include "base/write_file.h"

#include <dlfcn.h>
#include <fts.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void text_list_release(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

/* --- opening --- */

enum { OLDEST_MAJOR = 12 };

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* Library folders below a root: of a toolkit, and of NVIDIA's Python packages for CUDA 12. */
static const char *const library_folders[] = {
    "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "cuda_nvrtc/lib",
};

/* Toolkits to try, in order; unset ones are NULL. */
struct roots {
    const char *items[3];
};

static struct roots toolkit_roots(void)
{
    const char *cuda_home = getenv("CUDA_HOME");
    struct roots roots = {
        {cuda_home != NULL && cuda_home[0] != '\0' ? cuda_home : NULL, "/usr/local/cuda", NULL}};
#ifdef AUTOTUNE_CUDA_ROOT
    roots.items[2] = AUTOTUNE_CUDA_ROOT;
#endif
    return roots;
}

/*
 * NVIDIA's Python packages beside the one that this code lies in, as a program or in a library: SITE/nvidia/cu13 for
 * SITE/autotune/bin and SITE/autotune/lib. A new string; NULL if there is no such package around this code.
 */
static char *packages_root(void)
{
    static const char anchor = 0; /* in the object that this is linked into */
    Dl_info information;
    struct link_map *map = NULL;
    if (dladdr1(&anchor, &information, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return NULL;
    char *file = realpath(map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", NULL);
    char *package = file != NULL ? path_beside(file, "../py.typed") : NULL;
    char *root = package != NULL && access(package, F_OK) == 0
                     ? path_beside(file, "../../nvidia/cu13")
                     : NULL;
    free(package);
    free(file);
    return root;
}

/* Looks up the functions. Returns the name of the first missing one, or NULL. */
static const char *bind_functions(struct nvrtc *nvrtc)
{
    void *symbol = NULL;
#define X(function)                                                                                \
    symbol = dlsym(nvrtc->library, "nvrtc" #function);                                             \
    if (symbol == NULL)                                                                            \
        return "nvrtc" #function;                                                                  \
    memcpy(&nvrtc->function, &symbol, sizeof symbol); /* ISO C cannot cast this */
    NVRTC_FUNCTIONS(X)
#undef X
    symbol = dlsym(nvrtc->library, "nvrtcSetPCHHeapSize");
    memcpy(&nvrtc->SetPCHHeapSize, &symbol, sizeof symbol);
    symbol = dlsym(nvrtc->library, "nvrtcSetFlowCallback");
    memcpy(&nvrtc->SetFlowCallback, &symbol, sizeof symbol);
    return NULL;
}

static bool read_architectures(struct nvrtc *nvrtc)
{
    int count = 0;
    if (nvrtc->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
        return false;
    nvrtc->architecture_count = (size_t)count;
    nvrtc->architectures = alloc_zeroed(nvrtc->architecture_count, sizeof *nvrtc->architectures);
    return nvrtc->GetSupportedArchs(nvrtc->architectures) == NVRTC_SUCCESS;
}

/*
 * Opens `file`: a path, or a name for the dynamic linker to find. On failure closes everything and
 * sets *reason to a new string.
 */
static bool open_library(struct nvrtc *nvrtc, const char *file, char **reason)
{
    if (strchr(file, '/') != NULL && open_regular_refuses(file)) {
        *reason = alloc_format("'%s' is not a regular file", file);
        return false;
    }
    char *path = strchr(file, '/') != NULL ? realpath(file, NULL) : NULL;
    *nvrtc = (struct nvrtc){.library = dlopen(path != NULL ? path : file, RTLD_NOW | RTLD_LOCAL)};
    free(path);
    if (nvrtc->library == NULL) {
        *reason = alloc_string(dlerror());
        return false;
    }
    int minor = 0;
    const char *missing = bind_functions(nvrtc);
    if (missing != NULL)
        *reason = alloc_format("'%s' has no %s", file, missing);
    else if (nvrtc->Version(&nvrtc->major, &minor) != NVRTC_SUCCESS || !read_architectures(nvrtc))
        *reason = alloc_format("'%s' does not report its version", file);
    else if (nvrtc->major < OLDEST_MAJOR)
        *reason = alloc_format("'%s' is version %d.%d", file, nvrtc->major, minor);
    if (*reason != NULL) {
        free(nvrtc->architectures);
        (void)dlclose(nvrtc->library);
        return false;
    }
    (void)snprintf(nvrtc->version, sizeof nvrtc->version, "%d.%d", nvrtc->major, minor);
    return true;
}

/* Tries the Python package beside our own, then each library name with the dynamic linker, then below each root. If a
 * library exists but cannot be used, sets *reason. */
static bool search_library(struct nvrtc *nvrtc, char **reason)
{
    size_t name_count = sizeof library_names / sizeof *library_names;
    char *refusal = NULL;
    char *packages = packages_root();
    char *packaged =
        packages != NULL ? alloc_format("%s/lib/%s", packages, library_names[0]) : NULL;
    bool found =
        packaged != NULL && access(packaged, F_OK) == 0 && open_library(nvrtc, packaged, reason);
    free(packaged);
    free(packages);
    if (found)
        return true;
    for (size_t i = 0; i < name_count; i++, free(refusal), refusal = NULL)
        if (open_library(nvrtc, library_names[i], &refusal))
            return true;

    struct roots roots = toolkit_roots();
    size_t folder_count = sizeof library_folders / sizeof *library_folders;
    size_t root_count = sizeof roots.items / sizeof *roots.items;
    for (size_t i = 0; i < root_count * folder_count * name_count; i++) {
        const char *root = roots.items[i / (folder_count * name_count)];
        if (root == NULL)
            continue;
        char *file = alloc_format("%s/%s/%s", root, library_folders[i / name_count % folder_count],
                                  library_names[i % name_count]);
        bool opened = access(file, F_OK) == 0 && open_library(nvrtc, file, &refusal);
        free(file);
        if (opened)
            return true;
        if (refusal != NULL) {
            free(*reason);
            *reason = refusal;
            refusal = NULL;
        }
    }
    return false;
}

static int not_found(const char *reason, struct error *error)
{
    struct roots roots = toolkit_roots();
    const char *built = roots.items[2];
    return error_set(
        error, ERROR_DEVICE,
        "no NVRTC %d.0 or newer on the linker's path, in $CUDA_HOME (%s), %s%s%s%s%s%s; "
        "install the CUDA Toolkit, run ./bootstrap.sh, or set AUTOTUNE_NVRTC to the "
        "path of libnvrtc.so",
        OLDEST_MAJOR, roots.items[0] != NULL ? roots.items[0] : "not set", roots.items[1],
        built != NULL ? ", " : "", built != NULL ? built : "", reason != NULL ? " (" : "",
        reason != NULL ? reason : "", reason != NULL ? ")" : "");
}

/* --- header folders --- */

/* Adds -IFOLDER and returns true if FOLDER/MARKER exists. */
static bool add_folder(struct nvrtc *nvrtc, const char *base, const char *below, const char *marker)
{
    char *joined = alloc_format("%s/%s/%s", base, below, marker);
    bool exists = access(joined, R_OK) == 0;
    if (exists) {
        joined[strlen(joined) - strlen(marker) - 1] = '\0';
        char *folder = realpath(joined, NULL);
        *ARRAY_APPEND(nvrtc->include_options.items, nvrtc->include_options.count) =
            alloc_format("-I%s", folder != NULL ? folder : joined);
        free(folder);
    }
    free(joined);
    return exists;
}

static bool add_first_folder(struct nvrtc *nvrtc, const char *base, const char *const *below,
                             const char *marker)
{
    for (; *below != NULL; below++)
        if (add_folder(nvrtc, base, *below, marker))
            return true;
    return false;
}

/* Finds the headers installed with the library, or else those of any toolkit. */
static void find_headers(struct nvrtc *nvrtc)
{
    /* Relative to the library's folder: a toolkit or the Python packages for CUDA 13; the Python
     * packages for CUDA 12; a distribution's /usr/lib/MACHINE. */
    static const char *const beside[] = {"../include", "../../cuda_runtime/include",
                                         "../../include", NULL};
    static const char *const beside_cccl[] = {"../include/cccl", "../include",
                                              "../../cuda_cccl/include", "../../include", NULL};
    static const char *const in_root[] = {"include", NULL};
    static const char *const in_root_cccl[] = {"include/cccl", "include", NULL};
    static const char cuda_marker[] = "cooperative_groups.h";
    static const char cccl_marker[] = "cuda/std/version";

    char *folder = path_folder(nvrtc->path);
    bool cuda = add_first_folder(nvrtc, folder, beside, cuda_marker);
    bool cccl = add_first_folder(nvrtc, folder, beside_cccl, cccl_marker);
    free(folder);
    struct roots roots = toolkit_roots();
    for (size_t i = 0; i < sizeof roots.items / sizeof *roots.items; i++) {
        const char *root = roots.items[i];
        if (root == NULL)
            continue;
        cuda = cuda || add_first_folder(nvrtc, root, in_root, cuda_marker);
        cccl = cccl || add_first_folder(nvrtc, root, in_root_cccl, cccl_marker);
    }
}

/* The real path of the loaded library; free it. */
static char *library_path(const struct nvrtc *nvrtc)
{
    Dl_info information;
    void *symbol = dlsym(nvrtc->library, "nvrtcVersion");
    if (symbol == NULL || dladdr(symbol, &information) == 0 || information.dli_fname == NULL)
        return alloc_string("/libnvrtc.so");
    char *path = realpath(information.dli_fname, NULL);
    return path != NULL ? path : alloc_format("/%s", information.dli_fname);
}

/*
 * NVRTC opens libnvrtc-builtins by its bare name, which the dynamic linker can find for an
 * installed toolkit but not for Python packages. So load it by its path first, from NVRTC's own
 * folder. If it is not there, leave it to NVRTC.
 */
static void open_builtins(const struct nvrtc *nvrtc)
{
    char *name = alloc_format(NVRTC_BUILTINS_FORMAT, nvrtc->version);
    char *file = path_beside(nvrtc->path, name);
    if (!open_regular_refuses(file))
        (void)dlopen(file, RTLD_NOW | RTLD_LOCAL); /* never closed, like NVRTC itself */
    free(file);
    free(name);
}

/* --- which NVRTC this is, and with which headers --- */

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

/* Fills `nvrtc->build` from the library and its header folders. Reads all headers, unless a file in the
 * folder `cache` (NULL: none) remembers the result for these names, sizes and times. */
static void find_build(struct nvrtc *nvrtc, const char *cache)
{
    const char *listing = nvrtc->listing;
    char contents[HASH_BYTES];
    hash_files(nvrtc, false, nvrtc->listing);
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

bool nvrtc_stands(const struct nvrtc *nvrtc)
{
    char now[HASH_BYTES];
    hash_files(nvrtc, false, now);
    return strcmp(now, nvrtc->listing) == 0;
}

/* --- opening and closing --- */

int nvrtc_open(struct nvrtc **nvrtc, const char *cache, struct error *error)
{
    const char *wanted = getenv("AUTOTUNE_NVRTC");
    char *reason = NULL;
    struct nvrtc opened = {0};
    int status = 0;
    *nvrtc = NULL;
    if (wanted != NULL && wanted[0] != '\0') {
        if (!open_library(&opened, wanted, &reason))
            status = error_set(error, ERROR_DEVICE,
                               "AUTOTUNE_NVRTC is '%s', which is not NVRTC %d.0 or newer: %s; set "
                               "it to the path of libnvrtc.so, or unset it",
                               wanted, OLDEST_MAJOR, reason != NULL ? reason : "unknown reason");
    } else if (!search_library(&opened, &reason)) {
        status = not_found(reason, error);
    }
    free(reason);
    if (status != 0)
        return status;

    *nvrtc = alloc_zeroed(1, sizeof **nvrtc);
    **nvrtc = opened;
    (*nvrtc)->root = "";
    (*nvrtc)->path = library_path(*nvrtc);
    open_builtins(*nvrtc);
    find_headers(*nvrtc);
    find_build(*nvrtc, cache);
    return 0;
}

void nvrtc_close(struct nvrtc *nvrtc)
{
    if (nvrtc == NULL)
        return;
    linker_close(nvrtc->linker);
    /* Do not unload the library: that leaks the memory of its C++ runtime. */
    text_list_release(&nvrtc->include_options);
    free(nvrtc->architectures);
    free(nvrtc->path);
    free(nvrtc->whole);
    text_list_release(&nvrtc->absolute);
    free(nvrtc);
}

const char *nvrtc_build(const struct nvrtc *nvrtc)
{
    return nvrtc->build;
}

const char *nvrtc_path(const struct nvrtc *nvrtc)
{
    return nvrtc->path;
}

const int *nvrtc_architectures(const struct nvrtc *nvrtc, size_t *count)
{
    *count = nvrtc->architecture_count;
    return nvrtc->architectures;
}
