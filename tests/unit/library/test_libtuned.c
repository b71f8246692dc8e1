/* The look-up of applications, in tuned INIs of invented GPUs. */
#include "autotune/tuned.h"

#include "unit/comma_locale.h"
#include "unit/scratch.h"
#include "unit/test.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#define HASH "0123456789abcdef0123456789abcdef"
#define OTHER_HASH "fedcba9876543210fedcba9876543210"

/* A section as the tuner writes it. */
#define SECTION(name, hash, gpu, capability, sms, l2, bandwidth, problem, block)                   \
    "[" name "]\nkernel = sum\ntemplate = sum\ntemplate_hash = " hash "\ngpu = " gpu               \
    "\narch = sm_" capability "\ncompute_capability = " capability "\nsm_count = " sms             \
    "\nl2_bytes = " l2 "\n" bandwidth problem "parameter.block_size = " block                      \
    "\nmedian_ns = 1000\n"
#define SIZE(n) "problem.n = " n "\n"
#define BANDWIDTH(x) "memory_gb_per_s = " x "\n"

/* Alpha: two sizes, and a third of doubles; Alpha Small: fewer SMs; Beta: 8.6; Gamma: 9.0. */
static const char zoo[] = SECTION("sum 00000001", HASH, "Alpha", "80", "100", "1000",
                                  BANDWIDTH("1000"), SIZE("1024") "problem.type = float\n", "1")
    SECTION("sum 00000002", HASH, "Alpha", "80", "100", "1000", BANDWIDTH("1000"),
            SIZE("1048576") "problem.type = float\n", "2")
        SECTION("sum 00000003", HASH, "Alpha", "80", "100", "1000", BANDWIDTH("1000"),
                SIZE("1024") "problem.type = double\n", "3")
            SECTION("sum 00000004", HASH, "Alpha Small", "80", "50", "1000", BANDWIDTH("500"),
                    SIZE("1024") "problem.type = float\n", "4")
                SECTION("sum 00000005", HASH, "Beta", "86", "80", "500", "",
                        SIZE("1024") "problem.type = float\n", "5")
                    SECTION("sum 00000006", HASH, "Gamma", "90", "132", "6000", BANDWIDTH("4000"),
                            SIZE("1024") "problem.type = float\n", "6");

static const struct tuned_gpu alpha = {"Alpha", 80, 100, 1000, 1000};

static struct tuned_table *load(const char *text)
{
    struct tuned_table *table;
    struct tuned_error error = {0};
    int code = tuned_load_text(&table, "zoo.ini", text, strlen(text), &error);
    if (code != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    return table;
}

/* Looks the sum of `n` numbers of `type` (NULL: not said) up and returns the answer's section. */
static const char *find(const struct tuned_table *table, const struct tuned_gpu *gpu, int64_t n,
                        const char *type, struct tuned_query *query, struct tuned_match *match)
{
    struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("type", type)};
    query->kernel = "sum";
    query->gpu = gpu;
    query->problem = problem;
    query->problem_count = type != NULL ? 2 : 1;
    int code = tuned_find(table, query, match);
    query->problem = NULL; /* ends with this function */
    query->problem_count = 0;
    assert_int_equal(code, match->rule == TUNED_NOTHING ? TUNED_NOT_FOUND : 0);
    return match->from != NULL ? match->from->section : "";
}

static void test_exact(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    assert_int_equal(tuned_count(table), 6);
    assert_string_equal(find(table, &alpha, 1024, "float", &query, &match), "sum 00000001");
    assert_int_equal(match.rule, TUNED_EXACT);
    assert_int_equal(tuned_integer_of(&match, "block_size", 0), 1);
    assert_true(match.gpu_distance <= 0 && match.size_distance <= 0);
    assert_string_equal(find(table, &alpha, 1024, "double", &query, &match), "sum 00000003");
    assert_int_equal(match.rule, TUNED_EXACT);
    tuned_free(table);
}

/* Numbers that are as far from all others as double precision can tell. */
static void test_only_the_same_number_is_exact(void **state)
{
    (void)state;
#define SEED(name, n) SECTION(name, HASH, "Alpha", "80", "100", "1000", "", SIZE(n), "1")
    struct tuned_table *table =
        load(SEED("sum 00000001", "9223372036854775807") SEED("sum 00000002", "9223372036854775806")
                 SEED("sum 00000003", "1e-20") SEED("sum 00000004", "1e-30"));
    struct tuned_query query = {0};
    struct tuned_match match;
    assert_string_equal(find(table, &alpha, INT64_MAX, NULL, &query, &match), "sum 00000001");
    assert_int_equal(match.rule, TUNED_EXACT);
    assert_string_equal(find(table, &alpha, INT64_MAX - 1, NULL, &query, &match), "sum 00000002");
    assert_int_equal(match.rule, TUNED_EXACT);
    (void)find(table, &alpha, INT64_MAX - 2, NULL, &query, &match);
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    const struct tuned_value small = tuned_real("n", 1e-30);
    query.problem = &small;
    query.problem_count = 1;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(match.rule, TUNED_EXACT);
    assert_string_equal(match.from->section, "sum 00000004");
    tuned_free(table);
}

static void test_nearest_size_of_the_same_gpu(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    /* 32768 is five doublings from both; one more element decides */
    assert_string_equal(find(table, &alpha, 32700, "float", &query, &match), "sum 00000001");
    assert_string_equal(find(table, &alpha, 32800, "float", &query, &match), "sum 00000002");
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    assert_true(fabs(match.size_distance - log2(1048577.0 / 32801)) < 1e-9);
    assert_string_equal(find(table, &alpha, INT64_MAX, "float", &query, &match), "sum 00000002");
    /* words are never near */
    assert_string_equal(find(table, &alpha, 1048576, "double", &query, &match), "sum 00000003");
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    assert_string_equal(find(table, &alpha, 1024, "half", &query, &match), "");
    assert_int_equal(match.refused_problems, 6);
    tuned_free(table);
}

static void test_an_infinite_size_is_beyond_all_others(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_value problem[] = {tuned_real("n", INFINITY), tuned_word("type", "float")};
    const struct tuned_query query = {
        .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    assert_string_equal(match.from->section, "sum 00000002");
    assert_true(isfinite(match.size_distance));
    problem[0] = tuned_real("n", -INFINITY);
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_string_equal(match.from->section, "sum 00000001");
    problem[0] = tuned_real("n", NAN); /* nothing is near */
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    assert_int_equal(match.refused_problems, 6);
    tuned_free(table);
}

static void test_nearest_gpu_of_the_same_architecture(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_gpu unknown = {"Alpha Tiny", 80, 25, 1000, 500};
    assert_string_equal(find(table, &unknown, 1024, "float", &query, &match), "sum 00000004");
    assert_int_equal(match.rule, TUNED_NEAREST_GPU);
    assert_true(fabs(match.gpu_distance - 1.0 / 3) < 1e-9); /* half the SMs, all else the same */
    unknown = (struct tuned_gpu){"Alpha Ultra", 80, 200, 2000, 2000};
    assert_string_equal(find(table, &unknown, 1048576, "float", &query, &match), "sum 00000002");
    assert_true(fabs(match.gpu_distance - 1) < 1e-9);
    assert_true(match.size_distance <= 0);
    /* the nearest GPU, though only another has the size */
    unknown = (struct tuned_gpu){"Alpha Tiny", 80, 50, 1000, 500};
    assert_string_equal(find(table, &unknown, 1048576, "float", &query, &match), "sum 00000004");
    /* what is not known does not count */
    unknown = (struct tuned_gpu){"Alpha Tiny", 80, 55, 0, 0};
    assert_string_equal(find(table, &unknown, 1024, "float", &query, &match), "sum 00000004");
    assert_true(fabs(match.gpu_distance - log2(55 / 50.0)) < 1e-9);
    tuned_free(table);
}

static void test_a_slice_is_another_gpu(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_gpu slice = {"Alpha", 80, 50, 1000, 500};
    assert_string_equal(find(table, &slice, 1024, "float", &query, &match), "sum 00000004");
    assert_int_equal(match.rule, TUNED_NEAREST_GPU);
    slice.sm_count = 0; /* not known: the name decides */
    assert_string_equal(find(table, &slice, 1024, "float", &query, &match), "sum 00000001");
    assert_int_equal(match.rule, TUNED_EXACT);
    tuned_free(table);
}

static void test_family_comes_after_the_architecture(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_gpu ada = {"Delta", 89, 76, 500, 0};
    assert_string_equal(find(table, &ada, 1024, "float", &query, &match), "sum 00000005");
    assert_int_equal(match.rule, TUNED_SAME_FAMILY);
    struct tuned_gpu beta = {"Beta Plus", 86, 1000, 100000, 9000};
    assert_string_equal(find(table, &beta, 1024, "float", &query, &match), "sum 00000005");
    assert_int_equal(match.rule, TUNED_NEAREST_GPU); /* however near an 8.0 would be */
    tuned_free(table);
}

static void test_never_just_any_gpu(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_gpu stranger = {"Alpha", 100, 100, 1000, 1000};
    assert_string_equal(find(table, &stranger, 1024, "float", &query, &match), "");
    assert_int_equal(match.rule, TUNED_NOTHING);
    assert_int_equal(match.candidates, 6);
    assert_int_equal(match.refused_gpus + match.refused_problems, 6);
    assert_null(match.parameters);
    tuned_free(table);
}

static void test_the_caller_sets_the_limit(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_gpu near = {"Alpha Ultra", 80, 200, 1000, 1000};
    struct tuned_gpu family = {"Delta", 89, 76, 500, 0};
    const struct {
        enum tuned_rule limit;
        const struct tuned_gpu *gpu;
        int64_t n;
        enum tuned_rule rule;
    } cases[] = {
        {TUNED_EXACT, &alpha, 1024, TUNED_EXACT},
        {TUNED_EXACT, &alpha, 1025, TUNED_NOTHING},
        {TUNED_NEAREST_SIZE, &alpha, 1025, TUNED_NEAREST_SIZE},
        {TUNED_NEAREST_SIZE, &near, 1024, TUNED_NOTHING},
        {TUNED_NEAREST_GPU, &near, 1024, TUNED_NEAREST_GPU},
        {TUNED_NEAREST_GPU, &family, 1024, TUNED_NOTHING},
        {TUNED_SAME_FAMILY, &family, 1024, TUNED_SAME_FAMILY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        query.limit = cases[i].limit;
        (void)find(table, cases[i].gpu, cases[i].n, "float", &query, &match);
        assert_int_equal(match.rule, cases[i].rule);
    }
    tuned_free(table);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char template_text[] =
    "[kernel]\nsource = sum.cu\nconstraint = block_size > 1 and\n    block_size < 2000\n"
    "[parameters]\nblock_size = 2^8 ; threads\nscale = 0.5\n"
    "finish = two_pass | atomic |\n    last_block\n"
    "[launch_parameters]\nwaves = 3\n[problem]\nn = 2^20\ntype = float | double\n"
    "[launch.sum]\nentry = sum\nblock = block_size\n";

static void test_defaults_of_the_template(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_error error;
    struct tuned_gpu stranger = {"Omega", 120, 100, 1000, 1000};
    write_text("sum.ini", template_text);
    assert_int_equal(tuned_add_template(table, "sum.ini", &error), 0);
    assert_string_equal(find(table, &stranger, 1024, "double", &query, &match), "");
    assert_int_equal(match.rule, TUNED_DEFAULTS);
    assert_int_equal(match.parameter_count, 4);
    assert_int_equal(tuned_integer_of(&match, "block_size", 0), 256);
    assert_true(fabs(tuned_real_of(&match, "scale", 0) - 0.5) <= 0);
    assert_string_equal(tuned_word_of(&match, "finish", ""), "two_pass");
    assert_int_equal(tuned_integer_of(&match, "waves", 0), 3);
    assert_int_equal(tuned_integer_of(&match, "finish", 7), 7); /* of another kind */
    query.limit = TUNED_SAME_FAMILY;
    (void)find(table, &stranger, 1024, "double", &query, &match);
    assert_int_equal(match.rule, TUNED_NOTHING);
    tuned_free(table);
}

static void test_a_value_left_out_is_the_default_where_that_is_known(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {0};
    struct tuned_match match;
    struct tuned_error error;
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 00000001");
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE); /* the type may be another */
    write_text("sum.ini", "[problem]\nn = 1\ntype = double | float\n");
    assert_int_equal(tuned_add_template(table, "sum.ini", &error), 0);
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 00000003");
    assert_int_equal(match.rule, TUNED_EXACT);
    tuned_free(table);
}

static void test_a_value_that_the_kernel_does_not_have_fits_nothing(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_value problem[] = {tuned_integer("n", 1024), tuned_word("type", "float"),
                                    tuned_integer("rows", 1)};
    struct tuned_query query = {
        .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 3};
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    assert_int_equal(match.refused_problems, 6);
    tuned_free(table);
}

static void test_other_versions_of_the_template(void **state)
{
    (void)state;
    struct tuned_table *table =
        load(SECTION("sum 1", OTHER_HASH, "Alpha", "80", "100", "1", "", SIZE("1024"), "1")
                 SECTION("sum 2", HASH, "Far", "80", "1", "1", "", SIZE("9"), "2"));
    struct tuned_query query = {.template_hash = HASH};
    struct tuned_match match;
    char text[512];
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 2");
    assert_int_equal(match.refused_versions, 1);
    query.accept_other_versions = 1; /* but the right version is better, however far */
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 2");
    query.limit = TUNED_EXACT;
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 1");
    assert_true(match.other_version);
    (void)tuned_explain(&query, &match, text, sizeof text);
    assert_non_null(strstr(text, "another version of the template"));
    query.accept_other_versions = 0;
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "");
    (void)tuned_explain(&query, &match, text, sizeof text);
    assert_non_null(strstr(text, "1 is of another version of the template"));
    query.template_hash = NULL; /* not checked */
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 1");
    tuned_free(table);
}

static void test_kernels_do_not_mix(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_query query = {.kernel = "su", .gpu = &alpha};
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    assert_int_equal(match.candidates, 0);
    query.kernel = "summ";
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    query.kernel = "sum"; /* no problem at all: any will do, and it is not exact */
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    tuned_free(table);
}

static void test_questions_that_are_none(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_gpu nameless = {0};
    struct tuned_value values[TUNED_PROBLEM_VALUES + 1] = {{0}};
    struct tuned_value wordless = tuned_word("type", NULL);
    const struct tuned_value twice[] = {tuned_integer("n", 1024), tuned_integer("n", 2048)};
    struct tuned_match match;
    const struct tuned_query queries[] = {
        {.gpu = &alpha},
        {.kernel = "sum"},
        {.kernel = "sum", .gpu = &nameless},
        {.kernel = "sum", .gpu = &alpha, .problem_count = 1},
        {.kernel = "sum", .gpu = &alpha, .problem = values, .problem_count = 1},
        {.kernel = "sum", .gpu = &alpha, .problem = &wordless, .problem_count = 1},
        {.kernel = "sum", .gpu = &alpha, .problem = values, .problem_count = 17},
        {.kernel = "sum", .gpu = &alpha, .problem = twice, .problem_count = 2},
        {.kernel = "sum", .gpu = &alpha, .limit = (enum tuned_rule)99},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(tuned_find(table, &queries[i], &match), TUNED_INVALID);
    tuned_free(table);
}

static void test_definitions(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_definitions definitions;
    struct tuned_error error;
    struct tuned_gpu stranger = {"Omega", 120, 1, 1, 1};
    struct tuned_value problem[] = {tuned_integer("n", 5), tuned_word("type", "double")};
    struct tuned_query query = {
        .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(tuned_define(table, &query, &match, &definitions), 0);
    assert_int_equal(definitions.count, 2);
    assert_string_equal(definitions.items[0], "-DBLOCK_SIZE=3");
    assert_string_equal(definitions.items[1], "-DTYPE=TYPE_DOUBLE");
    write_text("sum.ini", template_text);
    assert_int_equal(tuned_add_template(table, "sum.ini", &error), 0);
    query.gpu = &stranger;
    static const char *const expected[] = {"-DBLOCK_SIZE=256", "-DSCALE=0.5",
                                           "-DFINISH=FINISH_TWO_PASS", "-DWAVES=3",
                                           "-DTYPE=TYPE_DOUBLE"};
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(tuned_define(table, &query, &match, &definitions), 0);
    assert_int_equal(definitions.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(definitions.items[i], expected[i]);
    query.problem_count = 1; /* the type is the template's */
    assert_int_equal(tuned_define(table, &query, &match, &definitions), 0);
    assert_string_equal(definitions.items[4], "-DTYPE=TYPE_FLOAT");
    problem[0] = tuned_word("type", "x -I/"); /* never another option */
    assert_int_equal(tuned_define(table, &query, &match, &definitions), TUNED_INVALID);
    tuned_free(table);
}

static void test_real_numbers_stay_real(void **state)
{
    (void)state;
    struct tuned_table *table = load("[a 1]\nkernel = a\ntemplate = a\ntemplate_hash = x\ngpu = G\n"
                                     "compute_capability = 80\nparameter.half = 0.5\n"
                                     "parameter.two = 2.0\nparameter.tiny = 1e-300\n"
                                     "parameter.low = -4\nparameter.wide = 1E5\n");
    struct tuned_query query = {.kernel = "a", .gpu = &alpha};
    struct tuned_definitions definitions;
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(tuned_parameter(&match, "two")->kind, TUNED_REAL);
    assert_int_equal(tuned_parameter(&match, "low")->kind, TUNED_INTEGER);
    assert_true(fabs(tuned_real_of(&match, "half", 0) - 0.5) <= 0);
    assert_true(fabs(tuned_real_of(&match, "tiny", 0) - 1e-300) <= 0);
    assert_true(fabs(tuned_real_of(&match, "low", 0) + 4) <= 0);
    assert_int_equal(tuned_define(table, &query, &match, &definitions), 0);
    assert_string_equal(definitions.items[1], "-DTWO=2.0");
    assert_string_equal(definitions.items[2], "-DTINY=1e-300");
    assert_string_equal(definitions.items[4], "-DWIDE=1E5");
    tuned_free(table);
}

static void test_numbers_read_the_same_in_any_locale(void **state)
{
    (void)state;
    if (!comma_locale_enter())
        skip();
    test_real_numbers_stay_real(state);
    comma_locale_leave();
}

static void test_explanations(void **state)
{
    (void)state;
    struct tuned_table *table = load(zoo);
    struct tuned_value problem[] = {tuned_integer("n", 4096), tuned_word("type", "float")};
    struct tuned_gpu near = {"Alpha Plus", 80, 200, 1000, 1000};
    struct tuned_query query = {
        .kernel = "sum", .gpu = &near, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    char text[256];
    char cut[10];
    static const char expected[] =
        "sum for n=4096 type=float on Alpha Plus: [sum 00000001] of Alpha, n=1024 type=float (same "
        "compute capability, nearest GPU, GPU distance 0.33, size distance 2.00)";
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(tuned_explain(&query, &match, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(tuned_explain(&query, &match, cut, sizeof cut), strlen(expected));
    assert_string_equal(cut, "sum for n");
    assert_int_equal(tuned_explain(&query, &match, NULL, 0), strlen(expected));
    tuned_free(table);
}

static void test_bundle(void **state)
{
    (void)state;
    struct tuned_table *table;
    struct tuned_error error;
    struct tuned_query query = {0};
    struct tuned_match match;
    char path[64];
    struct tuned_gpu newer = {"Beta Max", 89, 80, 500, 0};
    assert_int_equal(system("mkdir -p b/templates"), 0);
    write_text("b/tuned.ini", zoo);
    assert_int_equal(tuned_load(&table, "b", &error), TUNED_BAD_FILE);
    assert_null(table);
    assert_string_equal(error.file, "b/templates/sum.ini");
    write_text("b/templates/sum.ini", template_text);
    assert_int_equal(tuned_load(&table, "b", &error), 0);
    (void)find(table, &newer, 1024, "float", &query, &match);
    assert_int_equal(tuned_cubin_path(table, &query, &match, path, sizeof path), 0);
    assert_string_equal(path, "b/cubin/sum-00000005.cubin");
    assert_int_equal(tuned_cubin_path(table, &query, &match, path, 10), TUNED_INVALID);
    newer.compute_capability = 85; /* code for 8.6 does not run there */
    query.limit = TUNED_SAME_FAMILY;
    (void)find(table, &newer, 1024, "float", &query, &match);
    assert_string_equal(match.from->section, "sum 00000005");
    assert_int_equal(tuned_cubin_path(table, &query, &match, path, sizeof path), TUNED_NOT_FOUND);
    tuned_free(table);
    table = load(zoo); /* no bundle */
    (void)find(table, &alpha, 1024, "float", &query, &match);
    assert_int_equal(tuned_cubin_path(table, &query, &match, path, sizeof path), TUNED_NOT_FOUND);
    tuned_free(table);
}

static void test_no_context_is_an_error(void **state)
{
    (void)state;
    struct tuned_gpu gpu = {.sm_count = 7};
    struct tuned_error error;
    int device = -1;
    assert_int_equal(tuned_gpu_current(&gpu, &device, &error), TUNED_NO_GPU);
    assert_true(strlen(error.message) > 0);
    assert_int_equal(gpu.sm_count, 0);
    assert_int_equal(device, -1);
}

/* --- many --- */

enum { MANY_GPUS = 20, MANY_SIZES = 25, MANY_KERNELS = 10 };

static char *many(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    for (int kernel = 0; kernel < MANY_KERNELS; kernel++)
        for (int gpu = 0; gpu < MANY_GPUS; gpu++)
            for (int size = 0; size < MANY_SIZES; size++)
                fprintf(stream,
                        "[k%d %08x]\nkernel = k%d\ntemplate = k%d\ntemplate_hash = " HASH
                        "\ngpu = GPU %d\ncompute_capability = 90\nsm_count = %d\nl2_bytes = %d\n"
                        "problem.n = %d\nproblem.type = float\nparameter.block_size = %d\n",
                        kernel, gpu * 100 + size, kernel, kernel, gpu, 10 + gpu, 1000 * (1 + gpu),
                        1 << size, gpu * 100 + size);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static int64_t ask_many(const struct tuned_table *table, int round, enum tuned_rule *rule)
{
    char kernel[] = {'k', (char)('0' + round % MANY_KERNELS), '\0'};
    struct tuned_gpu gpu = {"GPU 7", 90, 17, 8000, 0};
    struct tuned_value problem[] = {tuned_integer("n", 1 + (int64_t)round * 997),
                                    tuned_word("type", "float")};
    struct tuned_query query = {
        .kernel = kernel, .gpu = &gpu, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    if (round % 2 == 1)
        gpu.name[4] = '?'; /* the same figures, another name */
    int code = tuned_find(table, &query, &match);
    *rule = match.rule;
    return code == 0 ? tuned_integer_of(&match, "block_size", -1) : -1;
}

/* This thread's own time: what else runs on the machine does not count. */
static double now_us(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* What a look-up takes if it has to compare all configurations, and computes less for each. */
static void compare_all(const struct tuned_table *table, const struct tuned_query *query)
{
    const struct tuned_configuration *configuration;
    double nearest = INFINITY;
    for (size_t i = 0; (configuration = tuned_at(table, i)) != NULL; i++) {
        if (strcmp(configuration->kernel, query->kernel) != 0 ||
            strcmp(configuration->problem[0].name, query->problem[0].name) != 0 ||
            strcmp(configuration->problem[1].name, query->problem[1].name) != 0 ||
            strcmp(configuration->problem[1].text, query->problem[1].text) != 0)
            continue;
        nearest = fmin(nearest, fabs(log2(1 + configuration->problem[0].real) -
                                     log2(1 + query->problem[0].real)));
    }
    assert_true(nearest < 1);
}

static double time_of_looking_up(const struct tuned_table *table)
{
    enum { ROUNDS = 50 };
    double start = now_us();
    for (int round = 0; round < ROUNDS; round++) {
        enum tuned_rule rule;
        assert_int_equal(ask_many(table, round, &rule) / 100, 7);
        assert_true(rule == (round % 2 ? TUNED_NEAREST_GPU : TUNED_NEAREST_SIZE) ||
                    rule == TUNED_EXACT);
    }
    return (now_us() - start) / ROUNDS;
}

/* 20 µs are promised for 500 configurations of 5000. How fast this machine is, comparing all shows. */
static void test_a_lookup_is_much_faster_than_comparing_all(void **state)
{
    (void)state;
    enum { ATTEMPTS = 100 }; /* short ones, between interruptions */
    char *text = many();
    struct tuned_table *table = load(text);
    struct tuned_value problem[] = {tuned_integer("n", 997), tuned_word("type", "float")};
    struct tuned_query query = {.kernel = "k7", .problem = problem, .problem_count = 2};
    double lookup_us = INFINITY;
    double all_us = INFINITY;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        lookup_us = fmin(lookup_us, time_of_looking_up(table));
        double start = now_us();
        compare_all(table, &query);
        all_us = fmin(all_us, now_us() - start);
    }
    print_message("look-up: %.2f us (%zu configurations, %d of the kernel); all: %.2f us\n",
                  lookup_us, tuned_count(table), MANY_GPUS * MANY_SIZES, all_us);
    assert_true(lookup_us * 3 < all_us);
    tuned_free(table);
    free(text);
}

/* The texts that say why come to as many letters in every thread. */
static void *ask_all(void *user)
{
    int64_t sum = 0;
    enum tuned_rule rule;
    for (int round = 0; round < 500; round++)
        sum += ask_many(user, round, &rule) + (int64_t)strlen(tuned_rule_text(rule));
    int64_t *result = alloc_zeroed(1, sizeof *result);
    *result = sum;
    return result;
}

static void test_threads_share_a_table(void **state)
{
    (void)state;
    char *text = many();
    struct tuned_table *table = load(text);
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int64_t *alone = ask_all(table);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_all, table), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *together;
        assert_int_equal(pthread_join(threads[i], &together), 0);
        assert_int_equal(*(int64_t *)together, *alone);
        free(together);
    }
    free(alone);
    tuned_free(table);
    free(text);
}

static void test_a_query_prefers_a_cache_state(void **state)
{
    (void)state;
    static const char text[] = SECTION(
        "sum 00000001", HASH, "Alpha", "80", "100", "1000", BANDWIDTH("1000"), SIZE("1024"),
        "1") "cache = warm\n" SECTION("sum 00000002", HASH, "Alpha", "80", "100", "1000",
                                      BANDWIDTH("1000"), SIZE("1024"),
                                      "2") "cache = cold\n" SECTION("sum 00000003", HASH, "Alpha",
                                                                    "80", "100", "1000",
                                                                    BANDWIDTH("1000"), SIZE("2048"),
                                                                    "3") "cache = warm\n";
    struct tuned_table *table = load(text);
    struct tuned_query query = {0};
    struct tuned_match match;
    char sentence[256];
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 00000002");
    assert_string_equal(match.from->cache, "cold");
    query.cache = "warm";
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 00000001");
    query.cache = NULL; /* the size counts more */
    assert_string_equal(find(table, &alpha, 2048, NULL, &query, &match), "sum 00000003");
    (void)tuned_explain(&query, &match, sentence, sizeof sentence);
    assert_non_null(strstr(sentence, ", measured with a warm cache"));
    tuned_free(table);
}

static void test_an_application_sees_that_tuning_was_interrupted(void **state)
{
    (void)state;
    static const char text[] =
        SECTION("sum 00000001", HASH, "Alpha", "80", "100", "1000", BANDWIDTH("1000"), SIZE("1024"),
                "1") "incomplete = yes\n" SECTION("sum 00000002", HASH, "Alpha", "80", "100",
                                                  "1000", BANDWIDTH("1000"), SIZE("2048"), "2");
    struct tuned_table *table = load(text);
    struct tuned_query query = {0};
    struct tuned_match match;
    char sentence[256];
    assert_string_equal(find(table, &alpha, 1024, NULL, &query, &match), "sum 00000001");
    assert_true(match.incomplete);
    assert_true(match.from->incomplete);
    (void)tuned_explain(&query, &match, sentence, sizeof sentence);
    assert_non_null(strstr(sentence, ", the best so far when tuning was interrupted"));
    assert_string_equal(find(table, &alpha, 2048, NULL, &query, &match), "sum 00000002");
    assert_false(match.incomplete);
    tuned_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_application_sees_that_tuning_was_interrupted),
        cmocka_unit_test(test_a_query_prefers_a_cache_state),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_only_the_same_number_is_exact),
        cmocka_unit_test(test_nearest_size_of_the_same_gpu),
        cmocka_unit_test(test_an_infinite_size_is_beyond_all_others),
        cmocka_unit_test(test_nearest_gpu_of_the_same_architecture),
        cmocka_unit_test(test_a_slice_is_another_gpu),
        cmocka_unit_test(test_family_comes_after_the_architecture),
        cmocka_unit_test(test_never_just_any_gpu),
        cmocka_unit_test(test_the_caller_sets_the_limit),
        SCRATCH_TEST(test_defaults_of_the_template),
        SCRATCH_TEST(test_a_value_left_out_is_the_default_where_that_is_known),
        cmocka_unit_test(test_a_value_that_the_kernel_does_not_have_fits_nothing),
        cmocka_unit_test(test_other_versions_of_the_template),
        cmocka_unit_test(test_kernels_do_not_mix),
        cmocka_unit_test(test_questions_that_are_none),
        SCRATCH_TEST(test_definitions),
        cmocka_unit_test(test_real_numbers_stay_real),
        cmocka_unit_test(test_numbers_read_the_same_in_any_locale),
        cmocka_unit_test(test_explanations),
        SCRATCH_TEST(test_bundle),
        cmocka_unit_test(test_no_context_is_an_error),
        cmocka_unit_test(test_a_lookup_is_much_faster_than_comparing_all),
        cmocka_unit_test(test_threads_share_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
