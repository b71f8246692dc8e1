/*
 * Entries of the cubin cache. The checksum of an input is put right first, so that what lies
 * behind them is met as well; then one bit is turned, and the entry must be refused.
 */
#include "compile/cubin_cache.h"
#include "compile/cubin_elf.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY "entry"
enum {
    HASH_AT = sizeof "autotune_cubin 6 " - 1,
    DIGITS = HASH_BYTES - 1,
    REST_AT = HASH_AT + DIGITS + 1
};

/* The hash in the first line. */
static void repair(char *bytes, size_t size)
{
    char digits[HASH_BYTES];
    if (size < REST_AT)
        return;
    struct hash *hash = hash_new();
    hash_add_text(hash, ENTRY);
    hash_add(hash, bytes + REST_AT, size - REST_AT);
    hash_finish(hash, digits);
    memcpy(bytes + HASH_AT, digits, DIGITS);
}

static bool is_accepted(const char *bytes, size_t size)
{
    struct compilation compilation;
    bool found = cubin_cache_read(fuzz_file(ENTRY, bytes, size), true, &compilation);
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
