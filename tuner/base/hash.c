#include "base/hash.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct hash {
    XXH3_state_t *state;
};

struct hash *hash_new(void)
{
    struct hash *hash = alloc_zeroed(1, sizeof *hash);
    hash->state = XXH3_createState();
    if (hash->state == NULL || XXH3_128bits_reset(hash->state) != XXH_OK) {
        fputs("autotune: out of memory\n", stderr);
        abort();
    }
    return hash;
}

void hash_add(struct hash *hash, const void *bytes, size_t count)
{
    if (count > 0)
        (void)XXH3_128bits_update(hash->state, bytes, count); /* fails only for NULL */
}

void hash_add_text(struct hash *hash, const char *text)
{
    size_t length = strlen(text);
    unsigned char bytes[8]; /* little-endian on every machine */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((unsigned long long)length >> (8 * i));
    hash_add(hash, bytes, sizeof bytes);
    hash_add(hash, text, length);
}

bool hash_add_file(struct hash *hash, FILE *file)
{
    char bytes[65536];
    size_t count;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0)
        hash_add(hash, bytes, count);
    return ferror(file) == 0;
}

static void write_digits(XXH128_hash_t value, char digits[HASH_BYTES])
{
    static const char hexadecimal[] = "0123456789abcdef";
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, value);
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        digits[2 * i] = hexadecimal[canonical.digest[i] >> 4];
        digits[2 * i + 1] = hexadecimal[canonical.digest[i] & 15];
    }
    digits[2 * sizeof canonical.digest] = '\0';
}

void hash_of(const void *bytes, size_t count, char digits[HASH_BYTES])
{
    write_digits(XXH3_128bits(bytes, count), digits);
}

void hash_finish(struct hash *hash, char digits[HASH_BYTES])
{
    write_digits(XXH3_128bits_digest(hash->state), digits);
    (void)XXH3_freeState(hash->state);
    free(hash);
}
