/*
 * The values of Python expressions without unknown names, such as "[2**i for i in range(4)]": how
 * other tuners' files list a parameter's values.
 */
#ifndef AUTOTUNE_PYTHON_EVALUATE_H
#define AUTOTUNE_PYTHON_EVALUATE_H

#include "base/error.h"
#include "exchange/python_node.h"
#include "exchange/python_value.h"

enum { PYTHON_ITEM_LIMIT = 65536 }; /* of all lists that an expression makes */

/* Evaluates `node`. Returns 0, or ERROR_CONFIG without a place, with the text of the part that
 * cannot be evaluated. Release `value` in any case. */
int python_evaluate(const struct python_node *node, struct python_value *value,
                    struct error *error);

/* The same for a text. */
int python_evaluate_text(const char *text, struct python_value *value, struct error *error);

#endif
