/*
 * What the fuzzers share. Each is one file with LLVMFuzzerTestOneInput(), which must take any bytes
 * without a crash, a leak or an endless loop; where a parser accepts them, the fuzzer also checks
 * what the parser promises about what it accepted.
 */
#ifndef AUTOTUNE_FUZZ_H
#define AUTOTUNE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file in a scratch folder of this process, for parsers that take one. Good until the
 * next call with another name. */
const char *fuzz_path(const char *name);

/* The same, with these contents. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* A zero-terminated copy, to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Ends the process with a message, which libFuzzer reports as a crash. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(#condition, __FILE__, __LINE__);                                             \
    } while (0)
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

#endif
