/* Text in JSON. */
#ifndef AUTOTUNE_JSON_TEXT_H
#define AUTOTUNE_JSON_TEXT_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* `text` as a JSON string, or null for NULL. JSON must be UTF-8, which a compiler's log or a path may
 * not be: then each byte that is not ASCII becomes '?'. */
json_t *json_text(const char *text);

/* Whether `text` is UTF-8, as messages between processes are. */
bool json_text_is_utf8(const char *text);

/* The text of an object's member, which lasts as long as the object; "" if there is none. */
const char *json_text_member(const json_t *object, const char *member);

/* Reads a regular file of any size. Returns 0 with a new reference, or ERROR_CONFIG with the file, and the line if
 * it is not JSON; then `*json` is NULL. */
int json_read_file(const char *path, json_t **json, struct error *error);

/* Makes jansson allocate or abort, as alloc.h does: without memory, a message would be incomplete, and
 * whoever sent it blamed. Call it before anything of jansson is used. */
void json_text_set_alloc(void);

#endif
