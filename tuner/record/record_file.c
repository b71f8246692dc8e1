#include "record/record_file.h"

#include "base/alloc.h"
#include "record/record_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x4174756e /* "Atun" */
#define SCHEMA_VERSION 4
#define UNBATCHED_VERSION 3 /* as 4, without what batches brought */
#define UNSEALED_VERSION 2  /* as 3, without checksums */
#define CHECKED_PAGES                                                                              \
    16384 /* 64 MiB: larger files' structure is not looked through at every start */
#define BUSY_MS 10000
#define CHECKPOINT_PAGES 20000 /* a whole sweep, so that no result waits for the disk */

/* One study's winner and one sample are a join away from everything else: the views spell the joins
 * out. */
static const char schema[] =
    "CREATE TABLE study ("
    " id INTEGER PRIMARY KEY,"
    " kernel TEXT NOT NULL,"
    " problem TEXT NOT NULL," /* JSON object, as are parameters and gpu_details */
    " gpu TEXT NOT NULL,"
    " arch TEXT NOT NULL,"
    " mode TEXT NOT NULL CHECK (mode IN ('measured', 'static')),"
    " cache TEXT NOT NULL," /* cold or warm */
    " template TEXT NOT NULL,"
    " template_hash TEXT NOT NULL,"
    " description TEXT,"
    " driver TEXT NOT NULL,"
    " nvrtc TEXT NOT NULL,"
    " autotune TEXT NOT NULL,"
    " host TEXT NOT NULL,"
    " date TEXT NOT NULL," /* start of the run, UTC */
    " command TEXT,"
    " gpu_details TEXT NOT NULL,"
    " points INTEGER NOT NULL,"   /* of the Cartesian space */
    " rejected INTEGER NOT NULL," /* by constraints, before compilation */
    " empty_kernel_ns REAL NOT NULL,"
    " empty_batch_ns REAL NOT NULL DEFAULT 0," /* in batches; 0: there were none */
    " dropped_samples INTEGER,"                /* taken under throttling, and then again */
    " throttled_samples INTEGER,"              /* kept though throttled */
    " sm_clock_mhz REAL,"       /* mean while sampling; NULL without NVML, as are those around */
    " other_processes INTEGER," /* on the GPU, the most at once */
    " complete INTEGER NOT NULL,"
    " winner INTEGER REFERENCES variant (id),"
    " checksum INTEGER);"
    "CREATE INDEX study_subject ON study (kernel, gpu, problem);"
    "CREATE TABLE variant ("
    " id INTEGER PRIMARY KEY,"
    " study INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,"
    " parameters TEXT NOT NULL,"
    " outcome TEXT NOT NULL,"
    " reason TEXT,"
    " phase TEXT NOT NULL," /* of the times: screening or finals */
    " median_ns REAL, low_ns REAL, high_ns REAL, minimum_ns REAL, relative_iqr REAL,"
    " samples INTEGER NOT NULL,"
    " runs INTEGER NOT NULL DEFAULT 1," /* of which each sample is the mean: 1, or of a batch */
    " bytes REAL NOT NULL, operations REAL NOT NULL,"
    " registers INTEGER, spill_bytes INTEGER, stack_bytes INTEGER,"
    " static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER,"
    " block_threads INTEGER, grid_blocks INTEGER,"
    " blocks_per_sm INTEGER, occupancy REAL, limiters INTEGER,"
    " finalist INTEGER NOT NULL, tied INTEGER NOT NULL,"
    " checksum INTEGER,"
    " UNIQUE (study, parameters));"
    "CREATE TABLE sample ("
    " variant INTEGER NOT NULL REFERENCES variant (id) ON DELETE CASCADE,"
    " phase TEXT NOT NULL CHECK (phase IN ('screening', 'finals')),"
    " number INTEGER NOT NULL," /* 0, 1, 2, … in the order taken */
    " ns REAL NOT NULL,"
    " PRIMARY KEY (variant, phase, number)) WITHOUT ROWID;"
    "CREATE VIEW best AS"
    " SELECT study.kernel, study.problem, study.gpu, study.cache, variant.parameters,"
    " variant.median_ns / 1000 AS median_us, variant.low_ns / 1000 AS low_us,"
    " variant.high_ns / 1000 AS high_us, variant.bytes / variant.median_ns AS gb_per_s,"
    " variant.operations / variant.median_ns AS gflop_per_s, variant.registers,"
    " variant.blocks_per_sm, variant.occupancy, study.date, study.id AS study"
    " FROM study JOIN variant ON variant.id = study.winner;"
    "CREATE VIEW measurement AS"
    " SELECT variant.study, study.kernel, study.problem, study.gpu, sample.variant,"
    " variant.parameters, sample.phase, sample.number, sample.ns"
    " FROM sample JOIN variant ON variant.id = sample.variant"
    " JOIN study ON study.id = variant.study;";

static const char *const statement_sql[] = {
#define X(name, sql) [STATEMENT_##name] = sql,
    STATEMENTS(X)
#undef X
};

int record_failed(struct record *record, struct error *error)
{
    record->failure = sqlite3_errcode(record->database);
    return error_set_at(error, ERROR_RECORD, record->path, 0,
                        "the record cannot be used: %s; look at its disk and permissions",
                        sqlite3_errmsg(record->database));
}

struct query query_begin(struct record *record, enum statement name)
{
    struct query query = {record, record->statements[name], 1, SQLITE_OK};
    if (query.statement == NULL) {
        query.status = sqlite3_prepare_v3(record->database, statement_sql[name], -1,
                                          SQLITE_PREPARE_PERSISTENT, &query.statement, NULL);
        record->statements[name] = query.statement;
    }
    return query;
}

static void bound(struct query *query, int status)
{
    if (query->status == SQLITE_OK)
        query->status = status;
}

void query_text(struct query *query, const char *text)
{
    bound(query, sqlite3_bind_text(query->statement, query->next++, text, -1, SQLITE_STATIC));
}

void query_integer(struct query *query, int64_t integer)
{
    bound(query, sqlite3_bind_int64(query->statement, query->next++, integer));
}

void query_real(struct query *query, double real)
{
    bound(query, sqlite3_bind_double(query->statement, query->next++, real));
}

void query_null(struct query *query)
{
    bound(query, sqlite3_bind_null(query->statement, query->next++));
}

int query_step(struct query *query)
{
    if (query->status == SQLITE_OK)
        query->status = sqlite3_step(query->statement);
    int status = query->status;
    if (status == SQLITE_ROW)
        query->status = SQLITE_OK;
    return status;
}

void query_end(struct query *query)
{
    if (query->statement == NULL) /* it could not be prepared, which query_step() has said */
        return;
    (void)sqlite3_reset(query->statement);
    (void)sqlite3_clear_bindings(query->statement);
}

int query_run(struct query *query, int64_t *id, struct error *error)
{
    int64_t first = 0;
    int status = query_step(query);
    if (status == SQLITE_ROW) {
        first = sqlite3_column_int64(query->statement, 0);
        status = query_step(query);
    }
    int result = status == SQLITE_DONE ? 0 : record_failed(query->record, error);
    query_end(query);
    if (id != NULL)
        *id = first;
    return result;
}

static int record_run(struct record *record, enum statement name, struct error *error)
{
    struct query query = query_begin(record, name);
    return query_run(&query, NULL, error);
}

int record_start(struct record *record, struct error *error)
{
    return record_run(record, STATEMENT_BEGIN, error);
}

int record_end(struct record *record, int result, struct error *error)
{
    if (result == 0)
        result = record_run(record, STATEMENT_COMMIT, error);
    if (result != 0 && !sqlite3_get_autocommit(record->database))
        (void)sqlite3_exec(record->database, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

static int query_number(sqlite3 *database, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    if (status == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status == SQLITE_ROW ? SQLITE_OK : status;
}

/* What a file is; `*version` is its schema's, 0 for an empty file. One statement, so that all three
 * are of one moment: another process may be making the tables. */
static int identify(sqlite3 *database, int64_t *application, int64_t *version, int64_t *objects)
{
    static const char sql[] = "SELECT (SELECT count(*) FROM sqlite_schema), application_id,"
                              " user_version FROM pragma_application_id, pragma_user_version";
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    if (status == SQLITE_ROW) {
        *objects = sqlite3_column_int64(statement, 0);
        *application = sqlite3_column_int64(statement, 1);
        *version = sqlite3_column_int64(statement, 2);
    }
    (void)sqlite3_finalize(statement);
    return status == SQLITE_ROW ? SQLITE_OK : status;
}

/* What a file turned out to be. */
struct identity {
    bool empty;   /* has yet to get its tables */
    bool damaged; /* or no record at all */
    int64_t version;
};

/* Refuses what is not a record of this version or of the two before. */
static int check_identity(struct record *record, struct identity *identity, struct error *error)
{
    int64_t application = 0, version = 0, objects = 0;
    int status = identify(record->database, &application, &version, &objects);
    *identity = (struct identity){.damaged = status == SQLITE_NOTADB || status == SQLITE_CORRUPT,
                                  .version = version};
    if (status == SQLITE_NOTADB)
        return error_set_at(error, ERROR_RECORD, record->path, 0,
                            "not a record of autotune: %s; move it away or choose another folder",
                            sqlite3_errmsg(record->database));
    if (status != SQLITE_OK)
        return record_failed(record, error);
    identity->empty = application == 0 && version == 0 && objects == 0;
    if (identity->empty)
        return 0;
    identity->damaged = application != APPLICATION_ID;
    if (identity->damaged)
        return error_set_at(
            error, ERROR_RECORD, record->path, 0,
            "a database, but not a record of autotune; move it away or choose another folder");
    if (version < UNSEALED_VERSION || version > SCHEMA_VERSION)
        return error_set_at(error, ERROR_RECORD, record->path, 0,
                            "record of version %" PRId64 ", and this autotune uses version %d; "
                            "move it away, or use the autotune that wrote it",
                            version, SCHEMA_VERSION);
    return 0;
}

/* Makes the tables, unless another process was faster. */
static int make_tables(struct record *record, struct error *error)
{
    int result = record_start(record, error);
    if (result != 0)
        return result;
    struct identity identity;
    result = check_identity(record, &identity, error);
    if (result == 0 && identity.empty) {
        char *pragmas = alloc_format("PRAGMA application_id = %d; PRAGMA user_version = %d;",
                                     APPLICATION_ID, SCHEMA_VERSION);
        if (sqlite3_exec(record->database, schema, NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(record->database, pragmas, NULL, NULL, NULL) != SQLITE_OK)
            result = record_failed(record, error);
        free(pragmas);
    }
    return record_end(record, result, error);
}

/* What the version before the checksums lacks. */
static const char add_checksums[] = "ALTER TABLE study ADD COLUMN checksum INTEGER;"
                                    "ALTER TABLE variant ADD COLUMN checksum INTEGER";

/* What does not match its checksum goes before the checksums are made anew. */
static const char drop_unmatched[] =
    "DELETE FROM study WHERE checksum IS NOT " STUDY_HASH_3 ";"
    "UPDATE study SET complete = 0, winner = NULL WHERE winner NOT IN (SELECT id FROM variant)"
    " OR id IN (SELECT study FROM variant WHERE checksum IS NOT " VARIANT_HASH_3 ");"
    "DELETE FROM variant WHERE checksum IS NOT " VARIANT_HASH_3
    " OR study NOT IN (SELECT id FROM study);"
    "DELETE FROM sample WHERE variant NOT IN (SELECT id FROM variant);"
    "DROP TABLE IF EXISTS seal";

static const char add_batches[] =
    "ALTER TABLE study ADD COLUMN empty_batch_ns REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE variant ADD COLUMN runs INTEGER NOT NULL DEFAULT 1;"
    "UPDATE study SET checksum = " STUDY_HASH ";"
    "UPDATE variant SET checksum = " VARIANT_HASH ";"
    "PRAGMA user_version = 4";

/* Brings a record of an earlier version up to date, unless another process was faster. */
static int upgrade(struct record *record, struct error *error)
{
    int result = record_start(record, error);
    if (result != 0)
        return result;
    struct identity identity;
    result = check_identity(record, &identity, error);
    const char *first = identity.version == UNSEALED_VERSION ? add_checksums : drop_unmatched;
    if (result == 0 && identity.version < SCHEMA_VERSION &&
        (sqlite3_exec(record->database, first, NULL, NULL, NULL) != SQLITE_OK ||
         sqlite3_exec(record->database, add_batches, NULL, NULL, NULL) != SQLITE_OK))
        result = record_failed(record, error);
    return record_end(record, result, error);
}

/* -- damage --------------------------------------------------------------------------------------
 */

/* Whether a check of SQLite's says "ok", or the file is too large for checks at every start. */
static bool passes(struct record *record, const char *check)
{
    int64_t pages = 0;
    sqlite3_stmt *statement = NULL;
    if (query_number(record->database, "PRAGMA page_count", &pages) != SQLITE_OK)
        return false;
    if (pages > CHECKED_PAGES)
        return true;
    bool sound = sqlite3_prepare_v2(record->database, check, -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW &&
                 strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    (void)sqlite3_finalize(statement);
    return sound;
}

/* Over what our tables are declared to be; what people add beside them is theirs. */
#define SCHEMA_HASH                                                                                \
    "(SELECT rows_hash(type, name, sql) FROM sqlite_schema"                                        \
    " WHERE name IN ('study', 'variant', 'sample', 'study_subject'))"

/* Whether the tables are declared as they were when the record was made, as far as that is known. */
static bool has_own_schema(struct record *record)
{
    int64_t sealed = 0;
    int64_t matches = 0;
    return query_number(record->database, "SELECT count(*) FROM sqlite_schema WHERE name = 'seal'",
                        &sealed) == SQLITE_OK &&
           (sealed == 0 ||
            (query_number(record->database, "SELECT checksum IS " SCHEMA_HASH " FROM seal",
                          &matches) == SQLITE_OK &&
             matches == 1));
}

/* Whether the file's structure is sound, but for indices, which can be made again. */
static bool is_sound(struct record *record)
{
    return passes(record, "PRAGMA quick_check(1)") && has_own_schema(record);
}

/* Remembers how the tables are declared, unless that is done. */
static int seal_schema(struct record *record, struct error *error)
{
    static const char seal[] =
        "CREATE TABLE IF NOT EXISTS seal (checksum INTEGER);"
        "INSERT INTO seal SELECT " SCHEMA_HASH " WHERE NOT EXISTS (SELECT 1 FROM seal)";
    int64_t sealed = 0;
    if (query_number(record->database, "SELECT count(*) FROM sqlite_schema WHERE name = 'seal'",
                     &sealed) == SQLITE_OK &&
        sealed > 0)
        return 0;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    if (sqlite3_exec(record->database, seal, NULL, NULL, NULL) != SQLITE_OK)
        result = record_failed(record, error);
    return record_end(record, result, error);
}

/* Makes indices again that do not match their tables. */
static int mend_indices(struct record *record, struct error *error)
{
    if (passes(record, "PRAGMA integrity_check(1)") ||
        sqlite3_exec(record->database, "REINDEX", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return record_failed(record, error);
}

/* How many studies and variants do not match their checksums. SQLite's code. */
static int count_damaged(struct record *record, int64_t *count)
{
    return query_number(record->database,
                        "SELECT (SELECT count(*) FROM study WHERE checksum IS NOT " STUDY_HASH ")"
                        " + (SELECT count(*) FROM variant WHERE checksum IS NOT " VARIANT_HASH ")",
                        count);
}

/* Drops them, with what belongs to them; a verdict over other variants than are left is none. */
static int drop_damaged(struct record *record, struct error *error)
{
    static const char note[] =
        "CREATE TEMP TABLE bad_study AS SELECT id FROM study WHERE checksum IS NOT " STUDY_HASH ";"
        "CREATE TEMP TABLE bad_variant AS"
        " SELECT id, study FROM variant WHERE checksum IS NOT " VARIANT_HASH;
    static const char drop[] =
        "UPDATE study SET complete = 0, winner = NULL WHERE id IN (SELECT study FROM bad_variant)"
        " OR winner IN (SELECT id FROM bad_variant) OR winner NOT IN (SELECT id FROM variant);"
        "DELETE FROM study WHERE id IN (SELECT id FROM bad_study);"
        "DELETE FROM variant WHERE id IN (SELECT id FROM bad_variant)"
        " OR study NOT IN (SELECT id FROM study);"
        "DELETE FROM sample WHERE variant NOT IN (SELECT id FROM variant);"
        "UPDATE study SET checksum = " STUDY_HASH " WHERE complete = 0;"
        "DROP TABLE bad_study;"
        "DROP TABLE bad_variant";
    int result = record_start(record, error);
    if (result != 0)
        return result;
    if (sqlite3_exec(record->database, note, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(record->database, drop, NULL, NULL, NULL) != SQLITE_OK)
        result = record_failed(record, error);
    return record_end(record, result, error);
}

/* SQLite does not wait for others when the journal's mode changes, so we do. */
static int use_write_ahead_log(struct record *record, struct error *error)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int status = SQLITE_BUSY;
    for (int waited_ms = 0; status == SQLITE_BUSY && waited_ms < BUSY_MS; waited_ms += 10) {
        status = sqlite3_exec(record->database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (status == SQLITE_BUSY)
            (void)nanosleep(&pause, NULL);
    }
    return status == SQLITE_OK ? 0 : record_failed(record, error);
}

static int configure(struct record *record, struct error *error)
{
    int result = use_write_ahead_log(record, error);
    if (result != 0)
        return result;
    char *settings = alloc_format("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
                                  "PRAGMA wal_autocheckpoint = %d",
                                  CHECKPOINT_PAGES);
    if (sqlite3_exec(record->database, settings, NULL, NULL, NULL) != SQLITE_OK)
        result = record_failed(record, error);
    free(settings);
    return result;
}

static int open_database(struct record **record, const char *path, const char *name, int flags,
                         struct error *error)
{
    struct record *opened = alloc_zeroed(1, sizeof *opened);
    opened->path = alloc_string(path);
    int status = sqlite3_open_v2(name, &opened->database, flags, NULL);
    int result = 0;
    if (status != SQLITE_OK) {
        result = record_failed(opened, error);
    } else {
        (void)record_hash_register(opened->database); /* what fails shows when it is used */
        (void)sqlite3_extended_result_codes(opened->database, 0);
        (void)sqlite3_busy_timeout(opened->database, BUSY_MS);
    }
    if (result != 0) {
        record_close(opened);
        opened = NULL;
    }
    *record = opened;
    return result;
}

/* Drops what does not match its checksum; `*dropped` counts it. */
static int mend(struct record *record, size_t *dropped, struct error *error)
{
    int64_t count = 0;
    int result = mend_indices(record, error);
    if (result == 0 && count_damaged(record, &count) != SQLITE_OK)
        result = record_failed(record, error);
    if (result == 0 && count > 0)
        result = drop_damaged(record, error);
    *dropped = (size_t)count;
    return result;
}

/* Whether the last failure is that of a file which contradicts itself or lacks a table or a column,
 * rather than, say, of a full disk. */
static bool is_damage(const struct record *record)
{
    int status = record->failure;
    return status == SQLITE_CORRUPT || status == SQLITE_NOTADB || status == SQLITE_CONSTRAINT ||
           status == SQLITE_ERROR;
}

/* Makes the tables, or brings what is there up to date. */
static int prepare(struct record *record, const struct identity *identity, struct error *error)
{
    int result = 0;
    if (identity->empty)
        result = make_tables(record, error);
    else if (identity->version < SCHEMA_VERSION)
        result = upgrade(record, error);
    if (result == 0)
        result = configure(record, error);
    return result != 0 ? result : seal_schema(record, error);
}

/* `*damaged` says whether a failure is the file's own fault. Mends it where `dropped` is not NULL. */
static int open_for_writing(struct record **record, const char *path, size_t *dropped,
                            bool *damaged, struct error *error)
{
    struct identity identity = {0};
    int result =
        open_database(record, path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);
    if (result != 0)
        return result;
    result = check_identity(*record, &identity, error);
    *damaged = identity.damaged;
    if (result == 0 && !identity.empty && !is_sound(*record)) {
        *damaged = true;
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is damaged; move it away and tune again");
    }
    if (result == 0) {
        result = prepare(*record, &identity, error);
        if (result == 0 && dropped != NULL)
            result = mend(*record, dropped, error);
        *damaged = result != 0 && is_damage(*record);
    }
    if (result != 0) {
        record_close(*record);
        *record = NULL;
    }
    return result;
}

int record_open(struct record **record, const char *path, struct error *error)
{
    bool damaged = false;
    return open_for_writing(record, path, NULL, &damaged, error);
}

/* Renames the file with its log and the log's index, to PATH.damaged-N: a new string, or NULL with
 * errno. */
static char *rename_away(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    char *to = NULL;
    for (int number = 1; number <= 9999; number++) {
        to = alloc_format("%s.damaged-%d", path, number);
        if (access(to, F_OK) != 0)
            break;
        free(to);
        to = NULL;
    }
    for (size_t i = 0; to != NULL && i < sizeof suffixes / sizeof *suffixes; i++) {
        char *old = alloc_format("%s%s", path, suffixes[i]);
        char *new = alloc_format("%s%s", to, suffixes[i]);
        bool failed = rename(old, new) != 0 && suffixes[i][0] == '\0';
        free(old);
        free(new);
        if (failed) {
            free(to);
            to = NULL;
        }
    }
    return to;
}

/* Sets the file aside and opens a new one, unless another process did meanwhile. */
static int replace_damaged(struct record **record, const char *path, struct record_repair *repair,
                           struct error *error)
{
    char *lock_path = alloc_format("%s.lock", path);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
    bool damaged = false;
    int result = open_for_writing(record, path, &repair->dropped, &damaged, error);
    if (result != 0 && damaged) {
        repair->set_aside = rename_away(path);
        result = repair->set_aside == NULL
                     ? error_set_errno(error, ERROR_RECORD,
                                       "record '%s' is damaged and cannot be set aside", path)
                     : open_for_writing(record, path, &repair->dropped, &damaged, error);
    }
    (void)unlink(lock_path);
    if (lock >= 0)
        (void)close(lock);
    free(lock_path);
    return result;
}

int record_open_sound(struct record **record, const char *path, struct record_repair *repair,
                      struct error *error)
{
    bool damaged = false;
    *repair = (struct record_repair){0};
    int result = open_for_writing(record, path, &repair->dropped, &damaged, error);
    return result != 0 && damaged ? replace_damaged(record, path, repair, error) : result;
}

/* "file:PATH?immutable=1": a record in a folder closed for writing, where SQLite cannot keep its
 * index of the log. Only right where there is no log. A new string. */
static char *immutable_name(const char *path)
{
    size_t length = strlen(path);
    char *name = alloc_zeroed(3 * length + 32, 1);
    char *end = stpcpy(name, "file:");
    for (const char *next = path; *next != '\0'; next++) {
        if (strchr("%?#", *next) != NULL)
            end += snprintf(end, 4, "%%%02X", (unsigned)(unsigned char)*next);
        else
            *end++ = *next;
    }
    (void)stpcpy(end, "?immutable=1");
    return name;
}

/* Whether the failure is that of a folder closed for writing, and there is no log to be missed. */
static bool in_closed_folder(const struct record *record)
{
    int status = sqlite3_errcode(record->database);
    char *log = alloc_format("%s-wal", record->path);
    bool has_log = access(log, F_OK) == 0;
    free(log);
    return (status == SQLITE_CANTOPEN || status == SQLITE_READONLY) && !has_log;
}

int record_open_existing(struct record **record, const char *path, struct error *error)
{
    *record = NULL;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set_at(error, ERROR_RECORD, path, 0,
                            "there is no record yet; run `autotune --config FILE` first");
    int result = open_database(record, path, path, SQLITE_OPEN_READONLY, error);
    struct identity identity = {0};
    int64_t count = 0;
    if (result == 0)
        result = check_identity(*record, &identity, error);
    if (result != 0 && *record != NULL && in_closed_folder(*record)) {
        record_close(*record);
        char *name = immutable_name(path);
        result = open_database(record, path, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
        free(name);
        if (result == 0)
            result = check_identity(*record, &identity, error);
    }
    if (result == 0 && !identity.empty && identity.version < SCHEMA_VERSION)
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is of an earlier autotune; run `autotune --config FILE` "
                              "once, which brings it up to date");
    if (result == 0 && !identity.empty &&
        (!is_sound(*record) || count_damaged(*record, &count) != SQLITE_OK || count > 0))
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is damaged; tune again, which keeps what is sound");
    if (result == 0 && identity.empty)
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is empty; run `autotune --config FILE` first");
    if (result != 0) {
        record_close(*record);
        *record = NULL;
    }
    return result;
}

void record_close(struct record *record)
{
    if (record == NULL)
        return;
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        (void)sqlite3_finalize(record->statements[i]);
    (void)sqlite3_close(record->database);
    free(record->path);
    free(record);
}
