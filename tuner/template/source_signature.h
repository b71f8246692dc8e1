/*
 * The parameters of a kernel as its source declares them: for messages, and for their types, which a
 * compiled kernel does not tell.
 */
#ifndef AUTOTUNE_SOURCE_SIGNATURE_H
#define AUTOTUNE_SOURCE_SIGNATURE_H

#include "template/element.h"

#include <stdbool.h>
#include <stddef.h>

struct source_parameter {
    char *text; /* "const float *in" */
    char *name; /* "in"; the last name of the text if it has none */
    bool pointer;
    bool constant; /* with `pointer`: what it points to is const */
    bool known;    /* its type is a basic one; with `pointer`, the type that it points to */
    enum element_type type; /* if `known` */
    int type_parameter; /* otherwise: it is the template's parameter of this number, from 0; -1: it is not */
};

struct source_signature {
    struct source_parameter *parameters;
    size_t count;
};

/*
 * Finds the declaration of the __global__ function `entry`, which may be a C++ name such as
 * ns::scale<float>; its namespace is ignored. Macros and conditions are not evaluated: returns
 * false if `text` declares it nowhere, in different ways, or with a directive among its parameters.
 * Types other than the basic ones and CUDA's 16-bit floats are not known.
 */
bool source_signature_read(const char *text, const char *entry, struct source_signature *signature);
void source_signature_release(struct source_signature *signature);

/* The parameter in the instance of the template that has this mangled name, which says what the type is; its
 * text and name are borrowed. */
struct source_parameter source_parameter_in(const struct source_parameter *parameter,
                                            const char *symbol);

/* Whether `text` declares the __global__ function `entry`. */
bool source_signature_declares(const char *text, const char *entry);

/* "const float *in, float *out, int n"; a new string. */
char *source_signature_text(const struct source_signature *signature);

/* A kernel as its source defines it. */
struct source_kernel {
    char *name;
    char *scope; /* "ns::inner::", or "" */
    bool is_c;   /* extern "C" */
    struct source_signature
        types;    /* the template's parameters: "typename T", "int BLOCK_SIZE = 256" */
    char *bounds; /* the first of __launch_bounds__(…); NULL: there is none */
    struct source_signature signature;
    bool flat; /* it asks for no index but those along x */
};

/* All kernels that `text` defines, a new array. Conditions are not evaluated. */
size_t source_kernels_read(const char *text, struct source_kernel **kernels);
void source_kernels_free(struct source_kernel *kernels, size_t count);

/* "#ifndef NAME" and then "#define NAME number": the compiler may be given another value. */
struct source_macro {
    char *name;
    long value;
};

/* All of them in `text`, a new array; the caller frees it and the names. */
size_t source_macros_read(const char *text, struct source_macro **macros);

#endif
