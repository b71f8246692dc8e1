/*
 * Reading the tuned INI: the one place that knows its keys and what their values look like. The
 * tuner (record/tuned_file.c) and libtuned (library/load.c) read through it and differ in what they
 * keep, and in what TUNED_KEYS says of either.
 *
 * To add a key, add its line to TUNED_KEYS, in the order in which the tuner writes, and its member
 * to struct tuned_entry (record/tuned_file.h). An application reads it if its line says so; then
 * library/load.c needs a case for it, too.
 *
 * libtuned has this file inside: nothing here aborts, prints or allocates.
 */
#ifndef AUTOTUNE_TUNED_READER_H
#define AUTOTUNE_TUNED_READER_H

#include "base/ini_reader.h"
#include "base/literal.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * X(member of struct tuned_entry, key, syntax, for applications, for the tuner)
 *
 *   syntax    NAME: a lower-case name. TEXT: anything. GPU: the name of one. INT, INT64: a whole
 *             number from 0 on. REAL: a number from 0 on. VALUES: any number of keys that begin so
 *             and end with a lower-case name, each with a literal. TIES: the same, with a number
 *             from 1, in order, and a dot before the name.
 *   for each  REQUIRED in every section, OPTIONAL, or IGNORED.
 */
#define TUNED_KEYS(X)                                                                              \
    X(kernel, "kernel", NAME, REQUIRED, REQUIRED)                                                  \
    X(template_name, "template", NAME, REQUIRED, REQUIRED)                                         \
    X(template_hash, "template_hash", TEXT, REQUIRED, REQUIRED)                                    \
    X(gpu, "gpu", GPU, REQUIRED, REQUIRED)                                                         \
    X(arch, "arch", TEXT, IGNORED, REQUIRED)                                                       \
    X(compute_capability, "compute_capability", INT, REQUIRED, REQUIRED)                           \
    X(sm_count, "sm_count", INT, OPTIONAL, REQUIRED)                                               \
    X(l2_bytes, "l2_bytes", INT64, OPTIONAL, REQUIRED)                                             \
    X(memory_bytes, "memory_bytes", INT64, IGNORED, REQUIRED)                                      \
    X(memory_gb_per_s, "memory_gb_per_s", REAL, OPTIONAL, OPTIONAL)                                \
    X(driver, "driver", TEXT, IGNORED, REQUIRED)                                                   \
    X(nvrtc, "nvrtc", TEXT, IGNORED, REQUIRED)                                                     \
    X(autotune, "autotune", TEXT, IGNORED, REQUIRED)                                               \
    X(date, "date", TEXT, IGNORED, REQUIRED)                                                       \
    X(command, "command", TEXT, IGNORED, OPTIONAL)                                                 \
    X(cache, "cache", TEXT, IGNORED, REQUIRED)                                                     \
    X(problem, "problem.", VALUES, OPTIONAL, OPTIONAL)                                             \
    X(parameters, "parameter.", VALUES, OPTIONAL, OPTIONAL)                                        \
    X(median_ns, "median_ns", REAL, OPTIONAL, REQUIRED)                                            \
    X(low_ns, "low_ns", REAL, IGNORED, REQUIRED)                                                   \
    X(high_ns, "high_ns", REAL, IGNORED, REQUIRED)                                                 \
    X(samples, "samples", INT64, IGNORED, REQUIRED)                                                \
    X(runs, "runs", INT, IGNORED, OPTIONAL)                                                        \
    X(gb_per_s, "gb_per_s", REAL, IGNORED, OPTIONAL)                                               \
    X(gflop_per_s, "gflop_per_s", REAL, IGNORED, OPTIONAL)                                         \
    X(empty_kernel_ns, "empty_kernel_ns", REAL, IGNORED, OPTIONAL)                                 \
    X(sm_clock_mhz, "sm_clock_mhz", REAL, IGNORED, OPTIONAL)                                       \
    X(dropped_samples, "dropped_samples", INT64, IGNORED, OPTIONAL)                                \
    X(throttled_samples, "throttled_samples", INT64, IGNORED, OPTIONAL)                            \
    X(other_processes, "other_processes", INT64, IGNORED, OPTIONAL)                                \
    X(registers, "registers", INT, IGNORED, REQUIRED)                                              \
    X(blocks_per_sm, "blocks_per_sm", INT, IGNORED, REQUIRED)                                      \
    X(occupancy, "occupancy", REAL, IGNORED, REQUIRED)                                             \
    X(ties, "tie.", TIES, IGNORED, OPTIONAL)

enum tuned_key {
#define X(member, ...) TUNED_KEY_##member,
    TUNED_KEYS(X)
#undef X
        TUNED_KEY_COUNT
};

enum tuned_syntax {
    TUNED_SYNTAX_NAME,
    TUNED_SYNTAX_TEXT,
    TUNED_SYNTAX_GPU,
    TUNED_SYNTAX_INT,
    TUNED_SYNTAX_INT64,
    TUNED_SYNTAX_REAL,
    TUNED_SYNTAX_VALUES,
    TUNED_SYNTAX_TIES,
};

enum tuned_presence { TUNED_IGNORED, TUNED_OPTIONAL, TUNED_REQUIRED };

/* Who reads. */
enum tuned_reading { TUNED_BY_APPLICATION, TUNED_BY_TUNER };

struct tuned_key_rule {
    const char *key; /* of VALUES and TIES: what the keys begin with */
    enum tuned_syntax syntax;
    enum tuned_presence presence[2]; /* by enum tuned_reading */
};

extern const struct tuned_key_rule tuned_key_rules[TUNED_KEY_COUNT];

/* A key of a section with its value, checked. */
struct tuned_item {
    enum tuned_key key;
    const char *text;     /* the value as in the file */
    struct literal value; /* of numbers, VALUES and TIES; a word is `text` */
    const char *name;     /* of VALUES and TIES: what ends the key */
    size_t tie;           /* of TIES: from 0 */
};

/* The names of the values that a section has so far. */
struct tuned_names {
    char items[TUNED_PARAMETERS][LITERAL_NAME_LETTERS + 1];
    size_t count;
};

/* Zeroed, but for the callbacks, `reading` and `user`. Each callback returns 0 or what ends the
 * reading: that of ini_reader_fail(&reader->ini, …), say. What its arguments point to is gone after
 * the call. */
struct tuned_reader {
    enum tuned_reading reading;
    int (*begin)(struct tuned_reader *reader, const char *section);
    int (*item)(struct tuned_reader *reader, const struct tuned_item *item);
    int (*end)(struct tuned_reader *reader); /* of the section; it has what is required */
    /* NULL: keys that are not known are left alone, so that newer files can be read. */
    int (*unknown)(struct tuned_reader *reader, const char *key);
    void *user;

    struct ini_reader ini; /* has line and message of a failure */

    /* private: the open section */
    char section[INI_READER_NAME_BYTES + 1];
    int section_line; /* 0: none is open */
    bool seen[TUNED_KEY_COUNT];
    struct tuned_names problem, parameters, tie; /* of the tie read last */
    size_t tie_count;
};

/* Reads the text (ini_reader_load() has it of a file). Returns 0, enum ini_reader_status or what a
 * callback returned. */
int tuned_reader_read(struct tuned_reader *reader, const char *text, size_t length);

/* Adds a name; INI_READER_BAD_FILE for what is not a lower-case name, given twice, or more than
 * `limit`. */
int tuned_names_add(struct tuned_names *names, struct ini_reader *ini, const char *name,
                    size_t limit);

#endif
