/* Tuned INI files: one that is accepted is the same to libtuned, and when written and read again. */
#include "fuzz.h"
#include "record/tuned_file.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void require_equal_covers(const struct cover *a, const struct cover *b)
{
    FUZZ_REQUIRE(a->public.count == b->public.count && a->line_count == b->line_count);
    FUZZ_REQUIRE(a->public.size_count == b->public.size_count);
    for (size_t i = 0; i < a->line_count; i++)
        FUZZ_REQUIRE(strcmp(a->lines[i].key, b->lines[i].key) == 0 &&
                     strcmp(a->lines[i].text, b->lines[i].text) == 0);
}

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
        FUZZ_REQUIRE((x->cover == NULL) == (y->cover == NULL));
        if (x->cover != NULL)
            require_equal_covers(x->cover, y->cover);
    }
}

static void require_values(const struct tuned_value *values, size_t count,
                           const struct bindings *bindings)
{
    FUZZ_REQUIRE(count == bindings->count);
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &bindings->items[i].value;
        FUZZ_REQUIRE(strcmp(values[i].name, bindings->items[i].name) == 0);
        if (values[i].kind == TUNED_WORD)
            FUZZ_REQUIRE(value_equal(*value, value_word(values[i].text)));
        else if (values[i].kind == TUNED_INTEGER)
            FUZZ_REQUIRE(value_equal(*value, value_integer(values[i].integer)));
        else
            FUZZ_REQUIRE(value_equal(*value, value_real(values[i].real)));
    }
}

/* The configuration of a section, the first of its name that has the same problem. */
static const struct tuned_configuration *find(const struct tuned_table *table,
                                              const struct tuned_entry *entry)
{
    const struct tuned_configuration *from;
    for (size_t i = 0; (from = tuned_at(table, i)) != NULL; i++)
        if (strcmp(from->section, entry->section) == 0 &&
            strcmp(from->kernel, entry->kernel) == 0 && strcmp(from->gpu->name, entry->gpu) == 0 &&
            from->gpu->l2_bytes == entry->l2_bytes && from->median_ns == entry->median_ns &&
            from->problem_count == entry->problem.count && from->number == (entry->cover != NULL))
            return from;
    return NULL;
}

/* libtuned skips fewer sections, because it needs fewer keys. */
static void require_library_agrees(const char *path, const struct tuned_file *tuned)
{
    struct tuned_table *table;
    FUZZ_REQUIRE(tuned_load(&table, path, NULL) == 0);
    FUZZ_REQUIRE(tuned_count(table) >= tuned->count);
    for (size_t i = 0; i < tuned->count; i++) {
        const struct tuned_entry *entry = &tuned->entries[i];
        const struct tuned_configuration *from = find(table, entry);
        FUZZ_REQUIRE(from != NULL);
        if (tuned->skipped_count > 0)
            continue; /* there may be another section of this name */
        require_values(from->problem, from->problem_count, &entry->problem);
        struct bindings parameters = tuned_entry_parameters(entry, 0);
        require_values(from->parameters, from->parameter_count, &parameters);
        bindings_release(&parameters);
    }
    tuned_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuned_file tuned;
    struct tuned_file again;
    struct error error = {0};
    const char *path = fuzz_file("tuned.ini", data, size);
    int status = tuned_file_read(path, &tuned, &error);
    if (status != 0) {
        FUZZ_REQUIRE(status == ERROR_CONFIG && error.message[0] != '\0' && tuned.count == 0);
        return 0;
    }
    require_library_agrees(path, &tuned);
    if (tuned.count > 0 && tuned_file_write(fuzz_path("again.ini"), &tuned, &error) == 0) {
        FUZZ_REQUIRE(tuned_file_read(fuzz_path("again.ini"), &again, &error) == 0);
        require_equal(&tuned, &again);
        tuned_file_release(&again);
    }
    tuned_file_release(&tuned);
    return 0;
}
