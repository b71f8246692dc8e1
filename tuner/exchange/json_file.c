#include "exchange/json_file.h"

#include "base/open_regular.h"

#include <stdbool.h>
#include <stdio.h>

int json_file_read(const char *path, json_t **json, struct error *error)
{
    json_error_t reason = {0};
    *json = NULL;
    FILE *stream = open_regular(path);
    if (stream == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", path);
    *json = json_loadf(stream, JSON_REJECT_DUPLICATES, &reason);
    bool failed = ferror(stream) != 0;
    (void)fclose(stream); /* cannot lose data: the file was only read */
    if (*json != NULL)
        return 0;
    return error_set_at(error, ERROR_CONFIG, path, reason.line > 0 ? reason.line : 0, "%s: %s",
                        failed ? "cannot be read" : "not JSON", reason.text);
}
