/*
 * Expressions in Python, as far as other tuners' files have them: in lists of values and in
 * constraints.
 *
 *     python_parse(&python, "32 <= x * y <= 1024", &error);
 *     ... python.root ...
 *     python_release(&python);
 *
 * What belongs to Python but not to such files (lambda, slices, dictionaries, …) is refused with
 * its text. Untrusted text is safe: length and depth are limited, and nothing is run here.
 */
#ifndef AUTOTUNE_PYTHON_H
#define AUTOTUNE_PYTHON_H

#include "base/error.h"
#include "exchange/python_node.h"

/* Returns 0, or ERROR_CONFIG without a place. Release `python` in any case. */
int python_parse(struct python *python, const char *text, struct error *error);
void python_release(struct python *python);

/* "<=" */
const char *python_operation_text(enum python_operation operation);

#endif
