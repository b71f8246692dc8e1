#include "template/expression.h"

#include "base/alloc.h"
#include "template/expression_code.h"
#include "template/expression_functions.h"
#include "template/expression_text.h"

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSTRUCTION_LIMIT = 100000,     /* Lua instructions an evaluation */
    MEMORY_LIMIT = 4 * 1024 * 1024, /* bytes of the whole Lua state */
};

struct evaluator {
    lua_State *lua;
    size_t bytes; /* in use by Lua */
};

struct expression {
    struct evaluator *evaluator;
    struct expression_text source;
    int reference;                /* of the compiled function in Lua's registry */
    struct expression_code *code; /* the same without Lua; NULL where only Lua can */
};

/* -- the evaluator -------------------------------------------------------------------------------
 */

static void *limited_allocate(void *user, void *pointer, size_t old_size, size_t new_size)
{
    struct evaluator *evaluator = user;
    size_t old_bytes = pointer != NULL ? old_size : 0; /* otherwise it is a type tag */
    if (new_size == 0) {
        free(pointer);
        evaluator->bytes -= old_bytes;
        return NULL;
    }
    if (new_size > old_bytes && evaluator->bytes + (new_size - old_bytes) > MEMORY_LIMIT)
        return NULL;
    void *moved = realloc(pointer, new_size);
    if (moved != NULL)
        evaluator->bytes = evaluator->bytes - old_bytes + new_size;
    return moved;
}

static void stop_runaway(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    (void)luaL_error(lua, "takes too many steps");
}

struct evaluator *evaluator_new(void)
{
    struct evaluator *evaluator = alloc_zeroed(1, sizeof *evaluator);
    evaluator->lua = lua_newstate(limited_allocate, evaluator);
    if (evaluator->lua == NULL)
        abort();
    expression_functions_register(evaluator->lua);
    lua_pushboolean(evaluator->lua, 1);
    lua_setglobal(evaluator->lua, "yes");
    lua_pushboolean(evaluator->lua, 0);
    lua_setglobal(evaluator->lua, "no");
    return evaluator;
}

void evaluator_free(struct evaluator *evaluator)
{
    if (evaluator == NULL)
        return;
    lua_close(evaluator->lua);
    free(evaluator);
}

/* -- compiling -----------------------------------------------------------------------------------
 */

/* "[string "…"]:1: unexpected symbol near ')'" without its beginning. */
static const char *lua_message(lua_State *lua)
{
    const char *message = lua_tostring(lua, -1);
    if (message == NULL)
        return "failed";
    const char *tail = strstr(message, "]:1: ");
    return tail != NULL ? tail + 5 : message;
}

/* Runs under protection: both loading and keeping the function may run out of the evaluator's
 * memory. */
static int compile_protected(lua_State *lua)
{
    struct expression *expression = lua_touserdata(lua, 1);
    const char *text = lua_touserdata(lua, 2);
    if (luaL_loadbufferx(lua, text, strlen(text), "expression", "t") != LUA_OK)
        return lua_error(lua);
    expression->reference = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

static int compile(struct expression *expression, struct error *error)
{
    lua_State *lua = expression->evaluator->lua;
    char *text = expression_text_lua(&expression->source);
    lua_settop(lua, 0);
    lua_pushcfunction(lua, compile_protected);
    lua_pushlightuserdata(lua, expression);
    lua_pushlightuserdata(lua, text);
    int status = lua_pcall(lua, 2, 0, 0);
    free(text);
    if (status == LUA_OK)
        return 0;
    return error_set_at(error, ERROR_CONFIG, expression->source.file, expression->source.line,
                        "cannot parse expression '%s': %s", expression->source.text,
                        lua_message(lua));
}

int expression_new(struct expression **expression, struct evaluator *evaluator, const char *text,
                   const char *file, int line, struct error *error)
{
    struct expression *new = alloc_zeroed(1, sizeof *new);
    *expression = NULL;
    new->evaluator = evaluator;
    new->source = (struct expression_text){.text = alloc_string(text), .file = file, .line = line};
    new->reference = LUA_NOREF;
    int status = expression_text_check(&new->source, error);
    if (status == 0)
        status = compile(new, error);
    if (status != 0) {
        expression_free(new);
        return status;
    }
    new->code = expression_code_new(&new->source);
    *expression = new;
    return 0;
}

void expression_free(struct expression *expression)
{
    if (expression == NULL)
        return;
    luaL_unref(expression->evaluator->lua, LUA_REGISTRYINDEX, expression->reference);
    expression_code_free(expression->code);
    expression_text_release(&expression->source);
    free(expression);
}

const char *expression_text(const struct expression *expression)
{
    return expression->source.text;
}

size_t expression_name_count(const struct expression *expression)
{
    return expression->source.name_count;
}

const char *expression_name(const struct expression *expression, size_t index)
{
    return expression->source.names[index];
}

bool expression_uses(const struct expression *expression, const char *name)
{
    return expression_text_uses(&expression->source, name);
}

int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error)
{
    return expression_text_check_names(&expression->source, known, error);
}

/* -- evaluating ----------------------------------------------------------------------------------
 */

static void push_value(lua_State *lua, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INTEGER:
        lua_pushinteger(lua, value->as.integer);
        break;
    case VALUE_REAL:
        lua_pushnumber(lua, value->as.real);
        break;
    case VALUE_WORD:
        lua_pushstring(lua, value->as.word);
        break;
    case VALUE_BOOLEAN:
        lua_pushboolean(lua, value->as.boolean);
        break;
    }
}

/* The value on top of Lua's stack; its word stays good because evaluate() leaves it there. */
static bool top_value(lua_State *lua, struct value *value)
{
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        *value = lua_isinteger(lua, -1) ? value_integer(lua_tointeger(lua, -1))
                                        : value_real(lua_tonumber(lua, -1));
        return true;
    case LUA_TSTRING:
        *value = value_word(lua_tostring(lua, -1));
        return true;
    case LUA_TBOOLEAN:
        *value = value_boolean(lua_toboolean(lua, -1) != 0);
        return true;
    default:
        return false;
    }
}

static int evaluation_error(const struct expression *expression, struct error *error,
                            const char *message)
{
    return error_set_at(error, ERROR_CONFIG, expression->source.file, expression->source.line,
                        "cannot evaluate '%s': %s", expression->source.text, message);
}

/* Runs under protection: pushing a word allocates, and may run out of the evaluator's memory. */
struct evaluation {
    const struct expression *expression;
    const struct value *const *values;
};

static int evaluate_protected(lua_State *lua)
{
    const struct evaluation *evaluation = lua_touserdata(lua, 1);
    size_t count = evaluation->expression->source.name_count;
    luaL_checkstack(lua, (int)count + 1, "too many names");
    lua_rawgeti(lua, LUA_REGISTRYINDEX, evaluation->expression->reference);
    for (size_t i = 0; i < count; i++)
        push_value(lua, evaluation->values[i]);
    lua_call(lua, (int)count, 1);
    return 1;
}

static int evaluate(const struct expression *expression, const struct value *const *values,
                    struct value *value, struct error *error)
{
    lua_State *lua = expression->evaluator->lua;
    struct evaluation evaluation = {expression, values};
    lua_settop(lua, 0);
    lua_pushcfunction(lua, evaluate_protected);
    lua_pushlightuserdata(lua, &evaluation);
    lua_sethook(lua, stop_runaway, LUA_MASKCOUNT, INSTRUCTION_LIMIT);
    if (lua_pcall(lua, 1, 1, 0) != LUA_OK)
        return evaluation_error(expression, error, lua_message(lua));
    if (!top_value(lua, value))
        return evaluation_error(expression, error, "it has no value");
    return 0;
}

static const struct value *scope_find(const struct scope *scope, const char *name)
{
    for (; scope != NULL; scope = scope->outer) {
        const struct value *value = bindings_find(scope->bindings, name);
        if (value != NULL)
            return value;
    }
    return NULL;
}

static int no_value(const struct expression *expression, const char *name, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, expression->source.file, expression->source.line,
                        "'%s' has no value here, in expression '%s'", name,
                        expression->source.text);
}

int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    for (size_t i = 0; i < expression->source.name_count; i++) {
        values[i] = scope_find(scope, expression->source.names[i]);
        if (values[i] == NULL)
            return no_value(expression, expression->source.names[i], error);
    }
    return evaluate(expression, values, value, error);
}

int expression_integer(const struct expression *expression, const struct scope *scope,
                       int64_t *integer, struct error *error)
{
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    if (status != 0)
        return status;
    lua_Integer whole;
    if (value.kind == VALUE_INTEGER)
        *integer = value.as.integer;
    else if (value.kind == VALUE_REAL && value.as.real == floor(value.as.real) &&
             lua_numbertointeger(value.as.real, &whole))
        *integer = whole;
    else
        return evaluation_error(expression, error,
                                "it is not a whole number; // divides whole numbers, "
                                "ceil_div(a, b) rounds up");
    return 0;
}

int expression_real(const struct expression *expression, const struct scope *scope, double *real,
                    struct error *error)
{
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    if (status != 0)
        return status;
    if (value.kind == VALUE_INTEGER)
        *real = (double)value.as.integer;
    else if (value.kind == VALUE_REAL)
        *real = value.as.real;
    else
        return evaluation_error(expression, error, "it is not a number");
    return 0;
}

static int as_boolean(const struct expression *expression, const struct value *value, bool *boolean,
                      struct error *error)
{
    if (value->kind == VALUE_BOOLEAN)
        *boolean = value->as.boolean;
    else if (value->kind == VALUE_WORD && strcmp(value->as.word, "yes") == 0)
        *boolean = true;
    else if (value->kind == VALUE_WORD && strcmp(value->as.word, "no") == 0)
        *boolean = false;
    else
        return evaluation_error(expression, error, "it is not true or false; compare with ==");
    return 0;
}

int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error)
{
    struct value value = {0};
    int status = expression_value(expression, scope, &value, error);
    return status != 0 ? status : as_boolean(expression, &value, boolean, error);
}

int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error)
{
    struct value value = {0};
    for (size_t i = 0; i < expression->source.name_count; i++)
        if (values[i] == NULL)
            return no_value(expression, expression->source.names[i], error);
    if (expression->code != NULL && expression_code_decide(expression->code, values, boolean))
        return 0;
    int status = evaluate(expression, values, &value, error);
    return status != 0 ? status : as_boolean(expression, &value, boolean, error);
}
