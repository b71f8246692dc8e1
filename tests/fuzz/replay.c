/*
 * usage: replay_NAME FOLDER…: gives a fuzzer each file in them, then AUTOTUNE_MUTATIONS (150) changed
 * copies of it. Without libFuzzer, so that every compiler and every sanitizer's build can run it;
 * the changes are the same in every run.
 */
#include "base/alloc.h"
#include "base/statistics.h"
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BYTES_MAX = 16384, EDITS = 4 };

static size_t inputs;

static size_t below(uint64_t *random, size_t count)
{
    return (size_t)(statistics_random(random) >> 8) % count;
}

/* Cuts a part out, repeats one, or replaces a byte. Returns the new size, at most BYTES_MAX. */
static size_t edit(uint8_t *bytes, size_t size, uint64_t *random)
{
    if (size == 0)
        return 0;
    size_t begin = below(random, size);
    size_t length = 1 + below(random, size - begin < 16 ? size - begin : 16);
    switch (below(random, 4)) {
    case 0:
        memmove(bytes + begin, bytes + begin + length, size - begin - length);
        return size - length;
    case 1:
        if (size + length > BYTES_MAX)
            return size;
        memmove(bytes + begin + length, bytes + begin, size - begin);
        return size + length;
    case 2:
        bytes[begin] ^= (uint8_t)(1U << below(random, 8));
        return size;
    default:
        bytes[begin] = bytes[below(random, size)];
        return size;
    }
}

/* From a block of exactly `size` bytes, so that the address sanitizer sees a read behind its end. */
static void give(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = alloc_zeroed(size > 0 ? size : 1, 1);
    memcpy(copy, bytes, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

static void replay_file(const char *path)
{
    static uint8_t seed[BYTES_MAX];
    static uint8_t changed[BYTES_MAX];
    const char *text = getenv("AUTOTUNE_MUTATIONS");
    unsigned long mutations = text != NULL ? strtoul(text, NULL, 10) : 150;
    uint64_t random = 1;
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(seed, 1, sizeof seed, file) : 0;
    FUZZ_REQUIRE(file != NULL && fclose(file) == 0);
    give(seed, size);
    for (unsigned long i = 0; i < mutations; i++) {
        size_t changed_size = size;
        memcpy(changed, seed, size);
        for (size_t edits = 1 + below(&random, EDITS); edits > 0; edits--)
            changed_size = edit(changed, changed_size, &random);
        give(changed, changed_size);
    }
}

static void replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    FUZZ_REQUIRE(count >= 0);
    for (int i = 0; i < count; i++) {
        char name[4096];
        struct stat info;
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        FUZZ_REQUIRE(length > 0 && (size_t)length < sizeof name);
        if (stat(name, &info) == 0 && S_ISREG(info.st_mode))
            replay_file(name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay_folder(argv[i]);
    printf("%zu inputs\n", inputs);
    return inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
