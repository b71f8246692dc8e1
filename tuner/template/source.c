#include "template/source.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"
#include "template/compiler_option.h"
#include "template/source_lexer.h"
#include "template/value_list.h"

#include <fnmatch.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The hashes while they are computed. */
struct hashes {
    struct hash *text;          /* of every byte */
    struct hash *tokens;        /* of the tokens */
    struct hash *spaced_tokens; /* of the tokens and of where there is white space between them */
    bool stringifies;           /* a macro turns its argument into text, with its white space */
};

/* "#define CUDA_STD_HEADER(header) <cuda/std/header>", or an #include of such a macro. */
struct header_macro {
    char *name;
    char *text; /* with the parameter replaced by PARAMETER; or the argument of the #include */
    char *path; /* of the file with the #include; NULL: a definition */
    int line;
};

enum { PARAMETER = 1 };

/* What one source_load() collects. */
struct loading {
    struct source *source;
    const struct source *texts; /* of the files, in place of theirs; NULL: they are read */
    char **names;               /* by which its files but the first were found first */
    size_t name_count;
    struct hashes hashes;
    char *macro; /* whose #include was found first; its place */
    char *macro_path;
    int macro_line;
    struct header_macro *macros;
    size_t macro_count;
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

/* --- hashing --- */

/*
 * Adds the lexer's token; the one before it was of the kind `last`. White space counts behind the name
 * that a #define defines, and between a name and a literal. Everything else about it is in the tokens,
 * unless a macro makes text of its argument.
 */
static void hash_token(struct hashes *hashes, const struct source_lexer *lexer,
                       enum token_kind kind, enum token_kind last, bool space_counts)
{
    bool literal =
        (kind == TOKEN_TEXT && last == TOKEN_NAME) || (kind == TOKEN_NAME && last == TOKEN_TEXT);
    const char tag = (char)kind;
    const char *spaced = lexer->spaced ? "1" : "0";
    struct hash *both[] = {hashes->tokens, hashes->spaced_tokens};
    for (size_t i = 0; i < 2; i++) {
        hash_add(both[i], &tag, 1);
        hash_add(both[i], i == 1 || space_counts || literal ? spaced : "-", 1);
        hash_add_text(both[i], lexer->token);
    }
}

/* Adds what an #include was found to mean. */
static void hash_meaning(struct hashes *hashes, const char *text)
{
    hash_add_text(hashes->text, text);
    hash_add_text(hashes->tokens, text);
    hash_add_text(hashes->spaced_tokens, text);
}

/* --- finding --- */

/* The index of the file; file_count if it is new. */
static size_t index_of(const struct source *source, const char *path)
{
    size_t index = 0;
    while (index < source->file_count && strcmp(source->files[index].path, path) != 0)
        index++;
    return index;
}

static void add_toolkit_header(struct source *source, const char *name)
{
    for (size_t i = 0; i < source->toolkit_count; i++)
        if (strcmp(source->toolkit_headers[i], name) == 0)
            return;
    *ARRAY_APPEND(source->toolkit_headers, source->toolkit_count) = alloc_string(name);
}

/* Adds to the hashes which file `name` means: its index, or -1 for none. The first of that name goes
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
    hash_meaning(&loading->hashes, choice);
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

/* Pipes and devices count as files here, so that reading one fails: the compiler would wait for a pipe. */
static bool is_file(const char *path)
{
    struct stat information;
    return stat(path, &information) == 0 && !S_ISDIR(information.st_mode);
}

/* The path of FOLDER/NAME or, as in NVRTC, of NAME.stdh for a name without a dot, if that is a file; otherwise NULL.
 * Free it. Links to folders are followed; one to the file is not, because the compiler looks for what the file
 * includes beside the link. */
static char *look_for(struct source *source, const char *folder, const char *name)
{
    char *joined = name[0] == '/' ? alloc_string(name) : alloc_format("%s/%s", folder, name);
    char *own = path_folder(joined);
    char *real = realpath(own, NULL);
    char *path = NULL;
    if (!is_file(joined) && name[0] != '/' && strchr(strrchr(joined, '/'), '.') == NULL)
        alloc_append(&joined, ".stdh");
    if (real != NULL && is_file(joined)) {
        path = alloc_format("%s%s", strcmp(real, "/") == 0 ? "" : real, strrchr(joined, '/'));
        if (name[0] == '/')
            note_way(source, SOURCE_WAY_NAME, name, NULL);
        note_ways(source, joined);
    }
    free(real);
    free(own);
    free(joined);
    return path;
}

/* Adds a header that was found as `name`; takes `path`, which may be NULL. */
static bool add_header(struct loading *loading, const char *name, char *path, bool all_folders)
{
    struct source *source = loading->source;
    if (path == NULL)
        return false;
    size_t index = index_of(source, path);
    if (index < source->file_count) {
        hash_choice(loading, name, (long)index, all_folders);
        free(path);
        return true;
    }
    /* the name, not the path: the checkout may move */
    hash_meaning(&loading->hashes, name);
    ARRAY_APPEND(source->files, source->file_count)->path = path;
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

/* An #include or __has_include of a macro: which file it reads is not determined. */
static void note_macro(struct loading *loading, const char *name, const char *path, int line)
{
    loading->hashes.stringifies = true; /* white space is part of a name */
    if (loading->macro != NULL || loading->shadowing)
        return;
    loading->macro = alloc_string(name);
    loading->macro_path = alloc_string(path);
    loading->macro_line = line;
}

static enum token_kind next_token(struct scan *scan, bool space_counts)
{
    enum token_kind kind = source_lexer_next(&scan->lexer);
    struct loading *loading = scan->loading;
    const char *token = scan->lexer.token;
    hash_token(&loading->hashes, &scan->lexer, kind, scan->last, space_counts);
    if (kind == TOKEN_HEADER)
        take_header(loading, scan->path, token, scan->tests_only, scan->all_folders);
    if (kind == TOKEN_NAME && scan->test == TEST_OPEN && !scan->function_like)
        note_macro(loading, token, scan->path,
                   scan->lexer.line); /* otherwise it may be a parameter */
    if (kind == TOKEN_NAME) {
        *ARRAY_APPEND(loading->source->names, loading->source->name_count) =
            (struct source_name){alloc_string(token), !loading->shadowing, scan->directive};
        scan->tests_only = strncmp(token, "include", strlen("include")) != 0;
        scan->all_folders = strlen(token) > 5 && strcmp(token + strlen(token) - 5, "_next") == 0;
    }
    if (kind == TOKEN_NAME && strncmp(token, "__has_include", strlen("__has_include")) == 0)
        scan->test = TEST_NAMED;
    else
        scan->test = scan->test == TEST_NAMED && token_is(scan, "(") ? TEST_OPEN : TEST_NONE;
    if (scan->directive && kind == TOKEN_PUNCTUATION &&
        (token_is(scan, "#") || token_is(scan, "%:")))
        loading->hashes.stringifies = true;
    scan->directive = kind == TOKEN_DIRECTIVE || (scan->directive && kind != TOKEN_DIRECTIVE_END);
    scan->function_like = scan->function_like && scan->directive;
    scan->last = kind;
    return kind;
}

/* Behind the "(" of a macro's definition: notes it if it has one parameter and makes a <header> of it. */
static void scan_definition(struct scan *scan, const char *name)
{
    struct loading *loading = scan->loading;
    char *parameter = NULL;
    char *text = alloc_string("");
    enum token_kind kind = next_token(scan, false);
    if (kind == TOKEN_NAME)
        parameter = alloc_string(scan->lexer.token);
    bool one =
        parameter != NULL && next_token(scan, false) == TOKEN_PUNCTUATION && token_is(scan, ")");
    while (one && (kind = next_token(scan, false)) != TOKEN_DIRECTIVE_END && kind != TOKEN_END) {
        bool is_parameter = kind == TOKEN_NAME && token_is(scan, parameter);
        const char own[] = {PARAMETER, '\0'};
        alloc_append(&text, "%s", is_parameter ? own : scan->lexer.token);
    }
    size_t length = strlen(text);
    if (one && !loading->shadowing && length > 2 && text[0] == '<' && text[length - 1] == '>')
        *ARRAY_APPEND(loading->macros, loading->macro_count) =
            (struct header_macro){.name = alloc_string(name), .text = alloc_string(text)};
    free(parameter);
    free(text);
}

/* An #include of the macro that is the current token: of "NAME(argument)", what its definitions make of it is included,
 * whichever counts; of anything else, it is unknown. */
static void scan_macro_include(struct scan *scan)
{
    struct loading *loading = scan->loading;
    const int line = scan->lexer.line;
    char *name = alloc_string(scan->lexer.token);
    char *argument = NULL;
    bool is_name = scan->last == TOKEN_NAME;
    if (is_name && next_token(scan, false) == TOKEN_PUNCTUATION && token_is(scan, "(") &&
        next_token(scan, false) == TOKEN_NAME)
        argument = alloc_string(scan->lexer.token);
    bool call =
        argument != NULL && next_token(scan, false) == TOKEN_PUNCTUATION && token_is(scan, ")");
    loading->hashes.stringifies = true; /* white space is part of a name */
    if (call && !loading->shadowing) {
        *ARRAY_APPEND(loading->macros, loading->macro_count) =
            (struct header_macro){name, argument, alloc_string(scan->path), line};
        return;
    }
    note_macro(loading, name, scan->path, line);
    free(name);
    free(argument);
}

/* Takes the headers that macros make. */
static void take_macro_headers(struct loading *loading)
{
    for (size_t i = 0; i < loading->macro_count; i++) {
        const struct header_macro *include = &loading->macros[i];
        bool known = include->path == NULL;
        for (size_t j = 0; j < loading->macro_count; j++) {
            const struct header_macro *macro = &loading->macros[j];
            if (include->path == NULL || macro->path != NULL ||
                strcmp(macro->name, include->name) != 0)
                continue;
            const char *place = strchr(macro->text, PARAMETER);
            size_t before = place != NULL ? (size_t)(place - macro->text) : strlen(macro->text);
            char *header =
                alloc_format("%.*s%s%s", (int)before, macro->text,
                             place != NULL ? include->text : "", place != NULL ? place + 1 : "");
            take_header(loading, include->path, header, false, false);
            free(header);
            known = true;
        }
        if (!known)
            note_macro(loading, include->name, include->path, include->line);
    }
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
        if (token_is(&scan, "define")) {
            if (next_token(&scan, false) == TOKEN_NAME) {
                char *name = alloc_string(scan.lexer.token);
                (void)next_token(&scan, true);
                scan.function_like = token_is(&scan, "(") && !scan.lexer.spaced;
                if (scan.function_like)
                    scan_definition(&scan, name);
                free(name);
            }
        } else if (token_is(&scan, "include") || token_is(&scan, "include_next")) {
            kind = next_token(&scan, false);
            if (kind != TOKEN_HEADER && kind != TOKEN_DIRECTIVE_END)
                scan_macro_include(&scan);
        }
    }
    source_lexer_release(&scan.lexer);
}

/* Reads one file, hashes it and appends the headers that it includes. */
static int load_file(struct loading *loading, struct source_file *file, struct error *error)
{
    const char *path = file->path;
    size_t known = loading->texts != NULL ? index_of(loading->texts, path) : 0;
    int status = 0;
    if (loading->texts != NULL && known < loading->texts->followed_count) {
        file->text = alloc_string(loading->texts->files[known].text);
        file->bytes = strlen(file->text);
    } else {
        status = read_file(path, &file->text, &file->bytes, error);
    }
    if (status != 0)
        return status;
    const char *text = file->text;
    hash_of(text, file->bytes, file->hash);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): error_set() never returns 0 */
    if (strlen(text) != file->bytes && !loading->shadowing)
        return error_set(error, ERROR_CONFIG,
                         "'%s' contains a zero byte; it must be a CUDA C++ source in plain text",
                         path);
    hash_add_text(loading->hashes.text, text);
    scan_text(loading, path, text); /* may move the files */
    return 0;
}

/* Loads the files from number `first` on, and those that they include. */
static int load_files(struct loading *loading, size_t first, struct error *error)
{
    int status = 0;
    for (size_t i = first; status == 0 && i < loading->source->file_count; i++) { /* grows */
        status = load_file(loading, &loading->source->files[i], error);
        if (i + 1 == loading->source->file_count)
            take_macro_headers(loading);
    }
    return status;
}

static int check_macros(const struct loading *loading, struct error *error)
{
    if (loading->macro == NULL || loading->source->depend_count > 0)
        return 0;
    return error_set_at(error, ERROR_CONFIG, loading->macro_path, loading->macro_line,
                        "cannot tell which file the #include of '%s' reads; write its name, or "
                        "list the files that it can read as 'depends' in the template's "
                        "[kernel]",
                        loading->macro);
}

/* --- what the toolkit's headers include from the user's folders --- */

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Appends the headers in `folder` that have a name of the toolkit's. */
static void add_shadowing(struct loading *loading, const char *folder)
{
    static const char texts[] = "*.@(h|hpp|cuh|inl|stdh)";
    char *path = alloc_string(folder);
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
    FTSENT *file;
    while (tree != NULL && (file = fts_read(tree)) != NULL) {
        if (file->fts_level == 1 &&
            !toolkit_header_is_named(file->fts_name, file->fts_info == FTS_D)) {
            (void)fts_set(tree, file, FTS_SKIP);
        } else if (file->fts_info == FTS_F && (strchr(file->fts_name, '.') == NULL ||
                                               fnmatch(texts, file->fts_name, FNM_EXTMATCH) == 0)) {
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
    source->followed_count = source->file_count;
    loading->shadowing = true;
    for (size_t i = 0; i < source->include_count && source->toolkit_count > 0; i++)
        add_shadowing(loading, source->include_folders[i]);
    return load_files(loading, source->followed_count, error);
}

static int compare_source_names(const void *left, const void *right)
{
    return strcmp(((const struct source_name *)left)->text,
                  ((const struct source_name *)right)->text);
}

/* Sorts them, and leaves one of each. */
static void join_names(struct source *source)
{
    size_t count = 0;
    if (source->name_count > 0)
        qsort(source->names, source->name_count, sizeof *source->names, compare_source_names);
    for (size_t i = 0; i < source->name_count; i++) {
        struct source_name *name = &source->names[i];
        struct source_name *last = count > 0 ? &source->names[count - 1] : NULL;
        if (last == NULL || strcmp(last->text, name->text) != 0) {
            source->names[count++] = *name;
            continue;
        }
        last->followed = last->followed || name->followed;
        last->in_directive = last->in_directive || name->in_directive;
        free(name->text);
    }
    source->name_count = count;
}

static void loading_finish(struct loading *loading)
{
    struct source *source = loading->source;
    struct hashes *hashes = &loading->hashes;
    char other[HASH_BYTES];
    hash_finish(hashes->text, source->text_hash);
    hash_finish(hashes->tokens, hashes->stringifies ? other : source->hash);
    hash_finish(hashes->spaced_tokens, hashes->stringifies ? source->hash : other);
    join_names(source);
    texts_free(loading->names, loading->name_count);
    for (size_t i = 0; i < loading->macro_count; i++) {
        free(loading->macros[i].name);
        free(loading->macros[i].text);
        free(loading->macros[i].path);
    }
    free(loading->macros);
    free(loading->macro);
    free(loading->macro_path);
}

const struct source_name *source_find_name(const struct source *source, const char *name)
{
    const struct source_name key = {.text = (char *)(uintptr_t)name};
    return source->name_count == 0 ? NULL
                                   : bsearch(&key, source->names, source->name_count,
                                             sizeof *source->names, compare_source_names);
}

static int resolve_folders(struct source *source, const char *const *folders, size_t folder_count,
                           struct error *error)
{
    char *own = path_folder(source->files[0].path);
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

/* The names of units behind the first count, as those of headers do. */
static int find_units(struct loading *loading, const struct source_files *files,
                      struct error *error)
{
    struct source *source = loading->source;
    for (size_t i = 0; i < files->path_count; i++) {
        char *path = realpath(files->paths[i], NULL);
        if (path == NULL)
            return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", files->paths[i]);
        if (i == 0)
            ARRAY_APPEND(source->files, source->file_count)->path = path;
        else
            (void)add_header(loading, strrchr(path, '/') + 1, path, false);
        if (source->file_count == i)
            return error_set(error, ERROR_CONFIG, "'%s' is listed twice", files->paths[i]);
        source->unit_count++;
    }
    return 0;
}

/* "name" is a file of the user's, <name> may be the toolkit's. */
static int find_depends(struct loading *loading, const struct source_files *files,
                        struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < files->depend_count && status == 0; i++) {
        const char *text = files->depends[i];
        size_t length = strlen(text);
        bool angled = length > 2 && text[0] == '<' && text[length - 1] == '>';
        char *name = alloc_string_n(text + angled, length - 2 * (size_t)angled);
        bool found = find_header(loading, loading->source->files[0].path, name, !angled, false);
        if (!found && angled)
            add_toolkit_header(loading->source, name);
        else if (!found)
            status = error_set(error, ERROR_CONFIG,
                               "cannot find '%s', which 'depends' names, beside '%s' or in an "
                               "include folder; a header of the toolkit's is written <name>",
                               name, loading->source->files[0].path);
        free(name);
    }
    return status;
}

int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error)
{
    const struct source_files files = {
        .paths = &path, .path_count = 1, .folders = folders, .folder_count = folder_count};
    return source_load_files(source, &files, error);
}

/* `texts` may be NULL. */
static int load_once(struct source *source, const struct source_files *files,
                     const struct source *texts, struct error *error)
{
    *source = (struct source){0};
    struct loading loading = {
        .source = source, .texts = texts, .hashes = {hash_new(), hash_new(), hash_new(), false}};
    for (size_t i = 0; i < files->depend_count; i++)
        *ARRAY_APPEND(source->depends, source->depend_count) = alloc_string(files->depends[i]);
    int status = find_units(&loading, files, error);
    if (status == 0)
        status = resolve_folders(source, files->folders, files->folder_count, error);
    if (status == 0)
        status = find_depends(&loading, files, error);
    if (status == 0)
        status = load_files(&loading, 0, error);
    if (status == 0)
        status = check_macros(&loading, error);
    if (status == 0)
        status = load_shadowing(&loading, error);
    loading_finish(&loading);
    if (status != 0)
        source_release(source);
    return status;
}

/* Replaces the texts of the files that are followed by what stays of them, and puts what is left out into `code`. */
static void remove_host_code(struct source *source, const struct source_files *files,
                             struct host_code *code)
{
    code->text_count = source->followed_count;
    code->unit_count = source->unit_count;
    code->texts = alloc_zeroed(code->text_count, sizeof *code->texts);
    code->roots = files->roots;
    code->root_count = files->root_count;
    code->headers = source->toolkit_headers;
    code->header_count = source->toolkit_count;
    for (size_t i = 0; i < code->text_count; i++)
        code->texts[i] = source->files[i].text;
    host_code_remove(code);
    for (size_t i = 0; i < code->text_count; i++)
        source->files[i].text = code->texts[i];
    free(code->texts);
}

int source_load_files(struct source *source, const struct source_files *files, struct error *error)
{
    struct source whole;
    struct host_code code = {0};
    int status = load_once(source, files, NULL, error);
    if (status != 0 || files->root_count == 0)
        return status;
    whole = *source;
    remove_host_code(&whole, files, &code);
    status = load_once(source, files, &whole, error);
    source->left_out = code.left_out;
    source->left_out_count = code.left_out_count;
    for (size_t i = 0; i < files->root_count; i++)
        *ARRAY_APPEND(source->roots, source->root_count) = alloc_string(files->roots[i]);
    if (status != 0)
        source_release(source);
    source_release(&whole);
    return status;
}

int source_check(const struct source *source, struct error *error)
{
    const char **paths = NULL;
    size_t count = 0;
    if (source->include_count == 0) /* the tuner's own, which is no file */
        return 0;
    for (size_t i = 0; i < source->unit_count; i++)
        *ARRAY_APPEND(paths, count) = source->files[i].path;
    struct source now;
    const struct source_files files = {.paths = paths,
                                       .path_count = count,
                                       .folders = (const char *const *)source->include_folders + 1,
                                       .folder_count = source->include_count - 1,
                                       .depends = (const char *const *)source->depends,
                                       .depend_count = source->depend_count,
                                       .roots = (const char *const *)source->roots,
                                       .root_count = source->root_count};
    int status = source_load_files(&now, &files, error);
    if (status == 0 && strcmp(now.text_hash, source->text_hash) != 0)
        status = error_set(error, ERROR_CONFIG,
                           "'%s' or a header that it includes has changed since it was read; read "
                           "it again, as by starting again",
                           source->files[0].path);
    source_release(&now);
    free(paths);
    return status;
}

void source_release(struct source *source)
{
    for (size_t i = 0; i < source->file_count; i++) {
        free(source->files[i].path);
        free(source->files[i].text);
    }
    free(source->files);
    for (size_t i = 0; i < source->name_count; i++)
        free(source->names[i].text);
    free(source->names);
    for (size_t i = 0; i < source->way_count; i++) {
        free(source->ways[i].path);
        free(source->ways[i].target);
    }
    free(source->ways);
    texts_free(source->include_folders, source->include_count);
    texts_free(source->depends, source->depend_count);
    texts_free(source->roots, source->root_count);
    for (size_t i = 0; i < source->left_out_count; i++)
        free(source->left_out[i].name);
    free(source->left_out);
    texts_free(source->toolkit_headers, source->toolkit_count);
    *source = (struct source){0};
}
