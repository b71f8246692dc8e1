/*
 * What an application does at start-up, without CUDA: which configuration is right for this GPU?
 *     lookup BUNDLE
 */
#include <autotune/tuned.h>

#include <stdio.h>

static int look_up(const struct tuned_table *table, const struct tuned_gpu *gpu, int64_t n)
{
    const struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("value_type", "float")};
    struct tuned_query query = {
        .kernel = "reduce_sum", .gpu = gpu, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    struct tuned_definitions definitions;
    char text[512];
    int code = tuned_find(table, &query, &match);
    (void)tuned_explain(&query, &match, text, sizeof text);
    printf("%s\n", text);
    if (code == 0)
        code = tuned_define(table, &query, &match, &definitions);
    if (code == 0 && definitions.count > 0)
        printf("  %s and %zu more\n", definitions.items[0], definitions.count - 1);
    return code;
}

int main(int argc, char **argv)
{
    static const struct tuned_gpu gpus[] = {
        {.name = "NVIDIA H200",
         .compute_capability = 90,
         .sm_count = 132,
         .l2_bytes = 62914560,
         .memory_gb_per_s = 4917},
        {.name = "Unheard-of", .compute_capability = 120, .sm_count = 170},
    };
    struct tuned_table *table;
    struct tuned_error error;
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: lookup BUNDLE\n");
        return 2;
    }
    if (tuned_load(&table, argv[1], &error) != 0) {
        fprintf(stderr, "%s:%d: %s\n", error.file, error.line, error.message);
        return 1;
    }
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        failed |= look_up(table, &gpus[i], 5000000) != 0;
    tuned_free(table);
    return failed;
}
