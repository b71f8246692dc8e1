/* Tuned INI files as an application reads them, and every look-up of what is in them. */
#include "fuzz.h"

#include <autotune/tuned.h>
#include <string.h>

static void look_up(const struct tuned_table *table, const struct tuned_configuration *from)
{
    struct tuned_query query = {.kernel = from->kernel,
                                .gpu = from->gpu,
                                .problem = from->problem,
                                .problem_count = from->problem_count};
    struct tuned_match match;
    static struct tuned_definitions definitions;
    char text[256];
    int status = tuned_find(table, &query, &match);
    FUZZ_REQUIRE(status == 0 || match.rule == TUNED_NOTHING || status == TUNED_INVALID);
    if (status == TUNED_INVALID)
        return;
    (void)tuned_explain(&query, &match, text, sizeof text);
    FUZZ_REQUIRE(memchr(text, '\0', sizeof text) != NULL);
    if (status != 0)
        return;
    for (size_t i = 0; i < match.parameter_count; i++)
        FUZZ_REQUIRE(tuned_parameter(&match, match.parameters[i].name) != NULL);
    if (tuned_define(table, &query, &match, &definitions) == 0)
        for (size_t i = 0; i < definitions.count; i++)
            FUZZ_REQUIRE(strncmp(definitions.items[i], "-D", 2) == 0);
}

/* A cover answers for each size that was measured, unless a condition excludes it. */
static void look_up_sizes(const struct tuned_table *table, const struct tuned_configuration *from)
{
    const struct tuned_cover *cover = from->cover;
    for (size_t i = 0; i < cover->size_count; i++) {
        struct tuned_value problem[TUNED_PROBLEM_VALUES];
        struct tuned_query query = {.kernel = from->kernel, .gpu = from->gpu, .problem = problem};
        struct tuned_match match;
        for (size_t j = 0; j < from->problem_count; j++)
            problem[query.problem_count++] = from->problem[j];
        for (size_t j = 0; j < cover->range_count; j++)
            problem[query.problem_count++] =
                tuned_real(cover->ranges[j].name, cover->sizes[i].numbers[j]);
        if (tuned_find(table, &query, &match) == 0 && match.from != NULL)
            FUZZ_REQUIRE((match.from->cover == NULL) == (match.size == NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuned_table *table = NULL;
    struct tuned_error error = {0};
    int status = tuned_load_text(&table, "tuned.ini", (const char *)data, size, &error);
    FUZZ_REQUIRE((status == 0) == (table != NULL));
    if (status != 0) {
        FUZZ_REQUIRE(error.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < tuned_count(table) && i < 64; i++) {
        look_up(table, tuned_at(table, i));
        if (tuned_at(table, i)->number == 1)
            look_up_sizes(table, tuned_at(table, i));
    }
    FUZZ_REQUIRE(tuned_at(table, tuned_count(table)) == NULL);
    tuned_free(table);
    return 0;
}
