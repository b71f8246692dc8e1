/*
 * Records that were cut between two pages: what is read back is what was written, or the file is set aside.
 * Records that were cut inside a page, or have any bit turned, are used, set aside or refused with a message,
 * and never crash the program. Cache
 * entries that were cut or had any bit turned are not used. AUTOTUNE_DAMAGES (400) says how many cuts and how
 * many turned bits; 0: every cut, and 10,000 bits.
 */
#include "../unit/study_fixture.h"
#include "compile/cubin_cache.h"
#include "record/record.h"
#include "record/tuned_file.h"

#include "../unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ALL_BITS = 10000, VARIANTS = 40, SAMPLES = 20, PAGE_BYTES = 4096 };

struct bytes {
    char *data;
    size_t size;
};

static size_t wanted(void)
{
    const char *text = getenv("AUTOTUNE_DAMAGES");
    return text != NULL ? strtoul(text, NULL, 10) : 400;
}

static struct bytes read_bytes(const char *path)
{
    struct bytes bytes = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    bytes.size = (size_t)ftell(file);
    bytes.data = alloc_zeroed(bytes.size, 1);
    rewind(file);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void write_bytes(const char *path, const struct bytes *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A sequence that is the same everywhere. */
static size_t draw_below(uint64_t *state, size_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): no file here is empty */
    return (size_t)(*state >> 33) % limit;
}

/* --- the record --- */

static void make_study(struct study *study)
{
    fixture_study(study);
    for (int i = 0; i < VARIANTS; i++) {
        struct result *result = fixture_add(study, 2048 + i, "two_pass", OUTCOME_MEASURED);
        fixture_figures(result, 32, 0);
        for (int j = 0; j < SAMPLES; j++)
            *ARRAY_APPEND(result->samples_ns, result->sample_count) = 40000.0 + i * 10 + j * 0.25;
        result->time = statistics_summarise(result->samples_ns, result->sample_count);
    }
}

static void store(struct study *study)
{
    struct record *record;
    struct record_repair repair;
    struct study head;
    struct error error;
    int64_t id;
    assert_int_equal(record_open(&record, "record.sqlite", &repair, &error), 0);
    fixture_subject(&head);
    assert_int_equal(record_begin(record, &head, false, &id, &error), 0);
    for (size_t i = 0; i < study->result_count; i++)
        assert_int_equal(record_result(record, id, &study->results[i], "finals", &error), 0);
    assert_int_equal(record_finish(record, id, study, &error), 0);
    study_release(&head);
    record_close(record);
}

static const struct result *find(const struct study *study, const struct bindings *parameters)
{
    for (size_t i = 0; i < study->result_count; i++)
        if (bindings_equal(&study->results[i].parameters, parameters))
            return &study->results[i];
    return NULL;
}

/* What was read is a part of what was written, to the bit. */
static void assert_part_of(const struct study *read, const struct study *written)
{
    for (size_t i = 0; i < read->result_count; i++) {
        const struct result *a = &read->results[i];
        const struct result *b = find(written, &a->parameters);
        assert_non_null(b);
        assert_int_equal(a->outcome, b->outcome);
        assert_int_equal(a->sample_count, b->sample_count);
        assert_memory_equal(&a->time.median_ns, &b->time.median_ns, sizeof a->time.median_ns);
        assert_int_equal(a->stats.registers, b->stats.registers);
        assert_int_equal(a->tied, b->tied);
        if (a->sample_count > 0)
            assert_memory_equal(a->samples_ns, b->samples_ns,
                                a->sample_count * sizeof *a->samples_ns);
    }
    if (!read->has_winner)
        return;
    assert_true(bindings_equal(&read->results[read->winner].parameters,
                               &written->results[written->winner].parameters));
}

struct tally {
    size_t used, set_aside, refused;
};

/* Opens the damaged file as a run does and goes on with it. `written` is what it can have, NULL if a value
 * may have changed. */
static void use_damaged(const struct study *whole, const struct study *written, struct tally *tally)
{
    struct record *record = NULL;
    struct record_repair repair;
    struct error error = {0};
    struct study study;
    int64_t id;
    fixture_subject(&study);
    int status = record_open(&record, "record.sqlite", &repair, &error);
    if (status == 0)
        status = record_begin(record, &study, false, &id, &error);
    if (status == 0 && written != NULL)
        assert_part_of(&study, written);
    for (size_t i = 0; i < 2 && status == 0; i++)
        status = record_result(record, id, &whole->results[i], "finals", &error);
    if (status != 0) { /* it says what to do */
        assert_int_equal(status, ERROR_RECORD);
        if (strstr(error.message, "version") == NULL && strstr(error.message, "move") == NULL)
            fail_msg("%s", error.message);
        if (written != NULL && strstr(error.message, "version") == NULL)
            fail_msg("%s", error.message);
        assert_null(repair.set_aside);
    }
    tally->used += status == 0 && repair.set_aside == NULL;
    tally->set_aside += repair.set_aside != NULL;
    tally->refused += status != 0;
    study_release(&study);
    record_close(record);
    free(repair.set_aside);
    assert_int_equal(system("rm -f record.sqlite*"), 0);
}

static void test_record(void **state)
{
    (void)state;
    struct study written;
    struct tally cuts = {0};
    struct tally bits = {0};
    uint64_t random = 1;
    make_study(&written);
    store(&written);
    struct bytes bytes = read_bytes("record.sqlite");
    size_t count = wanted() > 0 ? wanted() : bytes.size;
    for (size_t i = 0; i < count; i++) {
        write_bytes("record.sqlite", &bytes, wanted() > 0 ? i * bytes.size / count : i);
        use_damaged(&written, NULL, &cuts);
    }
    for (size_t size = 0; size < bytes.size; size += PAGE_BYTES) {
        write_bytes("record.sqlite", &bytes, size);
        use_damaged(&written, &written, &cuts);
    }
    count = wanted() > 0 ? wanted() : ALL_BITS;
    for (size_t i = 0; i < count; i++) {
        size_t bit = draw_below(&random, bytes.size * 8);
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        write_bytes("record.sqlite", &bytes, bytes.size);
        use_damaged(&written, NULL, &bits);
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    printf("cuts: %zu set aside, %zu refused, %zu used\n", cuts.set_aside, cuts.refused, cuts.used);
    printf("bits: %zu set aside, %zu refused, %zu used\n", bits.set_aside, bits.refused, bits.used);
    free(bytes.data);
    study_release(&written);
}

/* --- the cubin cache --- */

static void assert_refused(const struct bytes *bytes, size_t size)
{
    struct compilation compilation;
    write_bytes("entry", bytes, size);
    assert_false(cubin_cache_read("entry", true, &compilation));
    assert_int_not_equal(access("entry", F_OK), 0); /* out of the way of the next one */
}

static void test_cache(void **state)
{
    (void)state;
    char image[3000];
    struct error error;
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (char)draw_below(&random, 256);
    struct compilation compilation = {.cubin = image,
                                      .cubin_bytes = sizeof image,
                                      .log = alloc_string("a log"),
                                      .kernels = alloc_zeroed(1, sizeof *compilation.kernels),
                                      .kernel_count = 1};
    compilation.kernels[0].entry = alloc_string("all");
    assert_int_equal(cubin_cache_write("entry", &compilation, &error), 0);
    struct bytes bytes = read_bytes("entry");
    for (size_t size = 0; size < bytes.size; size++)
        assert_refused(&bytes, size);
    for (size_t bit = 0; bit<bytes.size * 8; bit += wanted()> 0 ? 7 : 1) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        assert_refused(&bytes, bytes.size);
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    compilation.cubin = NULL;
    compilation_release(&compilation);
    free(bytes.data);
}

/* --- the tuned INI --- */

/* A file that is refused stays as it is. */
static void test_tuned(void **state)
{
    (void)state;
    struct study study;
    struct error error;
    size_t refused = 0;
    size_t taken;
    make_study(&study);
    struct tuned_entry entry = {0};
    tuned_entry_from_study(&study, &entry);
    assert_int_equal(tuned_file_update("tuned.ini", &entry, 1, &taken, &error), 0);
    struct bytes bytes = read_bytes("tuned.ini");
    for (size_t size = 0; size<bytes.size; size += wanted()> 0 ? 11 : 1) {
        write_bytes("tuned.ini", &bytes, size);
        tuned_entry_from_study(&study, &entry);
        if (tuned_file_update("tuned.ini", &entry, 1, &taken, &error) == 0)
            continue; /* cut between two lines that may be missing, or the whole section is */
        struct bytes after = read_bytes("tuned.ini");
        assert_int_equal(after.size, size);
        assert_memory_equal(after.data, bytes.data, size);
        free(after.data);
        refused++;
    }
    assert_true(refused > 0);
    free(bytes.data);
    study_release(&study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_record),
        SCRATCH_TEST(test_cache),
        SCRATCH_TEST(test_tuned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
