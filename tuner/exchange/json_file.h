/* Reading a file of JSON. */
#ifndef AUTOTUNE_JSON_FILE_H
#define AUTOTUNE_JSON_FILE_H

#include "base/error.h"

#include <jansson.h>

/* Reads a regular file of any size. Returns 0 with a new reference, or ERROR_CONFIG with the
 * file, and the line if it is not JSON; then `*json` is NULL. */
int json_file_read(const char *path, json_t **json, struct error *error);

#endif
