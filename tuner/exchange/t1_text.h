/*
 * What an imported T1 file is written as: t1_write.c puts these texts into files.
 */
#ifndef AUTOTUNE_T1_TEXT_H
#define AUTOTUNE_T1_TEXT_H

#include "exchange/t1.h"

#include <stdio.h>

/* The T1 file's kernel: its text, and whether it can be used as it is. */
struct t1_source {
    char *text;      /* with the entry made extern "C"; NULL if there is none that can be used */
    char *gap;       /* why not, or what is wrong with it; NULL: nothing */
    bool has_quotes; /* it has an #include "…" */
};

void t1_source_read(const struct t1 *t1, struct t1_source *source);
void t1_source_release(struct t1_source *source);

/* NAME.cu: a default for every parameter, then the kernel. */
void t1_source_print(FILE *stream, const struct t1 *t1, const struct t1_source *source);

/* NAME.ini; adds to t1->gaps. `file` is the name of the source, `include` the folder of its
 * headers, or NULL. */
void t1_template_print(FILE *stream, struct t1 *t1, const struct t1_source *source,
                       const char *file, const char *include);

/* [launch.NAME], [buffer.NAME] and [expect.NAME] of it. */
void t1_launch_print(FILE *stream, struct t1 *t1, const struct t1_source *source);
void t1_buffers_print(FILE *stream, struct t1 *t1);

/* NAME_sweep.ini */
void t1_sweep_print(FILE *stream, const struct t1 *t1);

/* "key = value", continued on further lines where it is long. */
void t1_print_entry(FILE *stream, const char *key, const char *value);

/* "; TODO: …" in `section`, and among the gaps. */
void t1_print_gap(FILE *stream, struct t1 *t1, const char *section, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A value of a parameter as templates and sweeps write it; a new string. */
char *t1_value_text(const struct t1 *t1, const struct python_value *value);

/* The names that sizes may use: the problem's, and parameters. With `fixed`, a parameter's name is
 * its only value, or nothing. Free the items' `ours` and the items with t1_names_release(). */
void t1_names_init(struct python_names *names, struct t1 *t1, bool fixed);
void t1_names_release(struct python_names *names);

/* The arguments of the kernel, "in, out, int32 4"; adds what cannot be said to the gaps. A new
 * string. */
char *t1_arguments_text(FILE *stream, struct t1 *t1, const char *section);

/* A member that is a string, or NULL. */
const char *t1_text_of(const json_t *json, const char *member);

/* The part behind the last slash. */
const char *t1_file_name(const char *path);

#endif
