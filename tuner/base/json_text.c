#include "base/json_text.h"

#include "base/alloc.h"
#include "base/read_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

json_t *json_text(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    char *ascii = alloc_string(text);
    for (char *byte = ascii; *byte != '\0'; byte++)
        if ((unsigned char)*byte >= 0x80)
            *byte = '?';
    json = json_string(ascii);
    free(ascii);
    return json;
}

bool json_text_is_utf8(const char *text)
{
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL;
}

const char *json_text_member(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

static void *allocate(size_t bytes)
{
    return alloc_resize(NULL, bytes, 1);
}

void json_text_set_alloc(void)
{
    json_set_alloc_funcs(allocate, free);
}

int json_read_file(const char *path, json_t **json, struct error *error)
{
    json_error_t reason;
    *json = NULL;
    FILE *stream = open_regular(path);
    if (stream == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", path);
    *json = json_loadf(stream, JSON_REJECT_DUPLICATES, &reason);
    bool failed = ferror(stream) != 0;
    int number = errno;
    (void)fclose(stream); /* cannot lose data: the file was only read */
    errno = number;
    if (*json != NULL)
        return 0;
    return failed
               ? error_set_errno(error, ERROR_CONFIG, "cannot read '%s'", path)
               : error_set_at(error, ERROR_CONFIG, path, reason.line, "not JSON: %s", reason.text);
}
