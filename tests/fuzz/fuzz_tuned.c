/* Tuned INI files: one that is accepted is written again and reads back the same. */
#include "fuzz.h"
#include "record/tuned_file.h"

#include <stdlib.h>
#include <string.h>

static void require_equal(const struct tuned_file *a, const struct tuned_file *b)
{
    FUZZ_REQUIRE(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct tuned_entry *x = &a->entries[i];
        const struct tuned_entry *y = &b->entries[i];
        FUZZ_REQUIRE(strcmp(x->section, y->section) == 0);
        FUZZ_REQUIRE(strcmp(x->kernel, y->kernel) == 0);
        FUZZ_REQUIRE(bindings_equal(&x->problem, &y->problem));
        FUZZ_REQUIRE(bindings_equal(&x->parameters, &y->parameters));
        FUZZ_REQUIRE(x->median_ns == y->median_ns && x->samples == y->samples);
        FUZZ_REQUIRE(x->tie_count == y->tie_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuned_file tuned;
    struct tuned_file again;
    struct error error = {0};
    int status = tuned_file_read(fuzz_file("tuned.ini", data, size), &tuned, &error);
    if (status != 0) {
        FUZZ_REQUIRE(status == ERROR_CONFIG && error.message[0] != '\0' && tuned.count == 0);
        return 0;
    }
    if (tuned.count > 0 && tuned_file_write(fuzz_path("again.ini"), &tuned, &error) == 0) {
        FUZZ_REQUIRE(tuned_file_read(fuzz_path("again.ini"), &again, &error) == 0);
        require_equal(&tuned, &again);
        tuned_file_release(&again);
    }
    tuned_file_release(&tuned);
    return 0;
}
