/*
 * Evaluates a template's fill, the initial contents of a buffer: for the kernel that fills on the
 * GPU (device_kernels.cu), and for libtuned_kernel, which fills an application's scratch buffers on
 * the host.
 */
#ifndef AUTOTUNE_FILL_H
#define AUTOTUNE_FILL_H

#include "base/error.h"
#include "base/hash.h"
#include "template/element.h"
#include "template/template.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* To be raised whenever a fill gives other numbers: results on the old ones no longer count. */
enum { FILL_GENERATOR = 2 };

/* Variants are verified on the usual data, and finalists on further sets: each has random numbers of
 * its own. */
enum { FILL_USUAL_DATA };

/* The evaluated arguments of a fill; missing ones are 0. */
struct fill_numbers {
    double a, b;
    int64_t whole; /* added to every element of an integer type: a double cannot hold all of them */
    uint64_t key;  /* of the random numbers */
};

/* The evaluated border of a fill, and the shape whose edges it covers; unused extents are 1. */
struct fill_border {
    uint64_t width; /* 0: none */
    uint64_t extents[3];
    size_t dimensions;
};

/* Returns 0, or ERROR_CONFIG if an expression fails or the shape does not have `length` elements. */
int fill_read_border(const struct fill *fill, const struct scope *scope, uint64_t length,
                     struct fill_border *border, struct error *error);

/* Whether the fill computes each element from numbers. */
bool fill_has_numbers(const struct fill *fill);

/*
 * The numbers that fill elements of `type`. The key is a hash of the data set and of the stated seed,
 * or else the buffer's name: random numbers with different keys have nothing in common. Returns 0, or
 * the expression's error. fill_has_numbers() must be true.
 */
int fill_read_numbers(const struct fill *fill, enum element_type type, uint64_t data_set,
                      const struct scope *scope, struct fill_numbers *numbers, struct error *error);

/*
 * The contents of one of NumPy's .npy files, versions 1 to 3 (NEP 1): little-endian, C order, with an element
 * type that buffers can have (float16, float32, float64, int8 … uint64; bool as uint8).
 */
struct npy {
    enum element_type type;
    size_t count; /* elements, over all dimensions */
    void *data;   /* count * element_bytes(type), owned */
};

/* Returns 0, or ERROR_CONFIG with the file's name and what is wrong with it. Without the data, `data` is
 * NULL; that the file has it is checked all the same. */
int npy_read(struct npy *npy, const char *path, bool with_data, struct error *error);

void npy_release(struct npy *npy);

/* Writes such a file of one dimension; NumPy has no bfloat16, whose bits it writes as uint16. Returns 0, or
 * ERROR_CONFIG with the file's name. */
int npy_write(const struct npy *npy, const char *path, struct error *error);

/*
 * What the files of a template's fills contain decides which variants are right. fill_list_files() gives
 * their hashes, as a new object of path: hash, and in `digits` one hash of all, "" if the template names none.
 * One that cannot be read counts as empty; of one above 256 MiB, size and date are taken for its contents, and for
 * `digits` also when it was changed in any way (st_ctim). fill_expect_files() has the fills of another process's
 * template fail unless their files have these hashes; a file of the current folder that has its hash as its name is then a copy of it. Returns 0, or
 * ERROR_WORKER for a file that is not in `hashes`.
 */
json_t *fill_list_files(const struct template *template, char digits[HASH_BYTES]);
int fill_expect_files(struct template *template, const json_t *hashes, struct error *error);

/* Adds what the files of scratch buffers contain, which ship with the template, and has their fills fail once they
 * contain anything else. Reads them whole; one that cannot be read counts as empty. */
void fill_hash_scratch(struct template *template, struct hash *hash);

/* Reads the file of a FILL_FILE; release `npy`. Returns ERROR_CONFIG unless the file contains
 * exactly `length` elements of `type`. */
int fill_read_file(const struct fill *fill, enum element_type type, uint64_t length,
                   struct npy *npy, struct error *error);

/* The same errors, without reading the data. */
int fill_check_file(const struct fill *fill, enum element_type type, uint64_t length,
                    struct error *error);

/*
 * Fills `length` elements in host memory with the bits of the usual data on the GPU: integers wrap at
 * their type's width, numbers beyond 64 bits saturate, FILL_NONE poisons. The fill must not be
 * FILL_KERNEL. Returns 0 or ERROR_CONFIG.
 */
int fill_elements(const struct fill *fill, const struct scope *scope, enum element_type type,
                  uint64_t length, void *elements, struct error *error);

#endif
