/*
 * T1, the input format of the auto-tuning community: a space, its constraints, a kernel and its
 * arguments, in JSON. Kernel Tuner (kernel_tuner/schema/T1/1.0.0/input-schema.json), KTT and BAT
 * read it, each with members of its own, of which those of Kernel Tuner are read here as well:
 * Default, ProblemSize, GridDivX to GridDivZ, Output, MemType.
 *
 *     t1_read(&t1, "gemm.json", NULL, &error);
 *     t1_write(&t1, ".", &error);          (gemm.ini, gemm.cu, gemm_sweep.ini)
 *     t1_release(&t1);
 *
 * What the file does not say is not guessed: the template gets a line "; TODO: …" in its place,
 * which template_gap.h finds, and t1.gaps has its text.
 */
#ifndef AUTOTUNE_T1_H
#define AUTOTUNE_T1_H

#include "base/error.h"
#include "exchange/python_translate.h"
#include "exchange/python_value.h"
#include "exchange/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct t1_parameter {
    const char *theirs; /* "BLOCK_SIZE_X"; the JSON's */
    char *ours;         /* "block_size_x" */
    bool is_word;
    struct python_value values; /* a list without repetitions */
    size_t fallback;            /* index of the default */
};

/* A buffer or scalar of the kernel; its name, and the JSON of the rest. */
struct t1_argument {
    char *ours;
    const json_t *json;
};

struct t1 {
    char *path;
    json_t *json;
    const json_t *kernel; /* KernelSpecification */
    char *name;           /* of the template */
    struct t1_parameter *parameters;
    size_t parameter_count;
    struct words words; /* of the parameters' strings */
    char **constraints; /* ours */
    size_t constraint_count;
    int64_t problem[3]; /* ProblemSize */
    size_t problem_count;
    struct t1_argument *arguments;
    size_t argument_count;
    char **gaps; /* what is missing, once it has been written */
    size_t gap_count;
    char *files[3]; /* that were written: template, source, sweep */
};

/* The names of the problem's values in templates. */
extern const char *const t1_extents[3];

/*
 * Reads the file at `path` and translates its constraints. `name` is the template's, or NULL for
 * the file's. Returns 0, or ERROR_CONFIG with the file and the text that cannot be used. Release
 * `t1` in any case.
 */
int t1_read(struct t1 *t1, const char *path, const char *name, struct error *error);

/* Writes the template's two files and a sweep into `folder`. Returns 0, or an error if one of them
 * exists or cannot be written: then none is. */
int t1_write(struct t1 *t1, const char *folder, struct error *error);

/* Removes what t1_write() wrote. */
void t1_remove(const struct t1 *t1);

void t1_release(struct t1 *t1);

#endif
