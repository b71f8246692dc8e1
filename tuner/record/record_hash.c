#include "record/record_hash.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct record_hash {
    XXH3_state_t *state;
};

struct record_hash *record_hash_new(void)
{
    struct record_hash *hash = alloc_zeroed(1, sizeof *hash);
    hash->state = XXH3_createState();
    if (hash->state == NULL)
        abort();
    return hash;
}

void record_hash_free(struct record_hash *hash)
{
    if (hash != NULL)
        (void)XXH3_freeState(hash->state);
    free(hash);
}

void record_hash_begin(struct record_hash *hash)
{
    (void)XXH3_64bits_reset(hash->state);
}

void record_hash_add(struct record_hash *hash, int type, const void *bytes, size_t count)
{
    const uint64_t head[2] = {(uint64_t)type, count}; /* in this machine's byte order */
    (void)XXH3_64bits_update(hash->state, head, sizeof head);
    if (count > 0)
        (void)XXH3_64bits_update(hash->state, bytes, count);
}

int64_t record_hash_end(const struct record_hash *hash)
{
    uint64_t digest = XXH3_64bits_digest(hash->state);
    int64_t integer;
    memcpy(&integer, &digest, sizeof integer);
    return integer;
}

/* --- in SQL --- */

static void add_value(struct record_hash *hash, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    int64_t integer;
    double real;
    switch (type) {
    case SQLITE_INTEGER:
        integer = sqlite3_value_int64(value);
        record_hash_add(hash, type, &integer, sizeof integer);
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        record_hash_add(hash, type, &real, sizeof real);
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        record_hash_add(hash, type, sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
        break;
    default:
        record_hash_add(hash, type, NULL, 0);
        break;
    }
}

static int64_t hash_values(struct record_hash *hash, int count, sqlite3_value **values)
{
    record_hash_begin(hash);
    for (int i = 0; i < count; i++)
        add_value(hash, values[i]);
    return record_hash_end(hash);
}

static void row_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_result_int64(context, hash_values(sqlite3_user_data(context), count, values));
}

static void rows_hash_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint64_t *sum = sqlite3_aggregate_context(context, sizeof *sum);
    if (sum != NULL)
        *sum += (uint64_t)hash_values(sqlite3_user_data(context), count, values);
}

static void rows_hash_final(sqlite3_context *context)
{
    const uint64_t *sum = sqlite3_aggregate_context(context, 0);
    int64_t integer = 0;
    if (sum != NULL)
        memcpy(&integer, sum, sizeof integer);
    sqlite3_result_int64(context, integer);
}

static void free_hash(void *hash)
{
    record_hash_free(hash);
}

int record_hash_register(sqlite3 *database)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    int status = sqlite3_create_function_v2(database, "row_hash", -1, flags, record_hash_new(),
                                            row_hash, NULL, NULL, free_hash);
    if (status != SQLITE_OK)
        return status;
    return sqlite3_create_function_v2(database, "rows_hash", -1, flags, record_hash_new(), NULL,
                                      rows_hash_step, rows_hash_final, free_hash);
}
