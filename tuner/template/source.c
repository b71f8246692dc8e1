#include "template/source.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"
#include "template/source_file.h"
#include "template/source_hashes.h"
#include "template/source_lexer.h"
#include "template/source_macros.h"
#include "template/standard_header.h"

#include <fnmatch.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An #include or __has_include of a macro. */
struct computed_include {
    char *path; /* the file that it is in */
    int line;
    bool tests_only;
    struct macro_tokens tokens;
};

/* What one source_load() collects. */
struct loading {
    struct source *source;
    char **names; /* by which its headers were found first */
    size_t name_count;
    struct source_hashes hashes;
    struct source_macros macros;
    struct computed_include *computed;
    size_t computed_count;
    bool shadowing; /* reads headers that only the toolkit's may include */
};

/* One file of it. */
struct scan {
    struct loading *loading;
    const char *path;
    struct source_lexer lexer;
    enum token_kind last;
    bool directive;
    bool function_like; /* the directive defines a macro with parameters */
    enum { TEST_NONE, TEST_NAMED, TEST_OPEN } test; /* behind __has_include, and behind its ( */
    bool tests_only;                                /* the last name was not #include's */
    bool all_folders;                               /* the last name was one that ends with _next */
};

/* --- finding --- */

/* The file's number: 0 for the source, 1 for its first header; one more than the last if it is new. */
static size_t number_of(const struct source *source, const char *path)
{
    size_t number = 0;
    const char *known = source->path;
    while (strcmp(known, path) != 0 && number++ < source->header_count)
        known = source->headers[number - 1];
    return number;
}

static void add_toolkit_header(struct source *source, const char *name)
{
    for (size_t i = 0; i < source->toolkit_count; i++)
        if (strcmp(source->toolkit_headers[i], name) == 0)
            return;
    *ARRAY_APPEND(source->toolkit_headers, source->toolkit_count) = alloc_string(name);
}

/* Adds to the hashes which file `name` means: its number, or -1 for none. The first of that name goes
 * without saying, unless several are taken. */
static void hash_choice(struct loading *loading, const char *name, long number, bool all_folders)
{
    long first = -1;
    for (size_t i = loading->name_count; i-- > 0;)
        if (strcmp(loading->names[i], name) == 0)
            first = (long)i + 1;
    if (number == first && !all_folders)
        return;
    char *choice = alloc_format("%s\n%ld", name, number);
    source_hashes_add_choice(&loading->hashes, choice);
    free(choice);
}

static void note_way(struct source *source, enum source_way_kind kind, const char *path,
                     const char *target)
{
    for (size_t i = 0; i < source->way_count; i++)
        if (source->ways[i].kind == kind && strcmp(source->ways[i].path, path) == 0)
            return;
    *ARRAY_APPEND(source->ways, source->way_count) =
        (struct source_way){kind, alloc_string(path), target != NULL ? alloc_string(target) : NULL};
}

/* The first symbolic link to a folder on the way to `path`, and its target; NULL: there is none. */
static char *find_link(const char *path, char target[PATH_MAX])
{
    for (const char *end = path + strcspn(path + 1, "/") + 1; *end != '\0';
         end += strcspn(end + 1, "/") + 1) {
        char *folder = alloc_string_n(path, (size_t)(end - path));
        ssize_t length = readlink(folder, target, PATH_MAX - 1);
        if (length > 0) {
            target[length] = '\0';
            return folder;
        }
        free(folder);
    }
    return NULL;
}

/* Notes what a compiler needs to find a copy of the file by this path. */
static void note_ways(struct source *source, const char *path)
{
    enum { LINKS_MOST = 40 };
    char target[PATH_MAX];
    char *at = alloc_string(path);
    char *link;
    for (int i = 0; i < LINKS_MOST && (link = find_link(at, target)) != NULL; i++) {
        char *behind = path_beside(link, target);
        char *next = alloc_format("%s%s", behind, at + strlen(link));
        note_way(source, SOURCE_WAY_LINK, link, target);
        free(behind);
        free(link);
        free(at);
        at = next;
    }
    char *folder = path_folder(at);
    if (strstr(at, "/../") != NULL)
        note_way(source, SOURCE_WAY_FOLDER, folder, NULL);
    free(folder);
    free(at);
}

/* The path of FOLDER/NAME if that is a file, otherwise NULL. */
static char *look_for(struct source *source, const char *folder, const char *name)
{
    char *path = source_find_file(folder, name);
    if (path != NULL && name[0] == '/')
        note_way(source, SOURCE_WAY_NAME, name, NULL);
    char *joined = name[0] == '/' ? alloc_string(name) : alloc_format("%s/%s", folder, name);
    if (path != NULL)
        note_ways(source, joined);
    free(joined);
    return path;
}

/* Adds a header that was found as `name`; takes `path`, which may be NULL. */
static bool add_header(struct loading *loading, const char *name, char *path, bool all_folders)
{
    struct source *source = loading->source;
    if (path == NULL)
        return false;
    size_t number = number_of(source, path);
    if (number <= source->header_count) {
        hash_choice(loading, name, (long)number, all_folders);
        free(path);
        return true;
    }
    /* the name, not the path: the checkout may move */
    source_hashes_add_choice(&loading->hashes, name);
    *ARRAY_APPEND(source->headers, source->header_count) = path;
    *ARRAY_APPEND(loading->names, loading->name_count) = alloc_string(name);
    return true;
}

/*
 * Searches in the compiler's order: "name" first beside the including file, then the folders. With
 * `all_folders` takes every file of that name, since #include_next means one of them. Returns
 * whether there is one.
 */
static bool find_header(struct loading *loading, const char *including_file, const char *name,
                        bool quoted, bool all_folders)
{
    bool found = false;
    if (quoted || all_folders) {
        char *folder = path_folder(including_file);
        found = add_header(loading, name, look_for(loading->source, folder, name), all_folders);
        free(folder);
    }
    for (size_t i = 0; (!found || all_folders) && i < loading->source->include_count; i++) {
        char *path = look_for(loading->source, loading->source->include_folders[i], name);
        found = add_header(loading, name, path, all_folders) || found;
    }
    if (!found)
        hash_choice(loading, name, -1, all_folders);
    return found;
}

/* `header` is "name" or <name>. */
static void take_header(struct loading *loading, const char *including_file, const char *header,
                        bool tests_only, bool all_folders)
{
    bool quoted = header[0] == '"';
    size_t length = strcspn(header + 1, quoted ? "\"" : ">");
    if (length == 0 || header[1 + length] == '\0')
        return;
    char *name = alloc_string_n(header + 1, length);
    if (!find_header(loading, including_file, name, quoted, all_folders) && !tests_only &&
        !loading->shadowing)
        add_toolkit_header(loading->source, name);
    free(name);
}

/* --- scanning --- */

static bool token_is(const struct scan *scan, const char *text)
{
    return strcmp(scan->lexer.token, text) == 0;
}

static struct computed_include *add_computed(struct scan *scan, bool tests_only)
{
    struct loading *loading = scan->loading;
    struct computed_include *include = ARRAY_APPEND(loading->computed, loading->computed_count);
    include->path = alloc_string(scan->path);
    include->line = scan->lexer.line;
    include->tests_only = tests_only;
    loading->hashes.stringifies = true; /* white space is part of a name */
    return include;
}

/* Takes a macro that __has_include is of. A parameter's text is found where the macro is used. */
static void follow_test(struct scan *scan, enum token_kind kind)
{
    const char *token = scan->lexer.token;
    if (kind == TOKEN_NAME && scan->test == TEST_OPEN && !scan->function_like)
        macro_tokens_add(&add_computed(scan, true)->tokens, token, true, false);
    if (kind == TOKEN_NAME && strncmp(token, "__has_include", strlen("__has_include")) == 0)
        scan->test = TEST_NAMED;
    else
        scan->test = scan->test == TEST_NAMED && token_is(scan, "(") ? TEST_OPEN : TEST_NONE;
}

static enum token_kind next_token(struct scan *scan, bool space_counts)
{
    enum token_kind kind = source_lexer_next(&scan->lexer);
    const char *token = scan->lexer.token;
    source_hashes_add_token(&scan->loading->hashes, &scan->lexer, kind, scan->last, space_counts);
    if (kind == TOKEN_HEADER)
        take_header(scan->loading, scan->path, token, scan->tests_only, scan->all_folders);
    if (kind == TOKEN_NAME) {
        if (scan->directive)
            directive_names_add(&scan->loading->source->directive_names, token);
        scan->tests_only = strncmp(token, "include", strlen("include")) != 0;
        scan->all_folders = strlen(token) > 5 && strcmp(token + strlen(token) - 5, "_next") == 0;
    }
    follow_test(scan, kind);
    if (scan->directive && kind == TOKEN_PUNCTUATION &&
        (token_is(scan, "#") || token_is(scan, "%:")))
        scan->loading->hashes.stringifies = true;
    scan->directive = kind == TOKEN_DIRECTIVE || (scan->directive && kind != TOKEN_DIRECTIVE_END);
    scan->last = kind;
    return kind;
}

/* The tokens from the present one to the end of the line. */
static void take_line(struct scan *scan, enum token_kind kind, struct macro_tokens *tokens)
{
    for (; kind != TOKEN_DIRECTIVE_END; kind = next_token(scan, false))
        macro_tokens_add(tokens, scan->lexer.token, kind == TOKEN_NAME, scan->lexer.spaced);
}

static void take_definition(struct scan *scan)
{
    struct loading *loading = scan->loading;
    if (next_token(scan, false) != TOKEN_NAME)
        return;
    struct source_macro *macro = ARRAY_APPEND(loading->macros.items, loading->macros.count);
    macro->name = alloc_string(scan->lexer.token);
    enum token_kind kind = next_token(scan, true);
    macro->function_like = token_is(scan, "(") && !scan->lexer.spaced;
    scan->function_like = macro->function_like;
    take_line(scan, kind, &macro->body);
    scan->function_like = false;
}

static void take_include(struct scan *scan)
{
    enum token_kind kind = next_token(scan, false);
    if (kind != TOKEN_HEADER && kind != TOKEN_DIRECTIVE_END)
        take_line(scan, kind, &add_computed(scan, false)->tokens);
}

/*
 * Takes every #include, also in inactive #if branches: an unnecessary header causes only an
 * unnecessary compilation when it changes, but a missed one causes a stale cubin.
 */
static void scan_text(struct loading *loading, const char *path, const char *text)
{
    struct scan scan = {.loading = loading, .path = path};
    enum token_kind kind;
    source_lexer_init(&scan.lexer, text);
    while ((kind = next_token(&scan, false)) != TOKEN_END) {
        if (kind != TOKEN_DIRECTIVE || next_token(&scan, false) != TOKEN_NAME)
            continue;
        if (token_is(&scan, "define"))
            take_definition(&scan);
        else if (token_is(&scan, "include") || token_is(&scan, "include_next"))
            take_include(&scan);
    }
    source_lexer_release(&scan.lexer);
}

/* Reads one file, hashes it and appends the headers that it includes. */
static int load_file(struct loading *loading, const char *path, const char **text,
                     struct error *error)
{
    struct source *source = loading->source;
    size_t length = 0;
    char *read = NULL;
    int status = read_file(path, &read, &length, error);
    if (status != 0)
        return status;
    struct source_file *file = ARRAY_APPEND(source->files, source->file_count);
    file->path = alloc_string(path);
    *text = file->text = read;
    file->bytes = length;
    hash_of(read, length, file->hash);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): error_set() never returns 0 */
    if (strlen(read) != length && !loading->shadowing)
        return error_set(error, ERROR_CONFIG,
                         "'%s' contains a zero byte; it must be a CUDA C++ source in plain text",
                         path);
    source_hashes_add_text(&loading->hashes, read);
    scan_text(loading, path, read);
    return 0;
}

/* Loads the headers from `*loaded` on, and those that they include. */
static int load_headers(struct loading *loading, size_t *loaded, struct error *error)
{
    struct source *source = loading->source;
    int status = 0;
    for (; status == 0 && *loaded < source->header_count; ++*loaded) { /* grows */
        const char *path = source->headers[*loaded];
        const char *text = NULL;
        status = load_file(loading, path, &text, error);
        for (size_t i = 0; i < source->unit_count; i++)
            if (strcmp(source->units[i].path, path) == 0)
                source->units[i].text = text;
    }
    return status;
}

/* Once each, with the first place. */
static void add_computed_name(struct source *source, const struct computed_include *include,
                              const struct met_macro *macro)
{
    for (size_t i = 0; i < source->computed_count; i++)
        if (strcmp(source->computed[i].name, macro->name) == 0) {
            source->computed[i].defined = source->computed[i].defined || macro->defined;
            return;
        }
    *ARRAY_APPEND(source->computed, source->computed_count) =
        (struct computed_name){.name = alloc_string(macro->name),
                               .defined = macro->defined,
                               .path = alloc_string(include->path),
                               .line = include->line};
}

/* Appends the headers that an #include of a macro can mean, as far as the macros are known. */
static bool find_computed(struct loading *loading, const struct computed_include *include)
{
    struct header_names names;
    struct met_macros met = {0};
    bool known = source_macros_headers(&loading->macros, &include->tokens, &names, &met);
    for (size_t i = 0; i < met.count; i++)
        add_computed_name(loading->source, include, &met.items[i]);
    met_macros_release(&met);
    for (size_t i = 0; i < names.count; i++)
        take_header(loading, include->path, names.items[i], include->tests_only, true);
    header_names_release(&names);
    return known;
}

/* Loads everything that is included. A header can define what another #include means. */
static int load_all(struct loading *loading, bool all_must_be_known, struct error *error)
{
    struct source *source = loading->source;
    size_t loaded = 0;
    int status = load_file(loading, source->path, &source->text, error);
    do {
        if (status == 0)
            status = load_headers(loading, &loaded, error);
        for (size_t i = 0; i < loading->computed_count && status == 0; i++)
            (void)find_computed(loading, &loading->computed[i]);
    } while (status == 0 && loaded < source->header_count);
    for (size_t i = 0; i < loading->computed_count && status == 0; i++) {
        const struct computed_include *include = &loading->computed[i];
        if (!find_computed(loading, include) && all_must_be_known)
            status = error_set_at(
                error, ERROR_CONFIG, include->path, include->line,
                "cannot tell which file '%s %s' reads; write its name, or #define '%s' as "
                "\"name\" or <name>",
                include->tests_only ? "__has_include of" : "#include",
                include->tokens.items[0].text, include->tokens.items[0].text);
    }
    return status;
}

/* --- what the toolkit's headers include from the user's folders --- */

static bool matches(const char *name, const char *const *patterns)
{
    while (*patterns != NULL && fnmatch(*patterns, name, 0) != 0)
        patterns++;
    return *patterns != NULL;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/*
 * Whether the toolkit's headers ask for a file or folder of this name, or might in another version.
 * The list is wider than what was seen (strace of NVRTC 13.0), but not everything: an unrelated header
 * beside the source must not make its results stale.
 */
static bool is_toolkit_name(const char *name, bool is_folder)
{
    static const char *const folders[] = {
        "Openacc", "Openmp", "cooperative_groups", "crt", "cub", "cuda", "nv", "nvtx3",
        "thrust",  NULL};
    static const char *const files[] = {"builtin_types.*",
                                        "channel_*",
                                        "common_functions.*",
                                        "cooperative_groups*",
                                        "cu*",
                                        "device_*",
                                        "driver_*",
                                        "fatbinary_*",
                                        "generated_*",
                                        "host_*",
                                        "library_types.*",
                                        "math_*",
                                        "mma.*",
                                        "nv*",
                                        "sm_[0-9]*",
                                        "storage_class.*",
                                        "surface_*",
                                        "texture_*",
                                        "vector_*",
                                        NULL};
    if (is_folder)
        return matches(name, folders);
    return strcmp(name, "version") == 0 || standard_header_find(name, strlen(name)) != NULL ||
           (strchr(name, '.') != NULL && matches(name, files));
}

/* Appends the headers in `folder` that have a name of the toolkit's. */
static void add_shadowing(struct loading *loading, const char *folder)
{
    static const char *const texts[] = {"*.h", "*.hpp", "*.cuh", "*.inl", NULL};
    char *path = alloc_string(folder);
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
    FTSENT *file;
    while (tree != NULL && (file = fts_read(tree)) != NULL) {
        if (file->fts_level == 1 && !is_toolkit_name(file->fts_name, file->fts_info == FTS_D)) {
            (void)fts_set(tree, file, FTS_SKIP);
        } else if (file->fts_info == FTS_F &&
                   (strchr(file->fts_name, '.') == NULL || matches(file->fts_name, texts))) {
            const char *name = file->fts_path + strlen(folder) + 1;
            (void)add_header(loading, name, look_for(loading->source, folder, name), true);
        }
    }
    if (tree != NULL)
        (void)fts_close(tree);
    free(path);
}

/*
 * The compiler searches the user's folders before the toolkit's, also for what a header of the toolkit
 * includes. It is unknown which of these headers are read at all, so nothing in them is refused.
 */
static int load_shadowing(struct loading *loading, struct error *error)
{
    struct source *source = loading->source;
    size_t loaded = source->header_count;
    int status = 0;
    source->followed_count = loaded;
    loading->shadowing = true;
    for (size_t i = 0; i < source->include_count && source->toolkit_count > 0; i++)
        add_shadowing(loading, source->include_folders[i]);
    while (status == 0 && loaded < source->header_count) {
        status = load_headers(loading, &loaded, error);
        for (size_t i = 0; i < loading->computed_count && status == 0; i++)
            (void)find_computed(loading, &loading->computed[i]);
    }
    return status;
}

/* Finishes the hashes, and releases the rest. */
static void loading_release(struct loading *loading)
{
    source_hashes_finish(&loading->hashes, loading->source->text_hash, loading->source->hash);
    for (size_t i = 0; i < loading->name_count; i++)
        free(loading->names[i]);
    free(loading->names);
    for (size_t i = 0; i < loading->computed_count; i++) {
        free(loading->computed[i].path);
        macro_tokens_release(&loading->computed[i].tokens);
    }
    free(loading->computed);
    source_macros_release(&loading->macros);
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

/* The units behind the first. Their names count, as those of headers do. */
static int find_units(struct loading *loading, const char *const *paths, size_t count,
                      struct error *error)
{
    struct source *source = loading->source;
    for (size_t i = 0; i < count; i++) {
        char *path = realpath(paths[i], NULL);
        if (path == NULL)
            return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", paths[i]);
        bool known = number_of(source, path) <= source->header_count;
        ARRAY_APPEND(source->units, source->unit_count)->path = alloc_string(path);
        (void)add_header(loading, strrchr(path, '/') + 1, path, false);
        if (known)
            return error_set(error, ERROR_CONFIG, "'%s' is listed twice", paths[i]);
    }
    return 0;
}

static int find_depends(struct loading *loading, const struct source_files *files,
                        struct error *error)
{
    for (size_t i = 0; i < files->depend_count; i++)
        if (!find_header(loading, loading->source->path, files->depends[i], true, false))
            return error_set(error, ERROR_CONFIG,
                             "cannot find '%s', which 'depends' names, beside '%s' or in an "
                             "include folder",
                             files->depends[i], loading->source->path);
    return 0;
}

int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error)
{
    const struct source_files files = {
        .paths = &path, .path_count = 1, .folders = folders, .folder_count = folder_count};
    return source_load_files(source, &files, error);
}

int source_load_files(struct source *source, const struct source_files *files, struct error *error)
{
    *source = (struct source){0};
    struct loading loading = {.source = source, .hashes = source_hashes_new()};
    int status = 0;
    source->path = realpath(files->paths[0], NULL);
    if (source->path == NULL)
        status = error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", files->paths[0]);
    if (status == 0)
        status = resolve_folders(source, files->folders, files->folder_count, error);
    if (status == 0)
        status = find_units(&loading, files->paths + 1, files->path_count - 1, error);
    if (status == 0)
        status = find_depends(&loading, files, error);
    if (status == 0)
        status = load_all(&loading, files->depend_count == 0, error);
    if (status == 0)
        status = load_shadowing(&loading, error);
    directive_names_sort(&source->directive_names);
    loading_release(&loading);
    if (status != 0)
        source_release(source);
    return status;
}

const struct computed_name *source_unfollowed(const struct source *source, const char *macro,
                                              const char *value)
{
    const struct computed_name *found = NULL;
    for (size_t i = 0; i < source->computed_count; i++) {
        const struct computed_name *name = &source->computed[i];
        if (strcmp(name->name, macro) == 0)
            found = name;
        if (value != NULL && name->defined && strcmp(name->name, value) == 0)
            return NULL;
    }
    return found;
}

int source_check(const struct source *source, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < source->file_count && status == 0; i++) {
        const struct source_file *file = &source->files[i];
        char *text = NULL;
        status = read_file(file->path, &text, NULL, error);
        if (status == 0 && strcmp(text, file->text) != 0)
            status = error_set(error, ERROR_CONFIG, "'%s' has changed since it was read; run again",
                               file->path);
        free(text);
    }
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
    for (size_t i = 0; i < source->unit_count; i++)
        free(source->units[i].path);
    free(source->units);
    for (size_t i = 0; i < source->file_count; i++) {
        free(source->files[i].path);
        free(source->files[i].text);
    }
    free(source->files);
    for (size_t i = 0; i < source->way_count; i++) {
        free(source->ways[i].path);
        free(source->ways[i].target);
    }
    free(source->ways);
    release_texts(source->include_folders, source->include_count);
    release_texts(source->headers, source->header_count);
    release_texts(source->toolkit_headers, source->toolkit_count);
    directive_names_release(&source->directive_names);
    for (size_t i = 0; i < source->computed_count; i++) {
        free(source->computed[i].name);
        free(source->computed[i].path);
    }
    free(source->computed);
    *source = (struct source){0};
}
