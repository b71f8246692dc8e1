/* A worker's request as it comes from the coordinator: which files it names, and what it is called
 * with the agent's copies of them. tuner/FORMATS.md lists the members. */
#ifndef AUTOTUNE_REQUEST_H
#define AUTOTUNE_REQUEST_H

#include "mpi/mirror.h"

#include <jansson.h>
#include <stdbool.h>

/* The coordinator's paths of all files that the worker will read, absolute; a new array. One that ends
 * in "/" is a folder in which it looks for headers. */
json_t *request_files(const struct mirror *mirror, const json_t *request);

/* Whether it is a request of a kind that names files. */
bool request_names_files(const json_t *request);

/* Puts the agent's paths in place of the coordinator's. Relative ones may stay: workers run in the
 * copy of the coordinator's folder. */
void request_move(const struct mirror *mirror, json_t *request);

#endif
