#include "template/expression_functions.h"

#include <lauxlib.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

void expression_functions_register(lua_State *lua)
{
    lua_pushglobaltable(lua);
    luaL_setfuncs(lua, functions, 0);
    lua_pop(lua, 1);
}

bool expression_functions_have(const char *name)
{
    for (size_t i = 0; functions[i].name != NULL; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}
