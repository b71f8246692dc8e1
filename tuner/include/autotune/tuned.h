/*
 * libtuned looks up which configuration of a kernel to use on the GPU at hand, in a tuned INI that
 * `autotune` wrote. It needs neither CUDA nor a compiler. For C11 and C++.
 *
 *     struct tuned_table *table;
 *     struct tuned_error error;
 *     if (tuned_load(&table, "tuned.ini", &error) != 0)         (once, at start-up)
 *         …error.message…
 *     struct tuned_gpu gpu;
 *     tuned_gpu_current(&gpu, NULL, &error);                     (or fill it yourself)
 *     struct tuned_value problem[] = {tuned_integer("n", 5000000)};
 *     struct tuned_query query = {0};
 *     query.kernel = "reduce_sum", query.gpu = &gpu;
 *     query.problem = problem, query.problem_count = 1;
 *     struct tuned_match match;
 *     if (tuned_find(table, &query, &match) == 0)
 *         block_size = tuned_integer_of(&match, "block_size", 256);
 *     tuned_free(table);
 *
 * Check match.rule: it says how far the answer is from the question. query.limit says how far it
 * may be.
 *
 * Any number of threads may look things up in a table at once. No other thread may use the table
 * during tuned_load(), tuned_add_template() and tuned_free(). tuned_find() and the functions that
 * read its answer do not allocate. Nothing here prints or ends the process. A damaged file is
 * refused, or its damaged sections are skipped.
 */
#ifndef AUTOTUNE_LIBTUNED_H
#define AUTOTUNE_LIBTUNED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, meaning). Functions return 0 or one of these. */
#define TUNED_CODES(X)                                                                             \
    X(OK, 0, "done")                                                                               \
    X(NOT_FOUND, -1, "no configuration matches the query")                                         \
    X(BAD_FILE, -2, "a file cannot be read or is invalid")                                         \
    X(NO_MEMORY, -3, "out of memory")                                                              \
    X(INVALID, -4, "invalid argument")                                                             \
    X(NO_GPU, -5, "no CUDA driver, or no current context")                                         \
    X(CUDA, -6, "a CUDA driver call failed")                                                       \
    X(COMPILER, -7, "NVRTC is missing, or the kernel does not compile")

enum tuned_code {
#define TUNED_CODE(name, value, text) TUNED_##name = (value),
    TUNED_CODES(TUNED_CODE)
#undef TUNED_CODE
};

struct tuned_error {
    int code;
    int line;       /* 0 if there is none */
    char file[256]; /* "" if there is none; cut if too long, as is the message */
    char message[1024];
};

enum { TUNED_PARAMETERS = 64, TUNED_PROBLEM_VALUES = 16 }; /* at most, per configuration */

/* A file has at most this length, which is enough for some ten thousand configurations. Neither
 * autotune nor this library reads or writes a longer one. */
enum { TUNED_FILE_BYTES = 16 * 1024 * 1024 };

enum tuned_kind { TUNED_INTEGER, TUNED_REAL, TUNED_WORD };

/* A named value. In a query, `text` is used only for words; in an answer it is always set. */
struct tuned_value {
    const char *name;
    enum tuned_kind kind;
    int64_t integer;  /* for TUNED_INTEGER; otherwise 0 */
    double real;      /* for TUNED_INTEGER and TUNED_REAL */
    const char *text; /* as in the file: "256", "0.5", "last_block" */
};

static inline struct tuned_value tuned_integer(const char *name, int64_t integer)
{
    struct tuned_value value = {name, TUNED_INTEGER, integer, (double)integer, NULL};
    return value;
}

static inline struct tuned_value tuned_real(const char *name, double real)
{
    struct tuned_value value = {name, TUNED_REAL, 0, real, NULL};
    return value;
}

static inline struct tuned_value tuned_word(const char *name, const char *word)
{
    struct tuned_value value = {name, TUNED_WORD, 0, 0, word};
    return value;
}

/* A GPU. Members that are not known are 0 or "". */
struct tuned_gpu {
    char name[128];         /* "NVIDIA H200", as the driver calls it */
    int compute_capability; /* 90 for 9.0, 120 for 12.0; a query must set it */
    int sm_count;
    int64_t l2_bytes;
    double memory_gb_per_s; /* peak, 2 × memory clock × bus width; 10^9 bytes per second */
};

/*
 * Fills `gpu`, and `*device` with its ordinal (may be NULL), from the CUDA context that is current
 * in this thread, whether the driver or the runtime API made it. It does not load the driver: if
 * the process has not loaded it, there is no context. Returns 0 or TUNED_NO_GPU.
 */
int tuned_gpu_current(struct tuned_gpu *gpu, int *device, struct tuned_error *error);

/*
 * How far an answer is from the query, nearest first.
 *
 * GPUs are the same if they have the same name, the same compute capability and, if both are known,
 * the same number of SMs (so a slice of a GPU is another GPU). The distance between two GPUs is the
 * mean of |log2(x / y)| over SMs, L2 and bandwidth, leaving out what is not known; if nothing is
 * known, it is 64.
 *
 * The words of a problem must always be the same. The distance between two sizes is the sum over
 * the problem's numbers of |s(x) - s(y)|, with s(x) = sign(x) log2(1 + |x|), so a factor of two in
 * one number is a distance of about 1. An infinite number is as far as 2^1024; nothing is near NaN.
 *
 * A cover is a few configurations for a range of problems. Of those that the template's constraints allow
 * for the problem, it chooses the one that is expected to be the fastest, because it was at the nearest
 * measured sizes. A cover's distance from every problem in its range is 0, and from a problem outside the
 * range that of the nearest size at which the chosen configuration was measured. A cover whose own
 * constraint excludes the problem is not considered. Constraints are not checked for configurations of
 * single problems.
 *
 * The nearest GPU is chosen first, then the nearest size among its configurations, then the cache
 * state that the query prefers, then a cover, the one with the fewest ranges, then the first in the
 * file. On the same GPU, a cover whose range has the problem comes before configurations for single
 * problems of other sizes.
 */
enum tuned_rule {
    TUNED_NOTHING = 0,   /* no answer */
    TUNED_EXACT,         /* the same GPU, the same problem */
    TUNED_COVER,         /* the same GPU, in the range of a cover */
    TUNED_OUTSIDE_COVER, /* the same GPU, outside the range, by a cover's measured sizes */
    TUNED_NEAREST_SIZE,  /* the same GPU, the nearest size */
    TUNED_NEAREST_GPU,   /* the same compute capability, the nearest GPU, the nearest size there */
    TUNED_SAME_FAMILY,   /* the same major compute capability, likewise */
    TUNED_DEFAULTS       /* the template's own defaults, if they are known: tuned_add_template() */
};

/* "same GPU, nearest size". */
const char *tuned_rule_text(enum tuned_rule rule);

struct tuned_cover;

/* One section of the tuned INI, or one configuration of a cover's section. */
struct tuned_configuration {
    const char *section; /* "reduce_sum 5f1c09ab" */
    const char *kernel;
    const char *template_name;
    const char *template_hash; /* 32 hexadecimal digits: the version of the template */
    const struct tuned_gpu *gpu;
    const struct tuned_value *problem; /* of a cover: only what is the same in the whole range */
    size_t problem_count;
    const struct tuned_value *parameters;
    size_t parameter_count;
    const struct tuned_cover *cover; /* the one that it belongs to; NULL: none */
    int number;                      /* in the cover, from 1; 0 without a cover */
    double median_ns;                /* as measured on that GPU; 0: not known */
    const char *cache;               /* L2 before each sample, "cold" or "warm"; NULL: not known */
    int incomplete;                  /* tuning ended early: the best so far, not the winner */
    const char *nvrtc; /* that compiled it, and a stamp of its headers; NULL: not known */
};

/* The range of one problem value in which a cover is valid, both ends included. */
struct tuned_range {
    const char *name;
    double low, high;
};

/* A size that was measured for a cover. */
struct tuned_size {
    const double *numbers;  /* one for each range, in order */
    const double *times_ns; /* median of each configuration; 0: not measured, infinite: failed */
    size_t fastest;         /* index of the fastest configuration there */
};

/* A cover. A loss is the share of the best variant's speed that is missing, in percent. */
struct tuned_cover {
    const struct tuned_configuration *configurations;
    size_t count;
    const struct tuned_range *ranges;
    size_t range_count;
    const char *constraint; /* a problem is in the range only if it holds; NULL: none */
    double mean_loss_percent, worst_loss_percent; /* expected in the range */
    int64_t held_out_sizes;                       /* on which these were measured; 0: not known */
    const struct tuned_size *sizes;
    size_t size_count;
};

struct tuned_table;

/*
 * Loads a tuned INI, or a bundle that `autotune bundle` wrote. On failure `*table` is NULL. Unknown
 * keys are ignored, so that files of a newer autotune can be read. A section that cannot be used is
 * skipped; the call then succeeds, and `error` says why the first one was skipped (its message is ""
 * if none was). If no section can be used, the file is refused.
 * Returns 0, TUNED_BAD_FILE naming file and line, or TUNED_NO_MEMORY.
 */
int tuned_load(struct tuned_table **table, const char *path, struct tuned_error *error);

/* The same from `length` bytes in memory, for applications that contain the file; `name` is for
 * messages. */
int tuned_load_text(struct tuned_table **table, const char *name, const char *text, size_t length,
                    struct tuned_error *error);

void tuned_free(struct tuned_table *table); /* NULL is allowed */

/*
 * Reads the defaults of a template's parameters and problem values from its .ini, because a tuned
 * INI does not contain them. They are used for the last rule, and for problem values that a query
 * leaves out. The template's name is that of the file. A bundle already has its templates.
 * Returns 0, or TUNED_BAD_FILE or TUNED_NO_MEMORY with the table unchanged.
 */
int tuned_add_template(struct tuned_table *table, const char *path, struct tuned_error *error);

size_t tuned_count(const struct tuned_table *table);

/* Configuration `index`, in order of kernel, GPU and place in the file, including those of covers;
 * NULL after the last. */
const struct tuned_configuration *tuned_at(const struct tuned_table *table, size_t index);

/* What is asked. Zero is the default of every member below the problem. */
struct tuned_query {
    const char *kernel;
    const struct tuned_gpu *gpu;
    /* Name every value of the problem. One that is left out is the template's default if that is
     * known; otherwise it may be anything, and the answer is not TUNED_EXACT. */
    const struct tuned_value *problem;
    size_t problem_count;
    enum tuned_rule limit; /* the farthest rule that may apply; 0: TUNED_DEFAULTS */
    /* The version of the template that the application contains: TEMPLATE_HASH in the header that
     * `autotune export` writes. Configurations of other versions are refused. NULL: not checked. */
    const char *template_hash;
    int accept_other_versions; /* prefer the right version, but accept others too */
    /* "cold" or "warm", as the L2 cache will be at the launch: of two configurations that are equally
     * near, the one that was measured in this state is chosen. NULL: "cold". */
    const char *cache;
};

/* The answer. Its pointers belong to the table or the query. */
struct tuned_match {
    enum tuned_rule rule;
    const struct tuned_value *parameters; /* in the template's order */
    size_t parameter_count;
    const struct tuned_configuration *from; /* NULL for TUNED_DEFAULTS and TUNED_NOTHING */
    double gpu_distance;                    /* see enum tuned_rule */
    double size_distance;
    /* if the answer is from a cover, from->cover: the nearest size at which the configuration was measured,
     * and whether the problem is outside the cover's range */
    const struct tuned_size *size;
    int outside;
    int incomplete;    /* from->incomplete: tune again when you can */
    int other_version; /* from another version of the template than query->template_hash */
    /* How many configurations this kernel has, and how many were refused for which reason. */
    size_t candidates;
    size_t refused_versions;
    size_t refused_gpus; /* another GPU family, or beyond the limit */
    size_t
        refused_problems; /* other words, a value that only query or file has, or nothing of a cover is allowed */
};

/*
 * Finds the configuration for `query`. Takes less than a microsecond if the kernel has ten
 * configurations or a cover, and at most 20 microseconds if it has 500 on 20 GPUs. Does not
 * allocate. Returns 0; TUNED_NOT_FOUND with `match->rule` TUNED_NOTHING and the counts set; or
 * TUNED_INVALID if the query has no kernel, GPU or compute capability, an unknown limit or kind, too
 * many values, or a value twice.
 */
int tuned_find(const struct tuned_table *table, const struct tuned_query *query,
               struct tuned_match *match);

/* The parameter called `name`; NULL if there is none. */
const struct tuned_value *tuned_parameter(const struct tuned_match *match, const char *name);

/* Its value, or `fallback` if there is none of that kind (a whole number is also a real one). */
int64_t tuned_integer_of(const struct tuned_match *match, const char *name, int64_t fallback);
double tuned_real_of(const struct tuned_match *match, const char *name, double fallback);
const char *tuned_word_of(const struct tuned_match *match, const char *name, const char *fallback);

/*
 * The definitions for a compiler, as autotune passed them: "-DBLOCK_SIZE=256", and for words
 * "-DFINISH=FINISH_TWO_PASS"; first the parameters in order, then the problem's words. They include
 * launch parameters, which the source does not use.
 */
struct tuned_definitions {
    size_t count;
    const char *items[TUNED_PARAMETERS + TUNED_PROBLEM_VALUES]; /* point into `text` */
    char text[16 * 1024];
};

/* Returns 0, or TUNED_INVALID if a word of the query is not a lower-case name. `match` must be
 * tuned_find()'s answer to `query`. */
int tuned_define(const struct tuned_table *table, const struct tuned_query *query,
                 const struct tuned_match *match, struct tuned_definitions *definitions);

/*
 * Writes one sentence that says which configuration `query` got and why, or why it got none. Like
 * snprintf(), it cuts the text to `size`, ends it with a zero and returns the whole length.
 */
size_t tuned_explain(const struct tuned_query *query, const struct tuned_match *match, char *buffer,
                     size_t size);

/*
 * The path of the match's cubin in the bundle, for cuModuleLoad(). Returns 0; TUNED_NOT_FOUND if
 * the table is not from a bundle, or if the cubin does not run on query->gpu (a cubin runs on the
 * same major and the same or a later minor compute capability); or TUNED_INVALID if `size` is too
 * small. Unlike libtuned_kernel, it does not check whether the file is damaged.
 */
int tuned_cubin_path(const struct tuned_table *table, const struct tuned_query *query,
                     const struct tuned_match *match, char *path, size_t size);

#ifdef __cplusplus
}
#endif

#endif
