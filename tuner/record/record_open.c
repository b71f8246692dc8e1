/* Opening, checking and closing the record's file: the functions of record.h that open and close. */
#include "record/record.h"

#include "base/alloc.h"
#include "base/file_system.h"
#include "base/interrupt.h"
#include "base/path.h"
#include "record/record_database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x4174756e /* "Atun" */
/* To be raised whenever the tables change, or the verification finds more: what a weaker one found right no
 * longer counts. */
#define SCHEMA_VERSION 17
#define CHECKED_PAGES 16384 /* 64 MiB: larger files' structure is not checked at every start */
#define BUSY_MS 10000
#define BUSY_PAUSE_MS 10
#define CHECKPOINT_PAGES 20000 /* a whole sweep, so that no result waits for the disk */
#define CACHED_PAGES 16384 /* 64 MiB: variants come in no order, so every page is needed again */

extern const char record_schema[]; /* schema.sql */

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

/* What a file turns out to be. */
enum file_kind {
    FILE_USABLE,
    FILE_EMPTY,   /* needs its tables */
    FILE_OLD,     /* an older autotune wrote it */
    FILE_DAMAGED, /* or not a record at all */
    FILE_REFUSED  /* a newer autotune wrote it, or SQLite cannot read it now */
};

static int refuse_version(const struct record *record, int64_t version, struct error *error)
{
    if (version > SCHEMA_VERSION)
        return error_set_at(error, ERROR_RECORD, record->path, 0,
                            "a newer autotune wrote this record (version %" PRId64
                            ", and this one uses version %d); use that autotune, or choose "
                            "another folder with --results",
                            version, SCHEMA_VERSION);
    return error_set_at(error, ERROR_RECORD, record->path, 0,
                        "an older autotune wrote this record (version %" PRId64
                        ", and this one uses version %d); run `autotune --config FILE`, which "
                        "keeps it under another name and measures again",
                        version, SCHEMA_VERSION);
}

/* An error unless the file is a record of this version, or empty. */
static int check_identity(struct record *record, enum file_kind *kind, struct error *error)
{
    int64_t application = 0, version = 0, objects = 0;
    int status = identify(record->database, &application, &version, &objects);
    *kind = status == SQLITE_NOTADB || status == SQLITE_CORRUPT ? FILE_DAMAGED : FILE_REFUSED;
    if (status == SQLITE_NOTADB)
        return error_set_at(error, ERROR_RECORD, record->path, 0,
                            "not a record of autotune: %s; move it away or choose another folder",
                            sqlite3_errmsg(record->database));
    if (status != SQLITE_OK)
        return record_failed(record, error);
    if (application == 0 && version == 0 && objects == 0) {
        *kind = FILE_EMPTY;
        return 0;
    }
    if (application != APPLICATION_ID || version < 1) {
        *kind = FILE_DAMAGED;
        return error_set_at(
            error, ERROR_RECORD, record->path, 0,
            "a database, but not a record of autotune; move it away or choose another folder");
    }
    *kind = version == SCHEMA_VERSION  ? FILE_USABLE
            : version < SCHEMA_VERSION ? FILE_OLD
                                       : FILE_REFUSED;
    return *kind == FILE_USABLE ? 0 : refuse_version(record, version, error);
}

/* Creates the tables, unless another process was faster. */
static int make_tables(struct record *record, struct error *error)
{
    enum file_kind kind;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    result = check_identity(record, &kind, error);
    if (result == 0 && kind == FILE_EMPTY) {
        char *pragmas = alloc_format("PRAGMA application_id = %d; PRAGMA user_version = %d;",
                                     APPLICATION_ID, SCHEMA_VERSION);
        if (sqlite3_exec(record->database, record_schema, NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(record->database, pragmas, NULL, NULL, NULL) != SQLITE_OK)
            result = record_failed(record, error);
        free(pragmas);
    }
    return record_end(record, result, error);
}

/* Whether SQLite finds nothing wrong with the file, unless that is too large for a check at every start, and
 * the tables fit the statements. */
static bool is_sound(struct record *record)
{
    int64_t pages = 0;
    sqlite3_stmt *statement = NULL;
    if (query_number(record->database, "PRAGMA page_count", &pages) != SQLITE_OK)
        return false;
    bool sound = pages > CHECKED_PAGES ||
                 (sqlite3_prepare_v2(record->database, "PRAGMA integrity_check(1)", -1, &statement,
                                     NULL) == SQLITE_OK &&
                  sqlite3_step(statement) == SQLITE_ROW &&
                  strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0);
    (void)sqlite3_finalize(statement);
    for (int name = 0; sound && name < STATEMENT_COUNT; name++)
        sound = query_begin(record, (enum statement)name).status == SQLITE_OK;
    return sound;
}

/* Waits a moment for another process that holds the file. Returns 0 after ten seconds of that, or if
 * the user wants to end. */
static int wait_for_others(void *unused, int count)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_MS * 1000000L};
    (void)unused;
    if (interrupt_requested() || count >= BUSY_MS / BUSY_PAUSE_MS)
        return 0;
    (void)nanosleep(&pause, NULL);
    return 1;
}

/* SQLite does not wait for others when the journal's mode changes, so we do. */
static int use_write_ahead_log(struct record *record, struct error *error)
{
    int count = 0;
    int status;
    do
        status = sqlite3_exec(record->database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    while (status == SQLITE_BUSY && wait_for_others(NULL, count++));
    return status == SQLITE_OK ? 0 : record_failed(record, error);
}

static int configure(struct record *record, struct error *error)
{
    int result = use_write_ahead_log(record, error);
    if (result != 0)
        return result;
    char *settings = alloc_format("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
                                  "PRAGMA wal_autocheckpoint = %d; PRAGMA cache_size = %d",
                                  CHECKPOINT_PAGES, CACHED_PAGES);
    if (sqlite3_exec(record->database, settings, NULL, NULL, NULL) != SQLITE_OK)
        result = record_failed(record, error);
    free(settings);
    return result;
}

/* Opening a pipe would wait. */
static bool is_special(const char *path)
{
    struct stat information;
    return stat(path, &information) == 0 && !S_ISREG(information.st_mode) &&
           !S_ISDIR(information.st_mode);
}

/* The record and what SQLite keeps beside it. */
static int check_files(const char *path, struct error *error)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    int status = 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && status == 0; i++) {
        char *file = alloc_format("%s%s", path, suffixes[i]);
        if (is_special(file))
            status = error_set_at(error, ERROR_RECORD, file, 0,
                                  "a file of the record must be a regular file");
        free(file);
    }
    return status;
}

/* SQLite says only that it cannot open a file whose path is too long for it. */
static int check_length(const char *path, struct error *error)
{
    enum { SUFFIX_BYTES = 8 }; /* of "-journal" */
    char *folder = path_folder(path);
    char *full = realpath(folder, NULL);
    const char *slash = strrchr(path, '/');
    size_t bytes = full != NULL ? strlen(full) + 1 + strlen(slash != NULL ? slash + 1 : path) : 0;
    int most = sqlite3_vfs_find(NULL)->mxPathname - SUFFIX_BYTES;
    free(full);
    free(folder);
    return bytes <= (size_t)most
               ? 0
               : error_set_at(error, ERROR_RECORD, path, 0,
                              "the path has %zu bytes, but SQLite opens at most %d; choose another "
                              "folder with --results",
                              bytes, most);
}

static int open_database(struct record **record, const char *path, const char *name, int flags,
                         struct error *error)
{
    int files = check_files(path, error);
    if (files == 0)
        files = check_length(path, error);
    if (files != 0)
        return files;
    struct record *opened = alloc_zeroed(1, sizeof *opened);
    opened->path = alloc_string(path);
    int status = sqlite3_open_v2(name, &opened->database, flags, NULL);
    int result = 0;
    if (status != SQLITE_OK) {
        result = record_failed(opened, error);
    } else {
        (void)sqlite3_extended_result_codes(opened->database, 0);
        (void)sqlite3_busy_handler(opened->database, wait_for_others, NULL);
    }
    if (result != 0) {
        record_close(opened);
        opened = NULL;
    }
    *record = opened;
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

/* On failure, `*kind` says why. */
static int open_for_writing(struct record **record, const char *path, enum file_kind *kind,
                            struct error *error)
{
    *kind = FILE_REFUSED;
    int result =
        open_database(record, path, path,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, error);
    if (result != 0)
        return result;
    result = check_identity(*record, kind, error);
    bool sound = result != 0 || *kind != FILE_USABLE || is_sound(*record);
    if (!sound && interrupt_requested()) { /* the check may have been given up */
        *kind = FILE_REFUSED;
        result = error_set(error, ERROR_INTERRUPTED, "interrupted");
    } else if (!sound) {
        *kind = FILE_DAMAGED;
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is damaged; move it away and tune again");
    } else if (result == 0) {
        if (*kind == FILE_EMPTY)
            result = make_tables(*record, error);
        if (result == 0)
            result = configure(*record, error);
        if (result != 0)
            *kind = is_damage(*record) ? FILE_DAMAGED : FILE_REFUSED;
    }
    if (result != 0) {
        record_close(*record);
        *record = NULL;
    }
    return result;
}

/* Renames the file with its log and the log's index, to PATH.SUFFIX-N: a new string, or NULL with
 * errno. */
static char *rename_away(const char *path, const char *suffix)
{
    static const char *const parts[] = {"-wal", "-shm", ""};
    char *to = NULL;
    for (int number = 1; number <= 9999; number++) {
        to = alloc_format("%s.%s-%d", path, suffix, number);
        if (access(to, F_OK) != 0)
            break;
        free(to);
        to = NULL;
    }
    for (size_t i = 0; to != NULL && i < sizeof parts / sizeof *parts; i++) {
        char *old = alloc_format("%s%s", path, parts[i]);
        char *new = alloc_format("%s%s", to, parts[i]);
        bool failed = rename(old, new) != 0 && parts[i][0] == '\0';
        free(old);
        free(new);
        if (failed) {
            free(to);
            to = NULL;
        }
    }
    return to;
}

static bool is_replaceable(enum file_kind kind)
{
    return kind == FILE_OLD || kind == FILE_DAMAGED;
}

/* Sets the file aside and opens a new one, unless another process did meanwhile. */
static int replace(struct record **record, const char *path, struct record_repair *repair,
                   struct error *error)
{
    char *lock_path = alloc_format("%s.lock", path);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock >= 0)
        (void)file_lock_take(lock, LOCK_EX, -1);
    enum file_kind kind;
    int result = open_for_writing(record, path, &kind, error);
    if (result != 0 && is_replaceable(kind)) {
        repair->was_old = kind == FILE_OLD;
        repair->set_aside = rename_away(path, repair->was_old ? "old" : "damaged");
        result =
            repair->set_aside == NULL
                ? error_set_errno(error, ERROR_RECORD, "record '%s' is %s and cannot be set aside",
                                  path, repair->was_old ? "from an older autotune" : "damaged")
                : open_for_writing(record, path, &kind, error);
    }
    (void)unlink(lock_path);
    if (lock >= 0)
        (void)close(lock);
    free(lock_path);
    return result;
}

int record_open(struct record **record, const char *path, struct record_repair *repair,
                struct error *error)
{
    enum file_kind kind;
    *repair = (struct record_repair){0};
    int result = open_for_writing(record, path, &kind, error);
    return result != 0 && is_replaceable(kind) ? replace(record, path, repair, error) : result;
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
    enum file_kind kind = FILE_REFUSED;
    if (result == 0)
        result = check_identity(*record, &kind, error);
    if (result != 0 && *record != NULL && in_closed_folder(*record)) {
        record_close(*record);
        char *name = immutable_name(path);
        result = open_database(record, path, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
        free(name);
        if (result == 0)
            result = check_identity(*record, &kind, error);
    }
    if (result == 0 && kind == FILE_EMPTY)
        result = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is empty; run `autotune --config FILE` first");
    else if (result == 0 && !is_sound(*record))
        result =
            error_set_at(error, ERROR_RECORD, path, 0,
                         "the record is damaged; tune again, which keeps it under another name");
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
