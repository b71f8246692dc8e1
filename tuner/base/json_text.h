/* Text for JSON, which must be UTF-8. A compiler's log or a path may not be. */
#ifndef AUTOTUNE_JSON_TEXT_H
#define AUTOTUNE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* `text` as a JSON string, or null for NULL. If it is not UTF-8, each byte that is not ASCII
 * becomes '?'. */
json_t *json_text(const char *text);

/* Whether `text` is UTF-8, as messages between processes are. */
bool json_text_is_utf8(const char *text);

#endif
