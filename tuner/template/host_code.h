/*
 * Takes the code of the host out of a source ([kernel] host_code = ignore), so that a compiler of device code alone
 * accepts it. In its place are line feeds and one blank: lines keep their numbers, and an edit that leaves them
 * changes nothing. Macros are looked up, not expanded; directives stay, so every branch of an #if is treated alike.
 *
 * What the compiler refuses unless it is annotated goes: functions and variables without an execution or memory space,
 * or with __host__ alone, macros that make them, and explicit instantiations of them. Annotated code and enumerations
 * stay. Other declarations (types, aliases, constants) stay if what stays names them, and so do constexpr functions,
 * which get `__host__ __device__`. So do functions that what stays names within decltype, sizeof or noexcept, where
 * their absence might choose another overload. In a class that stays, member functions without an annotation go; a
 * constructor, a destructor, an assignment and what is virtual stay as declarations, as they decide what the class is.
 *
 * In doubt, text stays: a type or constant whose name is not found, a macro that may be a data member, and a file in
 * which brackets do not match.
 */
#ifndef AUTOTUNE_HOST_CODE_H
#define AUTOTUNE_HOST_CODE_H

#include <stddef.h>

/* A declaration's name, or a header as it was written. */
struct host_code_left_out {
    char *name;
    size_t file; /* where it was */
    int line;
};

struct host_code {
    char **texts; /* allocated; replaced by what stays */
    size_t text_count;
    size_t unit_count;        /* of the texts: those in front are translation units */
    const char *const *roots; /* texts in which every name counts as used, such as the template's */
    size_t root_count;
    char *const *headers; /* names that were not found in the user's folders */
    size_t header_count;
    struct host_code_left_out *left_out; /* the result, with what was there before */
    size_t left_out_count;
};

void host_code_remove(struct host_code *code);

#endif
