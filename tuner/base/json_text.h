/* Text in JSON, which is UTF-8: a compiler's log or a path may be anything. */
#ifndef AUTOTUNE_JSON_TEXT_H
#define AUTOTUNE_JSON_TEXT_H

#include <jansson.h>

/* `text` as a JSON string; if it is not UTF-8, with '?' for every byte that is not ASCII. NULL gives
 * null. */
json_t *json_text(const char *text);

#endif
