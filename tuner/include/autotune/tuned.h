/*
 * libtuned: which configuration of a kernel to use on the GPU at hand, from the tuned INI that
 * `autotune` wrote. It needs neither CUDA nor the compiler; C11 and C++.
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
 * Look at match.rule: it says how far the answer is from what was asked, and query.limit says how
 * far it may be.
 *
 * A loaded table never changes, so any number of threads may look things up in it; tuned_load(),
 * tuned_add_template() and tuned_free() must be alone with it. tuned_find() and what reads its
 * answer allocate nothing. Nothing here prints or ends the process; a file from a stranger can be
 * refused, and do no other harm.
 */
#ifndef AUTOTUNE_LIBTUNED_H
#define AUTOTUNE_LIBTUNED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, what it is). Functions return 0 or one of these. */
#define TUNED_CODES(X)                                                                             \
    X(OK, 0, "done")                                                                               \
    X(NOT_FOUND, -1, "nothing fits the query")                                                     \
    X(BAD_FILE, -2, "a file is not what it should be")                                             \
    X(NO_MEMORY, -3, "out of memory")                                                              \
    X(INVALID, -4, "an argument is not allowed")                                                   \
    X(NO_GPU, -5, "no CUDA driver, or no current context")                                         \
    X(CUDA, -6, "a call of the CUDA driver failed")                                                \
    X(COMPILER, -7, "NVRTC is not there, or refused the kernel")

enum tuned_code {
#define TUNED_CODE(name, value, text) TUNED_##name = (value),
    TUNED_CODES(TUNED_CODE)
#undef TUNED_CODE
};

struct tuned_error {
    int code;
    int line;       /* 0 where there is none */
    char file[256]; /* "" where there is none; cut, never overrun, as is the message */
    char message[1024];
};

enum { TUNED_PARAMETERS = 64, TUNED_PROBLEM_VALUES = 16 }; /* of one configuration, at most */

/* A file is no longer than this, some ten thousand configurations: autotune writes none that is, and
 * neither it nor this library reads one. */
enum { TUNED_FILE_BYTES = 16 * 1024 * 1024 };

enum tuned_kind { TUNED_INTEGER, TUNED_REAL, TUNED_WORD };

/* A named value. In a query `text` matters for words only; in an answer it is there for all. */
struct tuned_value {
    const char *name;
    enum tuned_kind kind;
    int64_t integer;  /* of TUNED_INTEGER; otherwise 0 */
    double real;      /* of TUNED_INTEGER and TUNED_REAL */
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

/* A GPU. What is not known is 0 or "". */
struct tuned_gpu {
    char name[128];         /* "NVIDIA H200", as the driver calls it */
    int compute_capability; /* 90 for 9.0, 120 for 12.0; must be known in a query */
    int sm_count;
    int64_t l2_bytes;
    double memory_gb_per_s; /* peak, 2 × memory clock × bus width; 10^9 bytes a second */
};

/*
 * Fills `gpu`, and `*device` (its ordinal; NULL: not wanted), from the CUDA context that is current
 * in this thread, of the driver or the runtime API. Loads no driver: one that is not in the
 * process yet has no context. Returns 0 or TUNED_NO_GPU.
 */
int tuned_gpu_current(struct tuned_gpu *gpu, int *device, struct tuned_error *error);

/*
 * How far an answer is from the question, nearest first.
 *
 * The same GPU has the same name, the same compute capability and, where both are known, the same
 * number of SMs (a slice of a GPU is another GPU). Sizes: words of the problem must be the same
 * always; numbers x of the question and y of the configuration are |s(x) - s(y)| apart, with
 * s(x) = sign(x) log2(1 + |x|), and the distance is the sum over the problem's numbers: 1 is a
 * factor of two in one of them. GPUs: the mean of |log2(x / y)| over SMs, L2 and bandwidth, as far
 * as both are known (64 where none is). The nearest GPU comes first, among its configurations the
 * nearest size, among equals the first in the file.
 */
enum tuned_rule {
    TUNED_NOTHING = 0,  /* there is no answer */
    TUNED_EXACT,        /* the same GPU, the same problem */
    TUNED_NEAREST_SIZE, /* the same GPU, the nearest size */
    TUNED_NEAREST_GPU,  /* the same compute capability, the nearest GPU, the nearest size there */
    TUNED_SAME_FAMILY,  /* the same major compute capability, likewise */
    TUNED_DEFAULTS      /* the template's own defaults, where they are known (tuned_add_template) */
};

/* "same GPU, nearest size". */
const char *tuned_rule_text(enum tuned_rule rule);

/* A section of the tuned INI. */
struct tuned_configuration {
    const char *section; /* "reduce_sum 5f1c09ab" */
    const char *kernel;
    const char *template_name;
    const char *template_hash; /* 32 hexadecimal digits: the version of the template */
    const struct tuned_gpu *gpu;
    const struct tuned_value *problem;
    size_t problem_count;
    const struct tuned_value *parameters;
    size_t parameter_count;
    double median_ns; /* as measured there; 0: not known */
};

struct tuned_table;

/*
 * Loads a tuned INI, or a bundle (`autotune bundle`), which is a folder with one, the templates'
 * defaults and cubins. All or nothing: `*table` is NULL on failure. Keys that it does not know are
 * left alone, so that newer files can be read.
 * Returns 0, TUNED_BAD_FILE naming file and line, or TUNED_NO_MEMORY.
 */
int tuned_load(struct tuned_table **table, const char *path, struct tuned_error *error);

/* The same from `length` bytes in memory, for applications that carry the file inside themselves;
 * `name` is for messages. */
int tuned_load_text(struct tuned_table **table, const char *name, const char *text, size_t length,
                    struct tuned_error *error);

void tuned_free(struct tuned_table *table); /* NULL is allowed */

/*
 * Reads the defaults of a template's parameters and problem from its .ini, for the last rule and
 * for problem values that a query leaves out: the tuned INI does not have them. The template's name
 * is the file's. A bundle has its templates already.
 * Returns 0, TUNED_BAD_FILE or TUNED_NO_MEMORY; the table is then as it was.
 */
int tuned_add_template(struct tuned_table *table, const char *path, struct tuned_error *error);

size_t tuned_count(const struct tuned_table *table);

/* Number `index`, by kernel, GPU and place in the file; NULL behind the last. */
const struct tuned_configuration *tuned_at(const struct tuned_table *table, size_t index);

/* What is asked. Zeroed is the default of everything below the problem. */
struct tuned_query {
    const char *kernel;
    const struct tuned_gpu *gpu;
    /* Name every value of the problem: one that is left out is the template's default where that is
     * known, and otherwise may be anything (the answer is then not TUNED_EXACT). */
    const struct tuned_value *problem;
    size_t problem_count;
    enum tuned_rule limit; /* the farthest rule that may apply; 0: TUNED_DEFAULTS */
    /* The template that the application carries (TEMPLATE_HASH in the header that `autotune export`
     * makes): configurations of another version are refused. NULL: not checked. */
    const char *template_hash;
    int accept_other_versions; /* takes them, but after all of the right version */
};

/* The answer. Pointers are the table's, or the query's. */
struct tuned_match {
    enum tuned_rule rule;
    const struct tuned_value *parameters; /* in the template's order */
    size_t parameter_count;
    const struct tuned_configuration *from; /* NULL for TUNED_DEFAULTS and TUNED_NOTHING */
    double gpu_distance;                    /* see enum tuned_rule */
    double size_distance;
    int other_version; /* of another version of the template than query->template_hash */
    /* Of the configurations of this kernel, how many there are, and why others were no choice. */
    size_t candidates;
    size_t refused_versions;
    size_t refused_gpus;     /* another family, or beyond the limit */
    size_t refused_problems; /* other words, or a value that only one side has */
};

/*
 * Finds the configuration for `query`. Takes some hundred nanoseconds in a table of ten, some
 * microseconds in one of a thousand of the same kernel; allocates nothing.
 * Returns 0; TUNED_NOT_FOUND with `match->rule` TUNED_NOTHING and the counts filled; TUNED_INVALID
 * where the query has no kernel, no GPU or no compute capability, an unknown limit or kind, or too
 * many values.
 */
int tuned_find(const struct tuned_table *table, const struct tuned_query *query,
               struct tuned_match *match);

/* The parameter called `name`; NULL where there is none. */
const struct tuned_value *tuned_parameter(const struct tuned_match *match, const char *name);

/* Its value, or `fallback` where there is none of that kind (a whole number is a real one, too). */
int64_t tuned_integer_of(const struct tuned_match *match, const char *name, int64_t fallback);
double tuned_real_of(const struct tuned_match *match, const char *name, double fallback);
const char *tuned_word_of(const struct tuned_match *match, const char *name, const char *fallback);

/*
 * The definitions for a compiler, as autotune gave them: "-DBLOCK_SIZE=256", and for words
 * "-DFINISH=FINISH_TWO_PASS"; the parameters in order, then the problem's words. Launch parameters
 * are among them: the source does not look at them.
 */
struct tuned_definitions {
    size_t count;
    const char *items[TUNED_PARAMETERS + TUNED_PROBLEM_VALUES]; /* point into `text` */
    char text[16 * 1024];
};

/* Returns 0, or TUNED_INVALID where the query's words are none (lower-case names). `match` must be
 * tuned_find()'s answer to `query`. */
int tuned_define(const struct tuned_table *table, const struct tuned_query *query,
                 const struct tuned_match *match, struct tuned_definitions *definitions);

/*
 * One sentence on which configuration `query` got and why, or why it got none, as snprintf() would
 * write it: cut to `size`, ended by a zero, and the length of the whole returned.
 */
size_t tuned_explain(const struct tuned_query *query, const struct tuned_match *match, char *buffer,
                     size_t size);

/*
 * The file in the bundle that has the match compiled: a cubin, for cuModuleLoad(). Returns 0, or
 * TUNED_NOT_FOUND where the table is no bundle's or the match's cubin does not run on query->gpu
 * (binaries run on the same major and the same or a later minor compute capability);
 * TUNED_INVALID where `size` is too small.
 */
int tuned_cubin_path(const struct tuned_table *table, const struct tuned_query *query,
                     const struct tuned_match *match, char *path, size_t size);

#ifdef __cplusplus
}
#endif

#endif
