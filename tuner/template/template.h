/*
 * A kernel template, as NAME.ini describes it (kernel_templates/README.md documents the format), with
 * every expression compiled and every name checked, so that errors in a file are reported before
 * anything runs. template_load.h reads one. Does not depend on CUDA.
 */
#ifndef AUTOTUNE_TEMPLATE_H
#define AUTOTUNE_TEMPLATE_H

#include "base/error.h"
#include "template/element.h"
#include "template/ini_file.h"
#include "template/source.h"
#include "template/source_signature.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an expression, if there is one, names `name`. */
static inline bool expression_depends(const struct expression *expression, const char *name)
{
    return expression != NULL && expression_uses(expression, name);
}

/* Whether one of the expressions, each of which may be NULL, names `name`. */
static inline bool any_depends(struct expression *const *expressions, size_t count,
                               const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (expression_depends(expressions[i], name))
            return true;
    return false;
}

struct names;

/* A tunable parameter or a problem value. Strings are the template's. */
struct parameter {
    const char *name;
    struct value fallback; /* the default; for a word, the first of `words` */
    char **words;          /* the words it may have; NULL for a number */
    size_t word_count;
    bool compiled; /* handed to NVRTC as a definition */
    bool renamed;  /* … under the names of `definitions` alone */
    int line;
};

enum buffer_access { ACCESS_READ, ACCESS_WRITE, ACCESS_READ_WRITE, ACCESS_SCRATCH };

/* The first five are device_kernels.cu's. */
enum fill_kind {
    FILL_CONSTANT,
    FILL_UNIFORM,
    FILL_INTEGERS,
    FILL_COUNTING,
    FILL_NORMAL,
    FILL_KERNEL,
    FILL_FILE,
    FILL_NONE /* poisoned */
};

struct fill {
    enum fill_kind kind;
    const char *buffer; /* its name: the seed, if the arguments have none */
    struct expression *arguments[3];
    size_t argument_count;
    double special;   /* of constant(inf): an infinity or NaN, without arguments; otherwise 0 */
    const char *path; /* of FILL_FILE, absolute or relative to the current folder */
    char hash[HASH_BYTES];       /* of FILL_FILE: its file must have it (fill.h); "": any */
    struct launch *kernel;       /* of FILL_KERNEL */
    struct expression *border;   /* elements so near to an edge are 0; NULL: none are */
    struct expression *shape[3]; /* of the border; without any, one dimension */
    size_t shape_count;
    int line;
};

struct buffer {
    const char *name;
    const char *type;     /* an element type, or a parameter or problem word that names one */
    size_t components;    /* of that type in each element: a vector's, or a source's type's bytes */
    const char *own_type; /* the latter's name; NULL: none */
    struct expression *length;
    enum buffer_access access;
    struct fill fill;
    const char *symbol; /* the variable of the source that is this buffer; NULL: none */
    bool unchecked;     /* an output that no [expect] and no [verify] judges, on purpose */
    uint64_t depends;   /* its type, length and contents, on parameters (dependencies.h) */
    int line;
};

/* Whether a scratch buffer is work space, without contents that a run may rely on. With a fill it is
 * state, such as counters and flags, which one run leaves for the next. */
static inline bool buffer_is_work(const struct buffer *buffer)
{
    return buffer->access == ACCESS_SCRATCH && buffer->fill.kind == FILL_NONE &&
           buffer->fill.border == NULL;
}

/* As CUaddress_mode numbers them. */
enum texture_address { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER };

struct texture_options {
    bool linear; /* filtered; otherwise the nearest point */
    enum texture_address address;
    bool normalized; /* coordinates from 0 to 1 */
    bool as_float;   /* integers of 8 and 16 bits are read as numbers from 0 or -1 to 1 */
};

enum { TENSOR_RANK = 5 }; /* the most dimensions of a tensor map */

/* A tensor map (CUtensorMap) over a buffer; the innermost dimension first. */
struct tensor_map_options {
    size_t rank;
    struct expression *dimensions[TENSOR_RANK], *box[TENSOR_RANK]; /* elements */
    struct expression *strides[TENSOR_RANK]; /* elements, from dimension 1 on; [1] NULL: dense */
    struct expression *steps[TENSOR_RANK];   /* [0] NULL: 1 */
    struct expression *swizzle, *interleave; /* bytes; NULL: 0, none */
    struct expression *l2;                   /* bytes that L2 fetches at least; NULL: 128 */
    bool fill_nan;                           /* beyond the edges; otherwise 0 */
};

enum argument_kind {
    ARGUMENT_SCALAR,
    ARGUMENT_STRUCT,   /* of scalars, buffers, structs and arrays */
    ARGUMENT_BUFFER,   /* its address, or a null pointer */
    ARGUMENT_POINTERS, /* an array of buffers' addresses */
    ARGUMENT_TEXTURE,  /* over a buffer, as is a … */
    ARGUMENT_TENSOR_MAP,
    ARGUMENT_ARRAY /* in a struct: of members that are alike */
};

enum { ENTRY_BYTES = 256 }; /* the most that an entry's name has, with the null character */

struct argument {
    enum argument_kind kind;
    bool is_condition;      /* a bool; the expression yields true or false */
    enum element_type type; /* of a scalar */
    /* a scalar's value, or the buffer's name; NULL for structs and pointers */
    struct expression *expression;
    struct argument *fields; /* of a struct or array: its members; of pointers: buffers */
    size_t field_count;
    size_t bytes, alignment; /* as C has them */
    size_t offset;           /* of a member, from the beginning of its struct or array */
    size_t number;           /* from 1: of the element whose `index` is one less; 0: it has none */
    size_t repeats;          /* of the element: how many are said at once; otherwise 0 */
    const char *symbol; /* of [constants]: the variable of the source that it is; otherwise NULL */
    /* of pointers: the elements of each part of the buffer; NULL: one pointer to all of it */
    struct expression *part;
    struct expression *extents[2]; /* of a texture: width and height; NULL: linear memory */
    struct texture_options texture;
    struct tensor_map_options *tensor_map;
};

enum {
    PARAMETER_BYTES =
        32764, /* the most that a kernel takes, from CUDA 12.1 and compute capability 7.0 on */
    TENSOR_MAP_BYTES = 128
};

/* Whether the argument is a buffer, or something over one: `expression` yields its name. */
bool argument_has_buffer(const struct argument *argument);

/* Whether the argument, or a field of it, may be the buffer called `name`; whether one of a launch's may. */
bool argument_uses_buffer(const struct argument *argument, const char *name);

/* Repeats launches, as in: for (name = from; condition; name = next). */
struct loop {
    const char *name; /* of its variable; NULL: no loop */
    struct expression *from, *condition, *next;
    /* of a [loop.NAME] section: the launches that it repeats, which follow each other, and the loop that
     * repeats it (NULL: none) */
    const struct launch *first;
    size_t count;
    const struct loop *outer;
    int line;
};

/* The lines of a launch's keys; the section's for a key that is left out. */
struct launch_lines {
    int entry, grid, block, shared_bytes, arguments;
};

struct launch {
    const char *name;
    const char *entry;
    struct source_signature signature; /* of the entry; empty if the source does not tell */
    struct expression *when;           /* NULL: always */
    struct expression *grid[3];
    size_t grid_count;
    struct expression *block[3];
    size_t block_count;
    struct expression *shared_bytes; /* NULL: 0 */
    struct argument *arguments;
    size_t argument_count;
    struct expression *cooperative; /* NULL: no */
    struct expression *co_resident; /* NULL: no */
    struct expression *cluster[3];
    size_t cluster_count;                  /* 0: no cluster */
    struct expression *programmatic;       /* NULL: no */
    struct expression *cluster_scheduling; /* NULL: default */
    struct expression *shared_carveout;    /* NULL: the driver's choice */
    bool main;
    bool counts;              /* a verifier, which has the argument `wrong` */
    size_t reference;         /* index of the expectation that the argument `reference` is */
    struct loop loop;         /* its own, of this launch alone */
    const struct loop *outer; /* the innermost section's that repeats it; NULL: none */
    int line;
    struct launch_lines lines;
};

bool launch_uses_buffer(const struct launch *launch, const char *name);

/* COMPARE_NONE: a verifier of the same buffer compares. */
enum compare_kind { COMPARE_EXACT, COMPARE_CLOSE, COMPARE_UNORDERED, COMPARE_NONE };

enum expected_kind {
    EXPECT_REFERENCE, /* a launch of its own */
    EXPECT_LAUNCHES,  /* the template's references, which fill all such expectations in one run */
    EXPECT_CONSTANT,
    EXPECT_FILE
};

/* Together with a buffer's name, the name in expressions of expected(NAME); too long for a template's own names. */
#define EXPECTED_PREFIX "expected_result_of_this_buffer_"

struct expectation {
    size_t buffer; /* index */
    enum expected_kind kind;
    struct launch reference;    /* EXPECT_REFERENCE: grid, block, arguments */
    struct fill fill;           /* EXPECT_CONSTANT, EXPECT_FILE */
    const char *reference_type; /* as buffer.type; NULL: the default */
    enum compare_kind compare;
    struct expression *when;                /* whether it counts for a variant; NULL: yes */
    struct expression *absolute, *relative; /* tolerances of COMPARE_CLOSE; NULL: 0 */
    struct expression *mismatches;          /* the share of elements that may differ; NULL: 0 */
    bool nan_equal;                         /* NaN is equal to NaN */
    /* on parameters (dependencies.h); the tolerance with `when` and the mismatches */
    uint64_t depends, tolerance_depends;
    int line;
};

/* A kernel of the source that counts wrong elements. */
struct verifier {
    struct launch launch; /* its name is the buffer's */
    size_t buffer;        /* index */
    uint64_t depends;     /* on parameters (dependencies.h) */
    int line;
};

/* A macro with the value of a parameter or problem value. */
struct definition {
    const char *macro;
    const char *name; /* of the value */
    int line;
};

/* An option for NVRTC, whose value may depend on the variant. */
struct template_option {
    const char *text;         /* all of it, or up to the "=" in front of `value` */
    struct expression *value; /* NULL: none */
};

/*
 * A name for an expression that others share, such as the number of tiles. An expression that names one
 * means what the figure's means there, so a figure may name whatever the expressions that use it may.
 */
struct template_figure {
    const char *name;
    struct expression *expression;
};

/* A header of the toolkit that is precompiled for the variants for which `when` holds. */
struct precompiled_header {
    const char *name;
    struct expression *when;
};

struct template
{
    char *name;
    char *path; /* of the .ini */
    struct ini_file ini;
    struct error gap; /* why it cannot be used yet; code 0: it can */
    struct source source;
    char hash[HASH_BYTES]; /* of what is compiled and run: see template_load.c */
    const char *description;
    struct template_option *options;
    size_t option_count;
    struct definition *definitions;
    size_t definition_count;
    struct expression *max_registers; /* NULL: no limit */
    struct expression *features;      /* NULL: portable */
    struct precompiled_header *precompiled;
    size_t precompiled_count;
    const char **name_expressions; /* the entries that are C++ names: "ns::scale<float, TILE>" */
    size_t name_expression_count;
    bool cold;

    struct parameter
        *parameters; /* tunables, compiled and launch parameters, in the file's order */
    size_t parameter_count;
    struct parameter *problem;
    size_t problem_count;
    struct template_figure *figures; /* in the file's order: each may name those before it */
    size_t figure_count;
    struct buffer *buffers;
    size_t buffer_count;
    struct launch *launches;
    size_t launch_count;
    struct launch constants;   /* [constants], as arguments of one that is not launched */
    struct launch *references; /* of [reference.NAME] sections */
    size_t reference_count;
    struct loop *loops; /* of [loop.NAME] sections: over launches or over references */
    size_t loop_count;
    struct expectation *expectations;
    size_t expectation_count;
    struct verifier *verifiers;
    size_t verifier_count;
    struct expression **constraints;
    size_t constraint_count;
    struct expression *bytes, *operations; /* NULL if not stated */
    struct expression
        *estimate; /* about how long a variant takes, in any unit; NULL if not stated */

    const char **constraint_names; /* what a constraint may name; ended by NULL */

    /* What all of these point to. */
    struct expression **expressions;
    size_t expression_count;
    void **kept;
    size_t kept_count;
};

/* Takes over allocated memory, which lasts as long as the template; returns it. */
void *template_keep(struct template *template, void *memory);

/* Frees all members and leaves the template empty. */
void template_release(struct template *template);

/* The parameter or problem value called `name`; NULL if there is none. */
const struct parameter *template_parameter(const struct template *template, const char *name);
const struct parameter *template_problem_value(const struct template *template, const char *name);
const struct parameter *template_value(const struct template *template,
                                       const char *name); /* either */

/* The index of the buffer called `name`; buffer_count if there is none. */
size_t template_buffer(const struct template *template, const char *name);

/* The index of the expectation that `name` is among the arguments of a launch: `reference`, or that of
 * expected(NAME). expectation_count if it is none. */
size_t template_result(const struct template *template, const struct launch *launch,
                       const char *name);

/* Whether the value of `name` reaches the compiler: by `define`, options, max_registers or features. */
bool template_compiles_in(const struct template *template, const char *name);

/* Adds the names of both (value_list.h). */
void template_add_names(const struct template *template, struct names *names);

/* ERROR_CONFIG, with the place, if `parameter` may not have `value`: a word if it takes numbers, or a
 * word that it does not list. */
int parameter_check(const struct parameter *parameter, struct value value, const char *file,
                    int line, struct error *error);

/* The names of kernel statistics that constraints may use; ended by NULL. */
const char *const *template_stat_names(void);

/* Those of the launch's own kernel that its expressions may use. */
const char *const *launch_stat_names(void);

/* Whether a name means something in expressions or sweeps: a function, a statistic, a device attribute
 * or a key. */
bool template_name_is_reserved(const char *name);

/* Adds all such names (value_list.h). */
void template_names_reserved(struct names *names);

/* Whether a name or number of an expression may have the character. */
bool template_is_word(char character);

/* `text` with the figures' expressions in place of their names; a new string, or NULL if it names
 * none. If it becomes longer than an expression may be, the rest is left out. */
char *template_figures_expand(const struct template *template, const char *text);

/* Whether the constraint needs kernel statistics and so waits for the compiler. */
bool constraint_needs_stats(const struct expression *constraint);

/* The text of the first of the template's constraints that does not hold, of those that need no statistics; it is the
 * template's. NULL: all hold. Returns 0 or ERROR_CONFIG. */
int template_violated_constraint(const struct template *template, const struct scope *scope,
                                 const char **violated, struct error *error);

/* "in", "uint64 n", "struct(x, int32 n)", as in the file; a new string. */
char *argument_text(const struct argument *argument);

/* Sets its bytes and alignment, and the offsets of its fields, whose own are set. */
void argument_lay_out(struct argument *argument);

/* Names buffer `index` in a message that has no place yet. Returns `status`, or 0 where that is 0. */
int template_in_buffer(const struct template *template, size_t index, int status,
                       struct error *error);

/* The element type that `type` (a type's name, or a word's) stands for in `scope`. */
int template_element_type(const char *type, const struct scope *scope, enum element_type *element,
                          struct error *error);

/* The element type of a buffer in `scope`, and how many of these it has, which of a vector type or a type of the source's
 * are the components of its elements. Returns 0, or ERROR_CONFIG: a type that is not one, a length that fails,
 * is negative or is too large. */
int buffer_describe(const struct buffer *buffer, const struct scope *scope, enum element_type *type,
                    uint64_t *length, struct error *error);

/*
 * The element type of an expectation's reference: the one that it states; otherwise double for a
 * floating-point buffer, so that the reference is more accurate than the results that it judges. A
 * file has the buffer's own type, and so has an unordered comparison, because it compares bits.
 */
int template_expected_type(const struct template *template, const struct expectation *expectation,
                           const struct scope *scope, enum element_type *element,
                           struct error *error);

/*
 * Whether the template's random numbers can be drawn anew, for verifying on other data: buffers have
 * some, and no expected result is a file, which may hold the results of just these numbers.
 */
bool template_draws_data(const struct template *template);

/*
 * Helpers: the kernels of a source that the tuner launches for its own purposes, which are references,
 * kernel(...) fills and verifiers. They are compiled once, with the parameters' defaults. All launches of a
 * helper are run one after the other: it has one, but for the template's [reference.NAME] sections.
 */
struct helper {
    const struct launch *launches;
    size_t count;
};

/* The template's helper number `index`, from 0 on; false if there are no more. */
bool template_helper(const struct template *template, size_t index, struct helper *helper);

/* The template's launch number `index`, from 0 on, and behind those the helpers'; NULL if there are no more. */
const struct launch *template_any_launch(const struct template *template, size_t index);

/* The helper that fills an expectation of kind EXPECT_REFERENCE or EXPECT_LAUNCHES. */
struct helper expectation_helper(const struct template *template,
                                 const struct expectation *expectation);

/* Whether the buffer is scratch that the template's references use, and neither a launch nor [constants]. */
bool buffer_is_for_references(const struct template *template, const struct buffer *buffer);

/* Whether one of the helper's launches has the buffer, or other name, among its arguments. */
bool helper_uses_buffer(const struct helper *helper, const char *name);

/* Whether there is any, so that the source has to be compiled with its defaults. */
bool template_has_helpers(const struct template *template);

/* Whether a run may leave something for the next: a scratch buffer that is not work space (buffer_is_work()). */
bool template_has_state(const struct template *template);

#endif
