/*
 * The tuned INI: the best configuration of each kernel for each GPU and problem, in a file that
 * applications ship. FORMATS.md specifies it. An entry is for one kernel, GPU, problem and cache
 * state, or is a cover of many problems (base/cover.h). Its section's name, which readers
 * do not use, is the kernel and a hash of the rest (the low 32 bits of XXH3 of study_key()).
 *
 * The keys are a table in base/tuned_reader.h, which reading and writing share; to add one, add its
 * line there, its member here and its row to FORMATS.md.
 */
#ifndef AUTOTUNE_TUNED_FILE_H
#define AUTOTUNE_TUNED_FILE_H

#include "base/cover.h"
#include "base/error.h"
#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

/* What any build of inih reads of a line and of a section's name. */
enum { TUNED_LINE_BYTES = 196, TUNED_SECTION_BYTES = 49 };

struct tuned_entry {
    char *section;
    char *kernel;
    char *template_name;
    char *template_hash;
    char *gpu;  /* name */
    char *arch; /* "sm_90" */
    int compute_capability;
    int sm_count;
    int64_t l2_bytes;
    int64_t memory_bytes;
    double memory_gb_per_s; /* peak, 10^9 bytes a second; 0 if not known */
    char *driver;
    char *nvrtc;
    char *autotune;
    char *date;
    char *command;       /* that made the entry, cut to its line; NULL if not known */
    char *cache;         /* "cold" or "warm" */
    bool incomplete;     /* tuning ended early: the best so far, judging by its samples */
    struct cover *cover; /* NULL for one problem; otherwise nothing from `parameters` on is used */
    struct bindings problem; /* of a cover: what is the same in its whole range */
    struct bindings parameters;
    double median_ns, low_ns, high_ns; /* of the finals; 95 % interval of the median */
    int64_t samples;
    int runs;               /* per sample, if they were batched; 0 for single runs */
    double gb_per_s;        /* 0 if the template does not say */
    double gflop_per_s;     /* likewise */
    double empty_kernel_ns; /* measured as the winner was */
    /* what NVML saw during the study; 0 if not known */
    double sm_clock_mhz; /* mean */
    int64_t dropped_samples, throttled_samples, other_processes;
    /* of a search, which did not try all variants of the space; 0: all were tried */
    int64_t variants_tried, variants_in_space;
    double within_percent; /* of the best of the space, with 90 % confidence; 0: not known */
    int registers;
    int blocks_per_sm;
    double occupancy;
    struct bindings *ties; /* parameters of the others in the tie set */
    size_t tie_count;
    char *other; /* lines of the section that autotune does not write: comments, unknown keys, and
                    what stands above the next section; NULL if the section was not read */
};

/* A section that could not be used. */
struct tuned_skipped {
    char *section;
    char *text; /* its lines, without the heading */
    struct error reason;
};

struct tuned_file {
    char *heading; /* what stands above the first section; NULL if the file was not read */
    struct tuned_entry *entries;
    size_t count;
    struct tuned_skipped *skipped;
    size_t skipped_count;
};

void tuned_file_release(struct tuned_file *tuned);
void tuned_entry_release(struct tuned_entry *entry);

/* The entry for a study that has a measured variant: its winner, or else, as an incomplete entry,
 * the best so far. */
void tuned_entry_from_study(const struct study *study, struct tuned_entry *entry);

/*
 * Reads the file. A missing file gives no entries and 0. A section that cannot be used (missing key,
 * bad number) is skipped. A file that is not a tuned INI, or in which no section can be used, is
 * ERROR_CONFIG with file and line.
 */
int tuned_file_read(const char *path, struct tuned_file *tuned, struct error *error);

/* Whether both are for the same GPU, as libtuned tells GPUs of one name apart; a file need not say how
 * many SMs there are. */
bool tuned_entry_same_gpu(const struct tuned_entry *a, const struct tuned_entry *b);

/* How many configurations an entry has, and the parameters of one, counted from 0, which must be released. */
size_t tuned_entry_count(const struct tuned_entry *entry);
struct bindings tuned_entry_parameters(const struct tuned_entry *entry, size_t configuration);

/* Whether the problem is in the range of the entry's cover, and its constraints allow a configuration there. */
bool tuned_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem);

/* Whether both are for the same kernel, GPU and problem. */
bool tuned_entry_same_kernel(const struct tuned_entry *a, const struct tuned_entry *b);

/* The index of the entry for the same kernel, GPU, problem and cache state as `entry`; tuned->count
 * if there is none. */
size_t tuned_file_find(const struct tuned_file *tuned, const struct tuned_entry *entry);

/* Adds `entry`, or replaces the one that tuned_file_find() finds; takes it over (`entry` is
 * zeroed). A replaced entry keeps its section's name and the lines in `other`; an added one gets
 * another name if the file already has its name. A cover's section may be NULL. */
void tuned_file_merge(struct tuned_file *tuned, struct tuned_entry *entry);

/* Takes over what `from` has besides its entries: the heading, if `tuned` has none, and the skipped
 * sections that `tuned` lacks. Releases `from`. */
void tuned_file_take_rest(struct tuned_file *tuned, struct tuned_file *from);

void tuned_file_drop_skipped(struct tuned_file *tuned);

/* Writes the file atomically (base/write_file.h). Returns 0, or ERROR_RECORD with the old file
 * intact. */
int tuned_file_write(const char *path, const struct tuned_file *tuned, struct error *error);

/*
 * Locks the folder of the file `path`, or of the file that it links to, for as long as `*lock` is open:
 * other processes that update the file wait. `*lock` is -1 if the folder cannot be opened; without locks
 * on the file system, the last writer wins. Returns 0, ERROR_RECORD if another process holds the lock for
 * ten seconds, or ERROR_INTERRUPTED.
 */
int tuned_file_lock(const char *path, int *lock, struct error *error);

/*
 * Reads the file, merges `count` entries (taken over and zeroed, also on failure) and writes it. An
 * incomplete entry does not replace a complete one of the same version of the template; `*taken` is
 * the number of entries that are now in the file. Several processes may do so at once, one for each
 * GPU, say, and no entry is lost: the file's folder is locked (flock) meanwhile, if its file system
 * supports that. Returns 0, ERROR_CONFIG for a file that tuned_file_read() refuses, which is left
 * alone, ERROR_RECORD, also if another process holds the lock for ten seconds, or ERROR_INTERRUPTED.
 */
int tuned_file_update(const char *path, struct tuned_entry *entries, size_t count, size_t *taken,
                      struct error *error);

/*
 * Removes from the file what the studies found wrong, crashing or hanging, whatever the kernel is called
 * there: configurations of the studies' problems, and covers that have such a configuration and the problem
 * in their range, and do not rule it out there. Tells `notice` of each. Returns 0, or an error as
 * tuned_file_update().
 */
int tuned_file_refute(const char *path, const struct study *studies, size_t count,
                      void (*notice)(void *user, const struct error *notice), void *user,
                      struct error *error);

#endif
