/*
 * Entries of the cubin cache. The checksums of an input are put right first, so that what lies
 * behind them is met as well; then one bit is turned, and the entry must be refused.
 */
#include "compile/cubin_cache.h"
#include "compile/cubin_elf.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* "autotune_cubin 4 ", the digits of the header's hash, " BYTES\n", and the header, which begins with those of the
 * cubin's hash. */
#define ENTRY "entry"
enum { HASH_AT = 17, DIGITS = HASH_BYTES - 1, REST_AT = HASH_AT + DIGITS };

static void put_hash(char *at, const char *name, const void *bytes, size_t size)
{
    struct hash *hash = hash_new();
    char digits[HASH_BYTES];
    if (name != NULL)
        hash_add_text(hash, name);
    hash_add(hash, bytes, size);
    hash_finish(hash, digits);
    memcpy(at, digits, DIGITS);
}

static void repair(char *bytes, size_t size)
{
    const char *newline = size > REST_AT ? memchr(bytes + REST_AT, '\n', size - REST_AT) : NULL;
    if (newline == NULL)
        return;
    size_t header_at = (size_t)(newline + 1 - bytes);
    unsigned long long count = strtoull(bytes + REST_AT, NULL, 10); /* ends at the newline */
    if (count < DIGITS || count > size - header_at)
        return;
    put_hash(bytes + header_at, NULL, bytes + header_at + count, size - header_at - count);
    put_hash(bytes + HASH_AT, ENTRY, bytes + REST_AT, header_at + count - REST_AT);
}

static bool is_accepted(const char *bytes, size_t size)
{
    struct compilation compilation;
    struct error error = {0};
    bool found = false;
    int status = cubin_cache_read(fuzz_file(ENTRY, bytes, size), &compilation, &found, &error);
    FUZZ_REQUIRE(status == 0);
    if (found && compilation.cubin != NULL)
        for (size_t i = 0; i < compilation.kernel_count; i++)
            (void)cubin_elf_max_threads(compilation.cubin, compilation.cubin_bytes,
                                        compilation.kernels[i].entry);
    compilation_release(&compilation);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    struct cubin_parameters parameters;
    (void)cubin_elf_max_threads(data, size, "all");
    (void)cubin_elf_parameters(data, size, "all", &parameters);
    char *bytes = fuzz_text(data + 4, size - 4);
    size_t count = size - 4;
    repair(bytes, count);
    bool accepted = is_accepted(bytes, count);
    if (accepted) {
        size_t bit = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % (8 * count);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        FUZZ_REQUIRE(!is_accepted(bytes, count));
    }
    free(bytes);
    return 0;
}
