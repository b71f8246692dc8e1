/*
 * Reads NumPy's .npy files, versions 1 to 3 (NEP 1): little-endian, C order, with an element type
 * that buffers can have (float16, float32, float64, int8 … uint64; bool as uint8).
 */
#ifndef AUTOTUNE_NPY_H
#define AUTOTUNE_NPY_H

#include "base/error.h"
#include "template/element.h"

#include <stddef.h>

struct npy {
    enum element_type type;
    size_t count; /* elements, over all dimensions */
    void *data;   /* count * element_bytes(type), owned */
};

/* Returns 0, or ERROR_CONFIG with the file's name and what is wrong with it. */
int npy_read(struct npy *npy, const char *path, struct error *error);

/* The same without the data, which is NULL: checks that the file has it. */
int npy_describe(struct npy *npy, const char *path, struct error *error);

void npy_release(struct npy *npy);

#endif
