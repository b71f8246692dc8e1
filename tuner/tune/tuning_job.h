/*
 * A tuning job: one kernel on one problem. It holds the study that it produces and, for each result,
 * the compile job and whether the outcome is known already, from this run or from the record. The
 * results are of every variant of the space, or of those that a search has proposed so far.
 */
#ifndef AUTOTUNE_TUNING_JOB_H
#define AUTOTUNE_TUNING_JOB_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "record/study.h"
#include "template/sweep.h"
#include "tune/device_client.h"
#include "tune/kernel_stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One that failed in finals that were not careful, though nothing is known to be damaged. */
struct suspect {
    size_t index;
    struct device_client_answer answer;
    const struct fleet_gpu *gpu;
    size_t behind; /* the winner that had endured before; SIZE_MAX: none */
};

struct tuning_job {
    const struct sweep_kernel *kernel;
    const struct bindings *problem;
    const struct environment *environment; /* of this run */
    struct compile_pool *pool;
    struct bindings fixed; /* problem values and device attributes */
    struct study study;
    json_t *data; /* the files of the template's fills, with their hashes; NULL in static mode */
    struct compile_job **compile_jobs; /* of study.results[i]; NULL: not requested, or dropped */
    size_t *order;                     /* of the variants to compile: tuning_job_compile() */
    size_t order_count;
    size_t requested; /* so many of these */
    bool *known;      /* study.results[i] has its outcome */
    size_t known_count;
    struct proposer *proposer; /* the search; NULL: every variant is tried */
    size_t evaluations; /* variants that a search may try, known ones included; 0: any number */
    int64_t begin_ns;   /* when tuning it began, less what earlier runs spent on it */
    bool exhausted;     /* the search has nothing left to propose */
    struct compile_job
        *reference;             /* the source with its defaults; NULL where no reference needs it */
    struct compile_job *probe;  /* of structs (compile/struct_probe.h); NULL: there are none */
    struct source probe_source; /* … its source */
    double compile_timeout_s;   /* of this run; set after tuning_job_init() */
    double launch_timeout_s;
    int compile_memory_mb; /* 0: there is no limit */
    int64_t record_id;
    bool refused;      /* it does not fit in the GPU's memory, or was not prepared */
    bool overtaken;    /* its winner was found wrong under another name; it is to be planned anew */
    bool not_prepared; /* its reference fails, for example */
    bool disqualified; /* a variant that others were measured against has failed after all */
    /* a variant may have damaged what others use, unseen: the finals are to be checked carefully, and have at least
     * as many rounds as earlier ones, so that the culprit does it again */
    bool careful;
    unsigned careful_rounds;
    struct suspect *suspects;
    size_t suspect_count;
    struct compile_doubt *doubt; /* NULL: nobody is told */
};

/* Notices when the first variants of a run all fail to compile with one message. Then the kernel is
 * probably wrong, and the user should know before the others are tried. */
enum { DOUBT_VARIANTS = 8, DOUBT_REASON_BYTES = 256 };

/* Shared by a run's jobs. Zeroed, but for whom to tell, is the start of a run. */
struct compile_doubt {
    size_t failures; /* alike, and nothing else so far */
    char reason[DOUBT_REASON_BYTES];
    bool settled; /* a variant compiled or failed otherwise, or the user was told */
    void (*doubted)(void *user, const struct tuning_job *job, const struct compile_doubt *doubt);
    void *user;
};

/*
 * Starts the job: the study's head, from the sweep and the environment, which must outlive the job, as must the pool.
 * No results yet.
 */
void tuning_job_init(struct tuning_job *job, const struct sweep_kernel *kernel,
                     const struct bindings *problem, const struct environment *environment,
                     struct compile_pool *pool);
void tuning_job_release(struct tuning_job *job);

/* Says of the study that it is of this run. */
void tuning_job_take_environment(struct tuning_job *job);

/* Whether a variant is measured or may yet be; otherwise nothing is left to do on the device. */
bool tuning_job_can_win(const struct tuning_job *job);

/*
 * Puts the variants that are not known in the order in which to compile them: shuffled, so that slow
 * drift does not favour a corner of the space, and so that those that are done tell how long the
 * others will take. Also requests the compile job of the reference.
 */
int tuning_job_compile(struct tuning_job *job, struct error *error);

/* Requests the compile job of one variant, known or not. */
int tuning_job_request(struct tuning_job *job, size_t index, struct error *error);

/* Compiles a variant again whose cubin cannot be read any more, and waits. Returns 0, also if it does not
 * compile now, or ERROR_RECORD if that has been tried often enough; or as compile_pool_wait(). */
int tuning_job_recompile(struct tuning_job *job, size_t index, struct error *error);

/* Drops the compile job of one variant, if it has one; or all, of variants that have none as well and
 * of the reference: nothing is compiled for this job any more. */
void tuning_job_drop(struct tuning_job *job, size_t index);
void tuning_job_drop_all(struct tuning_job *job);

/* Checks structs and the launches of the references against what was compiled, once job->probe and
 * job->reference are done.
 * Returns 0, also if it did not compile; ERROR_CONFIG at the template's line; or ERROR_RECORD. */
int tuning_job_check_references(const struct tuning_job *job, struct error *error);

/* Adds a result, which is not known, with these parameters; returns its index. */
size_t tuning_job_add(struct tuning_job *job, const struct bindings *parameters);

/* Moves the study to `*study`, with those variants alone that have an outcome. */
void tuning_job_take_study(struct tuning_job *job, struct study *study);

/* What a variant's statistics are computed from; its compile job must have been requested. */
struct kernel_stats_source tuning_job_stats_source(const struct tuning_job *job, size_t index);

/* Starts the clock that says when each outcome was known, where earlier runs left it. */
void tuning_job_begin(struct tuning_job *job);

/* Ends a variant: stores its outcome with a copy of `reason` (NULL or "": none), and tells the
 * search unless it is a duplicate. */
void tuning_job_conclude(struct tuning_job *job, size_t index, enum outcome outcome,
                         const char *reason);

/* The same for a variant that missed a time limit (0: it did not), or failed for a passing reason, such
 * as workers that were killed from outside: its outcome is not for good. */
void tuning_job_give_up(struct tuning_job *job, size_t index, enum outcome outcome,
                        const char *reason, double limit_s, bool passing);

/* Ends a variant with what the GPU client made of it. */
void tuning_job_take_answer(struct tuning_job *job, size_t index,
                            const struct device_client_answer *answer);

/*
 * Keeps the compiler ahead of the GPU, over all jobs of a run in their order, but only so far ahead
 * that the memory of compile jobs does not grow with the space.
 */
struct compile_ahead {
    struct compile_pool *pool;
    struct tuning_job *jobs;
    size_t job_count;
    size_t sample; /* so many variants of each job before all others */
    size_t next;   /* the first that may have something to compile */
};

/* Requests the next compile job. Returns 1; 0 if none is left or enough are held; ERROR_INTERRUPTED or
 * the error of the request. */
int compile_ahead_next(struct compile_ahead *ahead, struct error *error);

/* Requests compile jobs until enough are held, to be called whenever one was dropped. Returns 0,
 * ERROR_INTERRUPTED or the error of the request. */
int compile_ahead_fill(struct compile_ahead *ahead, struct error *error);

/* How many variants have yet to be requested. */
size_t compile_ahead_left(const struct compile_ahead *ahead);

/*
 * job_space.c: the variants that a job begins with: every one of its space, or, for a search, those that the
 * record has. What the record says of them is taken over; other results are dropped, as are those
 * that missed a lower time limit than this run's, and duplicates without their twin. A stored verdict
 * holds if it is on exactly the variants that the job begins with.
 */

/* ERROR_MEMORY if what all variants need is more than the GPU has; else 0. The device worker checks against the
 * free memory. */
int job_memory_check(const struct tuning_job *job, struct error *error);

/* Enumerates the space. Returns 0 or ERROR_CONFIG if a constraint fails or the space has more than
 * 10^7 variants after constraints. */
int job_space_enumerate(struct tuning_job *job, struct error *error);

/* Begins a search by the variants' parameters (search/search.h), of at most `evaluations` (0: any number) with those
 * that are known. The size of the space is estimated if it cannot be counted by `end_ns`, on clock_ns().
 * Returns 0 or ERROR_CONFIG if a constraint fails. */
int job_space_search(struct tuning_job *job, size_t evaluations, int64_t end_ns,
                     struct error *error);

/* Adds what the search proposes next, by `end_ns` (on clock_ns()). Returns 1 with its index; 0 if there
 * is nothing left, nothing was found in time, or job->evaluations are reached; or an error. */
int tuning_job_propose(struct tuning_job *job, int64_t end_ns, size_t *index, struct error *error);

/* Whether there is a search that may try more variants. */
bool tuning_job_is_searching(const struct tuning_job *job);

/* Tells the search, if there is one, of result `index` what became of `run`: itself, or its twin. */
void tuning_job_tell(struct tuning_job *job, size_t index, const struct result *run);

/* Takes back what was proposed and has no outcome: the study is of what was tried. Indices change. */
void tuning_job_drop_untried(struct tuning_job *job);

/* Tells the search what another study has of the space's variants: search_know(). */
void tuning_job_know(struct tuning_job *job, const struct study *study);

void tuning_job_end_search(struct tuning_job *job); /* of tuning_job_release() */

#endif
