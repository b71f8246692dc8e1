/*
 * The functions that an expression may call, as Lua sees them. Each checks its arguments and raises
 * a Lua error for a wrong number or kind, or for a result beyond 64 bits; call them protected. To
 * add one: write call_NAME(), add it to the table at the end of the .c, to README of
 * kernel_templates, and to the names that template_names.c reserves.
 */
#ifndef AUTOTUNE_EXPRESSION_FUNCTIONS_H
#define AUTOTUNE_EXPRESSION_FUNCTIONS_H

#include <lua.h>
#include <stdbool.h>

/* Makes them globals of `lua`. */
void expression_functions_register(lua_State *lua);

/* Whether one of them is called `name`. */
bool expression_functions_have(const char *name);

#endif
