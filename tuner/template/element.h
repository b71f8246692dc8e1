/*
 * Element types of buffers and scalars. The numbering must match gpu/device_kernels.cu.
 */
#ifndef AUTOTUNE_ELEMENT_H
#define AUTOTUNE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

/* X(NAME, name in files, in C++, in vector types such as uint4, bytes, floating point) */
#define ELEMENT_TYPES(X)                                                                           \
    X(INT8, "int8", "int8_t", "char", 1, false)                                                    \
    X(INT16, "int16", "int16_t", "short", 2, false)                                                \
    X(INT32, "int32", "int32_t", "int", 4, false)                                                  \
    X(INT64, "int64", "int64_t", "longlong", 8, false)                                             \
    X(UINT8, "uint8", "uint8_t", "uchar", 1, false)                                                \
    X(UINT16, "uint16", "uint16_t", "ushort", 2, false)                                            \
    X(UINT32, "uint32", "uint32_t", "uint", 4, false)                                              \
    X(UINT64, "uint64", "uint64_t", "ulonglong", 8, false)                                         \
    X(HALF, "half", "__half", "__half", 2, true)                                                   \
    X(BFLOAT16, "bfloat16", "__nv_bfloat16", "__nv_bfloat16", 2, true)                             \
    X(FLOAT, "float", "float", "float", 4, true)                                                   \
    X(DOUBLE, "double", "double", "double", 8, true)

enum element_type {
#define X(name, text, cpp, vector, bytes, floating) ELEMENT_##name,
    ELEMENT_TYPES(X)
#undef X
        ELEMENT_TYPE_COUNT
};

const char *element_name(enum element_type type);
size_t element_bytes(enum element_type type);
bool element_is_floating(enum element_type type);

/* The type called `name` (`length` bytes), or -1. */
int element_from_name(const char *name, size_t length);

/* The type of the components of one of CUDA's vector types, "float2" or "half2", and how many it has; or -1. */
int element_of_vector(const char *name, size_t *components);

/* What C++ calls the type, in no header or in <cuda_fp16.h>, <cuda_bf16.h> and <cstdint>. */
const char *element_cpp_name(enum element_type type);

/* All names, terminated by NULL. */
const char *const *element_names(void);

/* The byte that fills outputs of this type before a run: 0xFF for floating point, a NaN that no
 * comparison accepts, and 0xA5 for integers. */
unsigned char element_poison(enum element_type type);

/*
 * The byte that fills outputs before one run. A kernel that reads an output that it has not written takes a
 * small number for the start of a maximum, a large one for that of a minimum, NaN for either, and multiplies
 * any number but NaN by 0. So runs take turns. The small number is negative if the type has negative ones,
 * else zero. Elements of one byte always get element_poison(): a small or a large one would often be right.
 */
enum poison { POISON_USUAL, POISON_LARGE, POISON_SMALL };
unsigned char element_poison_of(enum element_type type, enum poison poison);

/* Smaller elements can equal the poison by chance. */
enum { ELEMENT_POISON_BYTES = 4 };

/*
 * Stores a number as one element at `slot`, which has element_bytes() bytes. Integer types store
 * `integer`; returns false if it does not fit. Floating-point types store `real`, rounded to
 * nearest even.
 */
bool element_store(enum element_type type, long long integer, double real, void *slot);

/* The floating-point element at `slot`. */
double element_real(enum element_type type, const void *slot);

/* Whether the floating-point element at `slot` is neither an infinity nor NaN. */
bool element_is_finite(enum element_type type, const void *slot);

/* The digits that tell a floating-point number of this type from its neighbours. */
int element_digits(enum element_type type);

/* The element at `slot` in decimal; a floating-point number with so many digits. Returns `text`. */
enum { ELEMENT_TEXT_BYTES = 32 };
char *element_text(enum element_type type, const void *slot, int digits,
                   char text[ELEMENT_TEXT_BYTES]);

#endif
