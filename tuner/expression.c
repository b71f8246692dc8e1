#include "expression.h"

#include "alloc.h"
#include "ini.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSTRUCTION_LIMIT = 100000,     /* Lua instructions an evaluation */
    MEMORY_LIMIT = 4 * 1024 * 1024, /* bytes of the whole Lua state */
    TEXT_LIMIT = 4096,              /* bytes of an expression */
    NAME_LIMIT = 32,                /* different names in one */
    DEPTH_LIMIT = 64,               /* nested parentheses */
};

struct evaluator {
    lua_State *lua;
    size_t bytes; /* in use by Lua */
};

struct expression {
    struct evaluator *evaluator;
    char *text;
    const char *file;
    int line;
    char **names;
    size_t name_count;
    int reference; /* of the compiled function in Lua's registry */
};

/* -- functions an expression may call ---------------------------------------------------------- */

/* Lua itself would drop arguments too many in silence. */
static void check_count(lua_State *lua, int count)
{
    if (lua_gettop(lua) != count)
        luaL_error(lua, "takes %d argument(s), not %d", count, lua_gettop(lua));
}

static int call_extreme(lua_State *lua, int operation)
{
    int count = lua_gettop(lua);
    luaL_checknumber(lua, 1);
    int best = 1;
    for (int i = 2; i <= count; i++) {
        luaL_checknumber(lua, i);
        bool better = operation < 0 ? lua_compare(lua, i, best, LUA_OPLT)
                                    : lua_compare(lua, best, i, LUA_OPLT);
        if (better)
            best = i;
    }
    lua_pushvalue(lua, best);
    return 1;
}

static int call_min(lua_State *lua)
{
    return call_extreme(lua, -1);
}

static int call_max(lua_State *lua)
{
    return call_extreme(lua, 1);
}

static int call_abs(lua_State *lua)
{
    check_count(lua, 1);
    if (lua_isinteger(lua, 1)) {
        lua_Integer number = lua_tointeger(lua, 1);
        luaL_argcheck(lua, number != LUA_MININTEGER, 1, "does not fit in 64 bits");
        lua_pushinteger(lua, number < 0 ? -number : number);
    } else {
        lua_pushnumber(lua, fabs(luaL_checknumber(lua, 1)));
    }
    return 1;
}

static int push_rounded(lua_State *lua, double (*round_to)(double))
{
    check_count(lua, 1);
    if (lua_isinteger(lua, 1))
        return 1;
    lua_Integer whole;
    lua_Number number = round_to(luaL_checknumber(lua, 1));
    if (lua_numbertointeger(number, &whole))
        lua_pushinteger(lua, whole);
    else
        lua_pushnumber(lua, number);
    return 1;
}

static int call_floor(lua_State *lua)
{
    return push_rounded(lua, floor);
}

static int call_ceil(lua_State *lua)
{
    return push_rounded(lua, ceil);
}

/* ceil(a / b) for a >= 0, b > 0 without overflow. */
static lua_Integer check_ceil_div(lua_State *lua)
{
    check_count(lua, 2);
    lua_Integer dividend = luaL_checkinteger(lua, 1);
    lua_Integer divisor = luaL_checkinteger(lua, 2);
    luaL_argcheck(lua, divisor > 0, 2, "must be above 0");
    luaL_argcheck(lua, dividend >= 0, 1, "must not be negative");
    return dividend / divisor + (dividend % divisor != 0);
}

static int call_ceil_div(lua_State *lua)
{
    lua_pushinteger(lua, check_ceil_div(lua));
    return 1;
}

static int call_round_up(lua_State *lua)
{
    int64_t multiple;
    lua_Integer count = check_ceil_div(lua);
    if (__builtin_mul_overflow(count, luaL_checkinteger(lua, 2), &multiple))
        return luaL_error(lua, "round_up does not fit in 64 bits");
    lua_pushinteger(lua, multiple);
    return 1;
}

static lua_Integer floor_log2(lua_Integer number)
{
    return 63 - __builtin_clzll((unsigned long long)number);
}

static lua_Integer check_log2(lua_State *lua)
{
    check_count(lua, 1);
    lua_Integer number = luaL_checkinteger(lua, 1);
    luaL_argcheck(lua, number > 0, 1, "must be above 0");
    return number;
}

static int call_log2_floor(lua_State *lua)
{
    lua_pushinteger(lua, floor_log2(check_log2(lua)));
    return 1;
}

static int call_log2_ceil(lua_State *lua)
{
    lua_Integer number = check_log2(lua);
    lua_pushinteger(lua, number == 1 ? 0 : floor_log2(number - 1) + 1);
    return 1;
}

static const struct luaL_Reg functions[] = {
    {"min", call_min},
    {"max", call_max},
    {"abs", call_abs},
    {"floor", call_floor},
    {"ceil", call_ceil},
    {"ceil_div", call_ceil_div},
    {"round_up", call_round_up},
    {"log2_floor", call_log2_floor},
    {"log2_ceil", call_log2_ceil},
    {NULL, NULL},
};

static bool is_function(const char *name)
{
    for (size_t i = 0; functions[i].name != NULL; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

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
    lua_pushglobaltable(evaluator->lua);
    luaL_setfuncs(evaluator->lua, functions, 0);
    lua_pop(evaluator->lua, 1);
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

/* -- checking the text ---------------------------------------------------------------------------
 */

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* yes and no are globals of the evaluator, equal to true and false. `in`, a keyword of loops, is a
 * name here: buffers are called so. */
static const char *const allowed_keywords[] = {"and", "or",  "not", "true", "false",
                                               "nil", "yes", "no",  NULL};
static const char *const refused_keywords[] = {
    "break",    "do",    "else",   "elseif", "end",  "for",   "goto",  "if",
    "function", "local", "repeat", "return", "then", "until", "while", NULL};

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static int fail(const struct expression *expression, struct error *error, const char *what,
                const char *subject)
{
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "%s '%s' in expression '%s'; README of kernel_templates lists what an "
                        "expression may contain",
                        what, subject, expression->text);
}

static int take_name(struct expression *expression, const char *start, size_t length,
                     struct error *error)
{
    char name[64];
    if (length >= sizeof name)
        return fail(expression, error, "overlong name", expression->text);
    memcpy(name, start, length);
    name[length] = '\0';
    if (is_among(name, allowed_keywords))
        return 0;
    if (is_among(name, refused_keywords))
        return fail(expression, error, "keyword", name);
    if (strspn(name, NAME_LETTERS) != length)
        return fail(expression, error, "names are lower-case, not", name);
    if (is_function(name) || expression_uses(expression, name))
        return 0;
    if (expression->name_count == NAME_LIMIT)
        return fail(expression, error, "too many names: at most 32, not also", name);
    *ARRAY_APPEND(expression->names, expression->name_count) = alloc_string(name);
    return 0;
}

/* The length of the operator at `text`; 0 where there is none that is allowed. */
static size_t operator_length(const char *text)
{
    static const char *const operators[] = {"==", "~=", "<=", ">=", "//", "+", "-", "*", "/",
                                            "%",  "^",  "<",  ">",  "(",  ")", ",", NULL};
    for (size_t i = 0; operators[i] != NULL; i++)
        if (strncmp(text, operators[i], strlen(operators[i])) == 0)
            return strlen(operators[i]);
    return 0;
}

static size_t number_length(const char *text)
{
    const char *p = text;
    while (isdigit((unsigned char)*p) || *p == '.')
        p++;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        while (isdigit((unsigned char)*p))
            p++;
    }
    return (size_t)(p - text);
}

/* The length of the quoted word at `text`, quotes included; 0 where it holds anything but a word
 * (Lua would take text of digits for a number). */
static size_t string_length(const char *text)
{
    const char *p = text + 1 + strspn(text + 1, NAME_LETTERS);
    return islower((unsigned char)text[1]) && *p == *text ? (size_t)(p + 1 - text) : 0;
}

/* Takes one token; `*length` is its length. */
static int take_token(struct expression *expression, const char *text, size_t *length,
                      struct error *error)
{
    char shown[2] = {*text, '\0'};
    if (isalpha((unsigned char)*text) || *text == '_') {
        *length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        return take_name(expression, text, *length, error);
    }
    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1]))) {
        *length = number_length(text);
        if (isalnum((unsigned char)text[*length]))
            return fail(expression, error, "malformed number at", text);
        return 0;
    }
    if (*text == '"' || *text == '\'') {
        *length = string_length(text);
        return *length > 0 ? 0 : fail(expression, error, "text that is no word at", text);
    }
    if (strncmp(text, "<<", 2) == 0 || strncmp(text, ">>", 2) == 0)
        return fail(expression, error, "multiply or divide by a power of two for", "<< or >>");
    *length = operator_length(text);
    if (*length > 0)
        return 0;
    if (strncmp(text, "!=", 2) == 0)
        return fail(expression, error, "write '~=' for", "!=");
    if (strncmp(text, "&&", 2) == 0)
        return fail(expression, error, "write 'and' for", "&&");
    if (strncmp(text, "||", 2) == 0)
        return fail(expression, error, "write 'or' for", "||");
    return fail(expression, error, "unexpected character", shown);
}

static int check_text(struct expression *expression, struct error *error)
{
    size_t length;
    size_t depth = 0;
    for (const char *p = expression->text; *p != '\0'; p += length) {
        length = strspn(p, " \t");
        if (length > 0)
            continue;
        if (p[0] == '-' && p[1] == '-') /* Lua's comment */
            return fail(expression, error, "unexpected", "--");
        int status = take_token(expression, p, &length, error);
        if (status != 0)
            return status;
        depth += *p == '(';
        depth -= *p == ')' && depth > 0;
        if (depth > DEPTH_LIMIT)
            return fail(expression, error, "too deeply nested", "(");
    }
    return 0;
}

/* -- compiling -----------------------------------------------------------------------------------
 */

/* Writes names and expressions as Lua has them: `in` as IN, which is no other name since ours are
 * lower-case. */
static void put_lua(FILE *stream, const char *text)
{
    size_t length;
    for (const char *p = text; *p != '\0'; p += length) {
        length = strspn(p, NAME_LETTERS);
        bool quoted = p > text && (p[-1] == '"' || p[-1] == '\'');
        if (length == 2 && memcmp(p, "in", 2) == 0 && !quoted)
            fputs("IN", stream);
        else if (length > 0)
            fwrite(p, 1, length, stream);
        else
            fputc(p[length++], stream);
    }
}

/* "local a, b = ... return (TEXT)": the names become arguments, so evaluating needs no look-up. */
static char *lua_text(const struct expression *expression)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        abort();
    if (expression->name_count > 0) {
        fputs("local ", stream);
        for (size_t i = 0; i < expression->name_count; i++) {
            fputs(i > 0 ? "," : "", stream);
            put_lua(stream, expression->names[i]);
        }
        fputs(" = ... ", stream);
    }
    fputs("return (", stream);
    put_lua(stream, expression->text);
    fputc(')', stream);
    if (fclose(stream) != 0)
        abort();
    return text;
}

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
    char *text = lua_text(expression);
    lua_settop(lua, 0);
    lua_pushcfunction(lua, compile_protected);
    lua_pushlightuserdata(lua, expression);
    lua_pushlightuserdata(lua, text);
    int status = lua_pcall(lua, 2, 0, 0);
    free(text);
    if (status == LUA_OK)
        return 0;
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "cannot parse expression '%s': %s", expression->text, lua_message(lua));
}

int expression_new(struct expression **expression, struct evaluator *evaluator, const char *text,
                   const char *file, int line, struct error *error)
{
    struct expression *new = alloc_zeroed(1, sizeof *new);
    *expression = NULL;
    new->evaluator = evaluator;
    new->text = alloc_string(text);
    new->file = file;
    new->line = line;
    new->reference = LUA_NOREF;
    int status = 0;
    if (strlen(text) > TEXT_LIMIT)
        status =
            error_set_at(error, ERROR_CONFIG, file, line, "expression is longer than 4096 bytes");
    else if (text[strspn(text, " \t")] == '\0')
        status = error_set_at(error, ERROR_CONFIG, file, line, "expression is empty");
    if (status == 0)
        status = check_text(new, error);
    if (status == 0)
        status = compile(new, error);
    if (status != 0) {
        expression_free(new);
        return status;
    }
    *expression = new;
    return 0;
}

void expression_free(struct expression *expression)
{
    if (expression == NULL)
        return;
    luaL_unref(expression->evaluator->lua, LUA_REGISTRYINDEX, expression->reference);
    for (size_t i = 0; i < expression->name_count; i++)
        free(expression->names[i]);
    free(expression->names);
    free(expression->text);
    free(expression);
}

const char *expression_text(const struct expression *expression)
{
    return expression->text;
}

size_t expression_name_count(const struct expression *expression)
{
    return expression->name_count;
}

const char *expression_name(const struct expression *expression, size_t index)
{
    return expression->names[index];
}

bool expression_uses(const struct expression *expression, const char *name)
{
    for (size_t i = 0; i < expression->name_count; i++)
        if (strcmp(expression->names[i], name) == 0)
            return true;
    return false;
}

int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error)
{
    for (size_t i = 0; i < expression->name_count; i++)
        if (!is_among(expression->names[i], known))
            return ini_unknown(expression->file, expression->line, "name", expression->names[i],
                               known, error);
    return 0;
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
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "cannot evaluate '%s': %s", expression->text, message);
}

/* Runs under protection: pushing a word allocates, and may run out of the evaluator's memory. */
struct evaluation {
    const struct expression *expression;
    const struct value *const *values;
};

static int evaluate_protected(lua_State *lua)
{
    const struct evaluation *evaluation = lua_touserdata(lua, 1);
    size_t count = evaluation->expression->name_count;
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
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "'%s' has no value here, in expression '%s'", name, expression->text);
}

int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error)
{
    const struct value *values[NAME_LIMIT];
    for (size_t i = 0; i < expression->name_count; i++) {
        values[i] = scope_find(scope, expression->names[i]);
        if (values[i] == NULL)
            return no_value(expression, expression->names[i], error);
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
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    return status != 0 ? status : as_boolean(expression, &value, boolean, error);
}

int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error)
{
    struct value value;
    for (size_t i = 0; i < expression->name_count; i++)
        if (values[i] == NULL)
            return no_value(expression, expression->names[i], error);
    int status = evaluate(expression, values, &value, error);
    return status != 0 ? status : as_boolean(expression, &value, boolean, error);
}
