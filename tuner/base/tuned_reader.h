/*
 * Reads the tuned INI; the only module that knows its keys and their syntax. Both the tuner
 * (record/tuned_file.c) and libtuned (library/load.c) use it. They keep different keys, as
 * TUNED_KEYS says.
 *
 * To add a key, add a line to TUNED_KEYS, in the order in which the tuner writes keys, a member to
 * struct tuned_entry (record/tuned_file.h), and a row to FORMATS.md. If applications read it, add a
 * case to library/load.c.
 *
 * libtuned contains this module: it never aborts or prints. It allocates only for a cover, and
 * reports it if it cannot.
 */
#ifndef AUTOTUNE_TUNED_READER_H
#define AUTOTUNE_TUNED_READER_H

#include "base/cover.h"
#include "base/ini_reader.h"
#include "base/literal.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * X(member of struct tuned_entry, key, syntax, for applications, for the tuner)
 *
 *   syntax  NAME: a lower-case name. TEXT: anything. GPU: a GPU's name. INT, INT64: a whole number,
 *           0 or more. REAL: a number, 0 or more. BOUND: the same, with low_ns <= high_ns.
 *           DATE: 2026-11-21T06:12:00Z. FLAG: yes or no. VALUES: any number of keys PREFIX + lower-case
 *           name, each with a literal. TIES: the same with PREFIX + number + "." + name, numbered
 *           from 1 in order. COVER: the version of a cover, whose other keys are in
 *           base/cover.h.
 *   for applications, for the tuner: REQUIRED in every section, MEASURED (required in a section
 *           without a cover), OPTIONAL or IGNORED. From `parameters` on, a cover has none of them.
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
    X(nvrtc, "nvrtc", TEXT, OPTIONAL, REQUIRED)                                                    \
    X(autotune, "autotune", TEXT, IGNORED, REQUIRED)                                               \
    X(date, "date", DATE, OPTIONAL, REQUIRED)                                                      \
    X(command, "command", TEXT, IGNORED, OPTIONAL)                                                 \
    X(cache, "cache", TEXT, OPTIONAL, REQUIRED)                                                    \
    X(incomplete, "incomplete", FLAG, OPTIONAL, OPTIONAL)                                          \
    X(cover, "cover", COVER, OPTIONAL, OPTIONAL)                                                   \
    X(problem, "problem.", VALUES, OPTIONAL, OPTIONAL)                                             \
    X(parameters, "parameter.", VALUES, OPTIONAL, OPTIONAL)                                        \
    X(median_ns, "median_ns", REAL, OPTIONAL, MEASURED)                                            \
    X(low_ns, "low_ns", BOUND, OPTIONAL, MEASURED)                                                 \
    X(high_ns, "high_ns", BOUND, OPTIONAL, MEASURED)                                               \
    X(samples, "samples", INT64, IGNORED, MEASURED)                                                \
    X(runs, "runs", INT, IGNORED, OPTIONAL)                                                        \
    X(gb_per_s, "gb_per_s", REAL, IGNORED, OPTIONAL)                                               \
    X(gflop_per_s, "gflop_per_s", REAL, IGNORED, OPTIONAL)                                         \
    X(empty_kernel_ns, "empty_kernel_ns", REAL, IGNORED, OPTIONAL)                                 \
    X(sm_clock_mhz, "sm_clock_mhz", REAL, IGNORED, OPTIONAL)                                       \
    X(dropped_samples, "dropped_samples", INT64, IGNORED, OPTIONAL)                                \
    X(throttled_samples, "throttled_samples", INT64, IGNORED, OPTIONAL)                            \
    X(other_processes, "other_processes", INT64, IGNORED, OPTIONAL)                                \
    X(variants_tried, "variants_tried", INT64, IGNORED, OPTIONAL)                                  \
    X(variants_in_space, "variants_in_space", INT64, IGNORED, OPTIONAL)                            \
    X(within_percent, "within_percent", REAL, IGNORED, OPTIONAL)                                   \
    X(registers, "registers", INT, IGNORED, MEASURED)                                              \
    X(blocks_per_sm, "blocks_per_sm", INT, IGNORED, MEASURED)                                      \
    X(occupancy, "occupancy", REAL, IGNORED, MEASURED)                                             \
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
    TUNED_SYNTAX_BOUND,
    TUNED_SYNTAX_DATE,
    TUNED_SYNTAX_FLAG,
    TUNED_SYNTAX_VALUES,
    TUNED_SYNTAX_TIES,
    TUNED_SYNTAX_COVER,
};

enum tuned_presence { TUNED_IGNORED, TUNED_OPTIONAL, TUNED_REQUIRED, TUNED_MEASURED };

/* Who reads the file. */
enum tuned_reading { TUNED_BY_APPLICATION, TUNED_BY_TUNER };

struct tuned_key_rule {
    const char *key; /* of VALUES and TIES: the prefix */
    enum tuned_syntax syntax;
    enum tuned_presence presence[2]; /* by enum tuned_reading */
};

extern const struct tuned_key_rule tuned_key_rules[TUNED_KEY_COUNT];

/* A key of a section with its value, which has been checked. */
struct tuned_item {
    enum tuned_key key;   /* TUNED_KEY_COUNT: a line of the cover, which the section keeps itself */
    const char *text;     /* the value as written in the file */
    struct literal value; /* of numbers, VALUES and TIES; a word is `text` */
    bool flag;            /* of FLAG */
    const char *name;     /* of VALUES and TIES: the name after the prefix */
    size_t tie;           /* of TIES: index from 0 */
};

/* The names seen so far in a section. */
struct tuned_names {
    char items[TUNED_PARAMETERS][LITERAL_NAME_LETTERS + 1];
    size_t count;
};

/* Initialise to zero, except the callbacks, `reading` and `user`. A callback returns 0, or an error
 * that stops reading, for example from ini_reader_fail(&reader->ini, …). Its arguments are valid
 * only during the call. */
struct tuned_reader {
    enum tuned_reading reading;
    int (*begin)(struct tuned_reader *reader, const char *section);
    int (*item)(struct tuned_reader *reader, const struct tuned_item *item);
    int (*end)(struct tuned_reader *reader); /* of a section that has all required keys */
    /* Called instead of end() for a section that cannot be used; ini.line and ini.message say why.
     * The rest of the section is not read. */
    void (*skip)(struct tuned_reader *reader);
    void *user;

    struct ini_reader ini; /* line and message of a failure */

    /* In end(): the cover of the section, finished; NULL if it has none. It is freed afterwards, unless end()
     * takes it over and sets this to NULL. */
    struct cover *cover;

    /* The sections read and skipped, and why the first was skipped. */
    size_t read_count, skipped_count;
    int skipped_line;
    char skipped_message[sizeof((struct ini_reader *)NULL)->message];

    /* private: the open section */
    char section[INI_READER_NAME_BYTES + 1];
    int section_line; /* 0: no open section */
    bool skipping;    /* the open section */
    bool seen[TUNED_KEY_COUNT];
    int sm_count;                      /* 0: not read */
    double median_ns, low_ns, high_ns; /* as far as they were read */
    bool no_samples;
    bool has_unknown;                            /* keys */
    struct tuned_names problem, parameters, tie; /* tie: of the last tie */
    size_t tie_count;
};

/* Whether look-ups take both for the same GPU; see enum tuned_rule. */
bool tuned_reader_same_gpu(const struct tuned_gpu *a, const struct tuned_gpu *b);

/* What begin() returns for a section whose name an earlier section has. */
int tuned_reader_fail_twice(struct tuned_reader *reader, const char *section);

/*
 * Reads the text (from ini_reader_load(), for example). Unknown keys are ignored, so that newer files
 * can be read. A section that cannot be used is skipped. Returns 0, an enum ini_reader_status or a
 * callback's error: INI_READER_BAD_FILE if the text is not INI, or if it has sections but none that
 * can be used.
 */
int tuned_reader_read(struct tuned_reader *reader, const char *text, size_t length);

/* Adds a name. Returns INI_READER_BAD_FILE if it is not a lower-case name, is already there, or
 * there are `limit` names. */
int tuned_names_add(struct tuned_names *names, struct ini_reader *ini, const char *name,
                    size_t limit);

#endif
