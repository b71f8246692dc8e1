/*
 * A kernel source with the user's headers that it includes, and two hashes over all of them. The
 * hash of the text ties a cubin in the cache to every byte. The hash of the tokens ties a measurement
 * to what is compiled. It does not change with comments, white space and line numbers, so __LINE__
 * and the line in the message of an assert() may differ between two sources of the same hash.
 */
#ifndef AUTOTUNE_SOURCE_H
#define AUTOTUNE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"
#include "template/host_code.h"

#include <stdbool.h>
#include <stddef.h>

/* A file as it was when it was read. */
struct source_file {
    char *path;            /* absolute, without symbolic links to folders */
    char *text;            /* with a null character behind it */
    size_t bytes;          /* of the text */
    char hash[HASH_BYTES]; /* of the text */
};

/* What an #include needs besides its file. */
enum source_way_kind {
    SOURCE_WAY_LINK,   /* a symbolic link to a folder */
    SOURCE_WAY_FOLDER, /* a folder that it passes: "sub/../x.h" */
    SOURCE_WAY_NAME    /* it names an absolute path */
};

struct source_way {
    enum source_way_kind kind;
    char *path;
    char *target; /* of a link; otherwise NULL */
};

/* A name that occurs outside of comments and texts. */
struct source_name {
    char *text;
    bool followed;     /* in a file that is included, not only by the toolkit's headers */
    bool in_directive; /* what a macro may change */
};

struct source {
    /* All that the compiler reads: the translation units, the included files found in the folders below,
     * and files that they include; then files that only the toolkit's headers may include. */
    struct source_file *files;
    size_t file_count;
    size_t unit_count;
    size_t followed_count; /* of the files: those before the latter */
    struct source_way *ways;
    size_t way_count;
    /* absolute: the first unit's own folder, then the caller's; the tuner's own source has none */
    char **include_folders;
    size_t include_count;
    char **depends; /* struct source_files has these */
    size_t depend_count;
    char **toolkit_headers; /* names of the included files not found */
    size_t toolkit_count;
    char **roots; /* struct source_files has these */
    size_t root_count;
    struct host_code_left_out *left_out;
    size_t left_out_count;
    struct source_name *names; /* each once, sorted */
    size_t name_count;
    char text_hash[HASH_BYTES]; /* of every byte of the source and its headers */
    char hash[HASH_BYTES];      /* of their tokens: comments and layout do not change it */
};

/*
 * Reads `path` and each header once. It searches like the compiler: #include "…" in the including
 * file's folder first, then both kinds in the source's folder and `folders`, which are relative to
 * the source's folder. In each folder, NAME.stdh stands in for a NAME without a dot. A header that is not found is
 * taken to be the toolkit's; nvrtc_build() identifies its content. Since it searches the folders as well for what it includes, the files
 * there that have a name of the toolkit's (cuda_runtime_api.h, cub/…) count, with what they include.
 * The folders are searched for __has_include and #include_next as well. Macros are not expanded.
 *
 * Returns 0, or ERROR_CONFIG with the file or folder that cannot be read, or with an #include
 * of a macro that no `depends` is stated for; `source` is then empty.
 */
int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error);

/* What to load: at least one path. */
struct source_files {
    const char *const *paths; /* the units */
    size_t path_count;
    const char *const *folders;
    size_t folder_count;
    /* More headers, as if the source included them: name or <name>. An #include or __has_include of a
     * macro is allowed only with these, which are what it may read. */
    const char *const *depends;
    size_t depend_count;
    /* At least one: the code of the host is left out, except what these texts name (template/host_code.h). What is
     * read, sent and hashed is then what is left. */
    const char *const *roots;
    size_t root_count;
};

/* The same for several units and for headers that only a macro names. */
int source_load_files(struct source *source, const struct source_files *files, struct error *error);

/* NULL: it does not occur. */
const struct source_name *source_find_name(const struct source *source, const char *name);

/* For a compiler that reads the files again: 0 if that finds the same files with the same bytes, otherwise
 * ERROR_CONFIG. */
int source_check(const struct source *source, struct error *error);

void source_release(struct source *source);

#endif
