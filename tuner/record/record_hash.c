#include "record/record_hash.h"

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

static void add_value(XXH3_state_t *state, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    int64_t integer = 0;
    double real = 0;
    const void *bytes = NULL;
    size_t count = 0;
    switch (type) {
    case SQLITE_INTEGER:
        integer = sqlite3_value_int64(value);
        bytes = &integer;
        count = sizeof integer;
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        bytes = &real;
        count = sizeof real;
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        bytes = sqlite3_value_blob(value);
        count = (size_t)sqlite3_value_bytes(value);
        break;
    default:
        break;
    }
    const uint64_t head[2] = {(uint64_t)type, count}; /* in this machine's byte order */
    (void)XXH3_64bits_update(state, head, sizeof head);
    if (bytes != NULL && count > 0)
        (void)XXH3_64bits_update(state, bytes, count);
}

static uint64_t hash_values(int count, sqlite3_value **values)
{
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL)
        return 0; /* the checksum will not match, and the row will be measured again */
    (void)XXH3_64bits_reset(state);
    for (int i = 0; i < count; i++)
        add_value(state, values[i]);
    uint64_t hash = XXH3_64bits_digest(state);
    (void)XXH3_freeState(state);
    return hash;
}

static void return_hash(sqlite3_context *context, uint64_t hash)
{
    sqlite3_int64 integer;
    memcpy(&integer, &hash, sizeof integer);
    sqlite3_result_int64(context, integer);
}

static void row_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    return_hash(context, hash_values(count, values));
}

static void rows_hash_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint64_t *sum = sqlite3_aggregate_context(context, sizeof *sum);
    if (sum != NULL)
        *sum += hash_values(count, values);
}

static void rows_hash_final(sqlite3_context *context)
{
    const uint64_t *sum = sqlite3_aggregate_context(context, 0);
    return_hash(context, sum != NULL ? *sum : 0);
}

int record_hash_register(sqlite3 *database)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    int status =
        sqlite3_create_function(database, "row_hash", -1, flags, NULL, row_hash, NULL, NULL);
    if (status != SQLITE_OK)
        return status;
    return sqlite3_create_function(database, "rows_hash", -1, flags, NULL, NULL, rows_hash_step,
                                   rows_hash_final);
}
