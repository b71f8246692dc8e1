/* A 128-bit hash (XXH3) of any number of pieces: hash_new, hash_add for each piece, hash_finish. */
#ifndef AUTOTUNE_HASH_H
#define AUTOTUNE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HASH_BYTES 33 /* 32 hexadecimal digits and the terminating null */

struct hash;

struct hash *hash_new(void);
void hash_add(struct hash *hash, const void *bytes, size_t count);

/* Adds a string and its length, so that "ab", "c" hashes differently from "a", "bc". */
void hash_add_text(struct hash *hash, const char *text);

/* Adds what is left of a file; false if it cannot be read. */
bool hash_add_file(struct hash *hash, FILE *file);

/* Writes the digits and frees the hash. */
void hash_finish(struct hash *hash, char digits[HASH_BYTES]);

/* The hash of a single piece; `bytes` may be NULL if `count` is 0. */
void hash_of(const void *bytes, size_t count, char digits[HASH_BYTES]);

/* 64 bits that look random, different for each x (splitmix64's finaliser: Steele, Lea and Flood, Fast splittable
 * pseudorandom number generators, 2014). device_kernels.cu has the same. */
static inline uint64_t hash_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
