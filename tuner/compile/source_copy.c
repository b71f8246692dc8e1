#include "compile/source_copy.h"

#include "base/alloc.h"
#include "base/write_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A #line cannot name every file, and a byte order mark stays the first thing of its file. */
int source_copy_file(const char *folder, const char *path, const char *bytes, size_t count,
                     struct error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    char *copy = alloc_format("%s%s", folder, path);
    size_t skipped = strncmp(bytes, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    int status = write_file_make_folders(copy, error);
    FILE *file = status == 0 ? fopen(copy, "wxe") : NULL;
    if (file != NULL && skipped > 0)
        fputs(mark, file);
    if (file != NULL && strpbrk(path, "\"\\\n") == NULL)
        fprintf(file, "#line 1 \"%s\"\n", path);
    if (file != NULL)
        (void)fwrite(bytes + skipped, 1, count - skipped, file);
    bool failed = file == NULL || ferror(file) != 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (status == 0 && failed)
        status = error_set_errno(error, ERROR_RECORD, "cannot write '%s'", copy);
    free(copy);
    return status;
}

char *source_copy_way_path(const char *folder, enum source_way_kind kind, const char *path)
{
    return kind == SOURCE_WAY_NAME
               ? NULL
               : alloc_format("%s%s%s", folder, path, kind == SOURCE_WAY_FOLDER ? "/." : "");
}

/* A link that is a folder already, as a file below it was copied, stays one. */
int source_copy_way(const char *folder, enum source_way_kind kind, const char *path,
                    const char *target, struct error *error)
{
    char *copy = source_copy_way_path(folder, kind, path);
    if (copy == NULL)
        return 0;
    char *there =
        alloc_format("%s%s", target[0] == '/' ? folder : "", target); /* until it is followed */
    int status = write_file_make_folders(copy, error);
    if (status == 0 && target[0] != '\0' && symlink(there, copy) != 0 && errno != EEXIST)
        status = error_set_errno(error, ERROR_RECORD, "cannot create '%s'", copy);
    free(there);
    free(copy);
    return status;
}
