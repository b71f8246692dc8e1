#include "exchange/json_file.h"

#include "base/read_file.h"

#include <stdlib.h>

int json_file_read(const char *path, json_t **json, struct error *error)
{
    char *text;
    json_error_t reason;
    *json = NULL;
    int status = read_file(path, &text, NULL, error);
    if (status != 0)
        return status;
    *json = json_loads(text, JSON_REJECT_DUPLICATES, &reason);
    free(text);
    if (*json != NULL)
        return 0;
    return error_set_at(error, ERROR_CONFIG, path, reason.line > 0 ? reason.line : 0,
                        "not JSON: %s", reason.text);
}
