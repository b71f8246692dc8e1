/*
 * Expressions without calls as steps of our own, for enumerating: a constraint over many parameters
 * is evaluated for every combination, and entering Lua takes longer than evaluating. Steps compute
 * what Lua would, on the values as they are; what they do not know (functions, nil) is left to Lua,
 * and so is what Lua refuses, so that every message is Lua's.
 */
#ifndef AUTOTUNE_EXPRESSION_CODE_H
#define AUTOTUNE_EXPRESSION_CODE_H

#include "template/expression_text.h"
#include "template/value.h"

#include <stdbool.h>

struct expression_code;

/* The steps of a text that Lua has accepted; NULL where something in it is not known here. */
struct expression_code *expression_code_new(const struct expression_text *source);
void expression_code_free(struct expression_code *code); /* NULL is allowed */

/* Evaluates; `values[i]` is that of source->names[i]. False where it is not for us to say: the
 * result is no boolean, or Lua would refuse, or numbers do not compare exactly. */
bool expression_code_decide(const struct expression_code *code, const struct value *const *values,
                            bool *result);

#endif
