/* Covers as the tuner writes them: into the tuned INI and back, and what they choose. */
#include "record/tuned_file.h"

#include "base/alloc.h"

#include "unit/cover_chosen.h"
#include "unit/cover_fixture.h"
#include "unit/scratch.h"
#include "unit/test.h"

#include <autotune/tuned.h>

static struct error error; /* the last one */

/* The entry of COVER. */
static struct tuned_entry fixture_entry(void)
{
    struct tuned_file tuned;
    assert_int_equal(scratch_write("fixture.ini", COVER), 0);
    assert_int_equal(tuned_file_read("fixture.ini", &tuned, NULL), 0);
    assert_int_equal(tuned.count, 1);
    struct tuned_entry entry = tuned.entries[0];
    tuned.count = 0;
    tuned_file_release(&tuned);
    return entry;
}

static void write_entry(const char *path, struct tuned_entry *entry)
{
    size_t taken;
    if (tuned_file_update(path, entry, 1, &taken, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(taken, 1);
}

/* What is read is written back to the byte, with comments, and is one cover. */
UNIT_TEST_WITH(test_a_cover_reads_back_as_it_was, scratch_enter, scratch_leave)
{
    struct tuned_file tuned;
    (void)scratch_write("tuned.ini", "; mine\n" COVER "; a comment on the rule\n");
    char *before = scratch_read("tuned.ini");
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 1);
    assert_int_equal(tuned.skipped_count, 0);
    struct bindings parameters = tuned_entry_parameters(&tuned.entries[0], 1);
    char *text = bindings_text(&parameters);
    assert_int_equal(tuned_entry_count(&tuned.entries[0]), 2);
    assert_string_equal(text, "block_size=512 finish=two_pass");
    free(text);
    bindings_release(&parameters);
    assert_int_equal(tuned_file_write("tuned.ini", &tuned, &error), 0);
    char *after = scratch_read("tuned.ini");
    assert_string_equal(after, before);
    tuned_file_release(&tuned);
    free(before);
    free(after);
}

/* Tuning a size leaves it alone; a new cover takes its place. */
UNIT_TEST_WITH(test_a_cover_is_kept_until_a_cover_replaces_it, scratch_enter, scratch_leave)
{
    struct tuned_file tuned;
    struct tuned_entry size = fixture_entry();
    cover_free(size.cover);
    size.cover = NULL;
    free(size.section);
    size.section = alloc_string("sum 00000001");
    bindings_set(&size.parameters, "block_size", value_integer(1));
    (void)scratch_write("tuned.ini", COVER);
    write_entry("tuned.ini", &size);
    struct tuned_entry newer = fixture_entry();
    struct ini_reader ini;
    assert_int_equal(cover_add(newer.cover, &ini, "measured.4", "n=2000: 3 4 us"), 0);
    write_entry("tuned.ini", &newer);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 2);
    assert_string_equal(tuned.entries[0].section, "sum 0000c0e4");
    assert_int_equal(tuned.entries[0].cover->public.size_count, 4);
    assert_null(tuned.entries[1].cover);
    tuned_file_release(&tuned);
}

UNIT_TEST_WITH(test_a_cover_of_another_version_stays_in_the_file, scratch_enter, scratch_leave)
{
    struct tuned_file tuned;
    struct tuned_entry size = fixture_entry();
    static const char newer[] = "[sum 0000c0e5]\nkernel = sum\ntemplate = sum\n" COVER_GPU
                                "cover = 4\nrange.n = 1 to 5\nbest = unknown\n";
    (void)scratch_write("tuned.ini", COVER "\n");
    char *before = scratch_read("tuned.ini");
    char *text = alloc_format("%s%s", before, newer);
    (void)scratch_write("tuned.ini", text);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 1);
    assert_int_equal(tuned.skipped_count, 1);
    assert_non_null(strstr(tuned.skipped[0].reason.message,
                           "the cover is of version 4, which a newer autotune reads"));
    tuned_file_release(&tuned);
    write_entry("tuned.ini", &size);
    char *after = scratch_read("tuned.ini");
    assert_non_null(strstr(after, newer));
    free(before);
    free(text);
    free(after);
}

UNIT_TEST_WITH(test_libtuned_chooses_the_same, scratch_enter, scratch_leave)
{
    struct tuned_entry entry = fixture_entry();
    struct tuned_table *table;
    struct tuned_gpu gpu = {"Alpha", 80, 100, 1000, 0};
    assert_int_equal(tuned_load(&table, "fixture.ini", NULL), 0);
    for (int64_t n = 1; n < 4000000; n = n * 9 / 8 + 1) {
        struct bindings problem = {0};
        struct tuned_value values[] = {tuned_integer("n", n), tuned_word("type", "float")};
        struct tuned_query query = {
            .kernel = "sum", .gpu = &gpu, .problem = values, .problem_count = 2};
        struct tuned_match match;
        size_t configuration;
        bindings_set(&problem, "n", value_integer(n));
        bindings_set(&problem, "type", value_word("float"));
        bool inside = cover_chosen(&entry, &problem, &configuration);
        assert_int_equal(inside, n >= 1024 && n <= 1048576);
        assert_int_equal(tuned_entry_allows(&entry, 0, &problem), inside);
        assert_int_equal(tuned_find(table, &query, &match), 0);
        if (inside)
            assert_int_equal(match.from->number, configuration + 1);
        bindings_set(&problem, "type", value_word("double"));
        assert_false(tuned_entry_allows(&entry, 0, &problem));
        bindings_release(&problem);
    }
    tuned_free(table);
    tuned_entry_release(&entry);
}
