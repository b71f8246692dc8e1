/*
 * The look-up of applications, in tuned INIs of invented GPUs, with and without covers. libtuned.cases has the
 * questions and the answers.
 */
#include "autotune/tuned.h"

#include "base/alloc.h"

#include "unit/cases.h"
#include "unit/comma_locale.h"
#include "unit/cover_fixture.h"
#include "unit/scratch.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

#define HASH COVER_HASH
#define OTHER_HASH "fedcba9876543210fedcba9876543210"

#define GPU(name, capability, sms, l2, bandwidth)                                                  \
    "gpu = " name "\ncompute_capability = " capability "\nsm_count = " sms "\nl2_bytes = " l2      \
    "\nmemory_gb_per_s = " bandwidth "\n"
#define ALPHA GPU("Alpha", "80", "100", "1000", "1000")
#define FLOAT(n) "problem.n = " n "\nproblem.type = float\n"

/* The sections of each table, beside what is the same in all. */
static const struct {
    const char *table, *section, *hash, *gpu, *problem;
} sections[] = {
    {"zoo", "1", HASH, ALPHA, FLOAT("1024")},
    {"zoo", "2", HASH, ALPHA, FLOAT("1048576")},
    {"zoo", "3", HASH, ALPHA, "problem.n = 1024\nproblem.type = double\n"},
    {"zoo", "4", HASH, GPU("Small", "80", "50", "1000", "500"), FLOAT("1024")},
    {"zoo", "5", HASH, GPU("Beta", "86", "80", "500", "0"), FLOAT("1024")},
    {"zoo", "6", HASH, GPU("Gamma", "90", "132", "6000", "4000"), FLOAT("1024")},
    {"numbers", "1", HASH, ALPHA, "problem.n = 9223372036854775807\n"},
    {"numbers", "2", HASH, ALPHA, "problem.n = 9223372036854775806\n"},
    {"numbers", "3", HASH, ALPHA, "problem.n = 1e-20\n"},
    {"numbers", "4", HASH, ALPHA, "problem.n = 1e-30\n"},
    {"versions", "1", OTHER_HASH, ALPHA, "problem.n = 1024\n"},
    {"versions", "2", HASH, GPU("Far", "80", "1", "1", "0"), "problem.n = 9\n"},
    {"caches", "1", HASH, ALPHA, "problem.n = 1024\ncache = warm\n"},
    {"caches", "2", HASH, ALPHA, "problem.n = 1024\ncache = cold\n"},
    {"caches", "3", HASH, ALPHA, "problem.n = 2048\ncache = warm\n"},
    {"interrupted", "1", HASH, ALPHA, "problem.n = 1024\nincomplete = yes\n"},
    {"interrupted", "2", HASH, ALPHA, "problem.n = 2048\n"},
    {"cover", "1", HASH, ALPHA, FLOAT("8192")},
    {.table = "cover", .problem = COVER},
    {"cover", "2", HASH, ALPHA, FLOAT("4194304")},
    {.table = "covers",
     .problem = COVER_TOP COVER_RANGE "range.batch = 1 .. 8\n" COVER_CONFIGURATIONS_2
                                      "measured.1 = n=1024 batch=1: 2 3 us\n"},
    {.table = "covers",
     .problem = "[sum 0000c0e5]\nkernel = sum\ntemplate = sum\n" COVER_GPU
                "cover = 3\nproblem.batch = 3\n" COVER_RANGE COVER_CONFIGURATIONS_2
                "measured.1 = n=1024: 3 2 us\n"},
};

static const struct tuned_gpu alpha = {"Alpha", 80, 100, 1000, 1000};

/* `text` and the sections of the table, as a new string. */
static char *text_of(const char *table, const char *text)
{
    char *all = alloc_string(text);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const char *section = sections[i].section;
        if (strcmp(sections[i].table, table) != 0)
            continue;
        if (section != NULL)
            alloc_append(&all,
                         "[sum 0000000%s]\nkernel = sum\ntemplate = sum\ntemplate_hash = %s\n%s"
                         "parameter.block_size = %s\n",
                         section, sections[i].hash, sections[i].gpu, section);
        alloc_append(&all, "%s", sections[i].problem);
    }
    return all;
}

static struct tuned_table *load_text(const char *text)
{
    struct tuned_table *table;
    struct tuned_error error = {0};
    if (tuned_load_text(&table, "zoo.ini", text, strlen(text), &error) != 0 ||
        error.message[0] != '\0')
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    return table;
}

static struct tuned_table *load(const char *name)
{
    char *text = text_of(name, "");
    struct tuned_table *table = load_text(text);
    free(text);
    return table;
}

static struct tuned_value value_of(const char *name, const char *text)
{
    char *end;
    int64_t integer = strtoll(text, &end, 10);
    if (*end == '\0')
        return tuned_integer(name, integer);
    double real = strtod(text, &end);
    return *end == '\0' ? tuned_real(name, real) : tuned_word(name, text);
}

static enum tuned_rule rule_of(const char *name)
{
    static const char *const names[] = {
        [TUNED_EXACT] = "exact",          [TUNED_COVER] = "cover",
        [TUNED_OUTSIDE_COVER] = "beyond", [TUNED_NEAREST_SIZE] = "size",
        [TUNED_NEAREST_GPU] = "gpu",      [TUNED_SAME_FAMILY] = "family",
        [TUNED_DEFAULTS] = "defaults"};
    enum tuned_rule rule = TUNED_EXACT;
    while (strcmp(names[rule], name) != 0)
        assert_true(++rule <= TUNED_DEFAULTS);
    return rule;
}

/* What `words` ask: NAME=VALUE of the problem, gpu=NAME/CAPABILITY/SMS/L2/BANDWIDTH, limit=RULE, version=HASH, versions=any,
 * cache=STATE. */
struct question {
    char words[160];
    struct tuned_gpu gpu;
    struct tuned_value problem[4];
    struct tuned_query query;
};

static void ask(struct question *question, const char *words)
{
    *question = (struct question){.gpu = alpha};
    struct tuned_query *query = &question->query;
    *query =
        (struct tuned_query){.kernel = "sum", .gpu = &question->gpu, .problem = question->problem};
    (void)snprintf(question->words, sizeof question->words, "%s", words);
    for (char *word = strtok(question->words, " "); word != NULL; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (strcmp(word, "kernel") == 0)
            query->kernel = value;
        else if (strcmp(word, "limit") == 0)
            query->limit = rule_of(value);
        else if (strcmp(word, "version") == 0)
            query->template_hash = value;
        else if (strcmp(word, "versions") == 0)
            query->accept_other_versions = 1;
        else if (strcmp(word, "cache") == 0)
            query->cache = value;
        else if (strcmp(word, "gpu") == 0)
            assert_int_equal(sscanf(value, "%31[^/]/%d/%d/%" SCNd64 "/%lf", question->gpu.name,
                                    &question->gpu.compute_capability, &question->gpu.sm_count,
                                    &question->gpu.l2_bytes, &question->gpu.memory_gb_per_s),
                             5);
        else
            question->problem[query->problem_count++] = value_of(word, value);
    }
}

static void check_answer(const struct test_case *test, const char *text, const char *words,
                         const char *expected)
{
    struct tuned_table *table = load_text(text);
    struct question question;
    struct tuned_match match;
    char answer[512];
    ask(&question, words);
    int code = tuned_find(table, &question.query, &match);
    assert_int_equal(code, match.rule == TUNED_NOTHING ? TUNED_NOT_FOUND : 0);
    assert_true(match.from != NULL ? match.parameters != NULL : match.parameter_count == 0);
    (void)tuned_explain(&question.query, &match, answer, sizeof answer);
    case_assert_text(test, answer, expected);
    tuned_free(table);
}

/* A cover with `to` in place of `from`, of which "…" at the end stands for all that follows; of nothing, before its
 * configurations. A new string. */
static char *changed_cover(const char *from, const char *to)
{
    static const char any[] = "…";
    size_t length = strlen(from);
    size_t mark = length >= strlen(any) ? length - strlen(any) : 0;
    bool rest = length >= strlen(any) && strcmp(from + mark, any) == 0;
    char *start = alloc_format("%.*s", (int)(rest ? mark : length), from);
    char *text = alloc_string(COVER);
    char *place = strstr(text, length > 0 ? start : "configuration.1");
    assert_non_null(place);
    char *changed =
        alloc_format("%.*s%s%s", (int)(place - text), text, to, rest ? "" : place + length);
    free(start);
    free(text);
    return changed;
}

static void check_case(void *user, const struct test_case *test)
{
    char *const *fields = test->fields;
    if (test->count == 2) { /* TABLE: WORDS => ANSWER */
        char *words = strchr(fields[0], ':');
        *words++ = '\0';
        char *text = text_of(fields[0], "");
        check_answer(test, text, words, fields[1]);
        free(text);
        return;
    }
    char *cover = changed_cover(fields[0], fields[1]);
    if (test->count == 4) {
        check_answer(test, cover, fields[2], fields[3]);
        free(cover);
        return;
    }
    char *text = text_of("versions", cover);
    struct tuned_table *table;
    struct tuned_error error;
    assert_int_equal(tuned_load_text(&table, "x.ini", text, strlen(text), &error), 0);
    case_assert_text(test, error.message, fields[2]);
    assert_int_equal(tuned_count(table), 2); /* the others */
    tuned_free(table);
    free(text);
    free(cover);
}

UNIT_TEST(test_what_is_found_and_why)
{
    cases_run(CASES, check_case, NULL);
}

static struct tuned_match find(const struct tuned_table *table, const char *words,
                               struct question *question)
{
    struct tuned_match match;
    ask(question, words);
    assert_int_equal(tuned_find(table, &question->query, &match), 0);
    return match;
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(scratch_write(path, text), 0);
}

static const char template_text[] =
    "[kernel]\nsource = sum.cu\nconstraint = block_size > 1 and\n    block_size < 2000\n"
    "[parameters]\nblock_size = 2^8 ; threads\nscale = 0.5\n"
    "finish = two_pass | atomic |\n    last_block\n"
    "[launch_parameters]\nwaves = 3\n[problem]\nn = 2^20\ntype = float | double\n"
    "[launch.sum]\nentry = sum\nblock = block_size\n";

UNIT_TEST_WITH(test_defaults_of_the_template, scratch_enter, scratch_leave)
{
    struct tuned_table *table = load("zoo");
    struct question question;
    write_text("sum.ini", template_text);
    assert_int_equal(tuned_add_template(table, "sum.ini", NULL), 0);
    struct tuned_match match = find(table, "n=1024 type=double gpu=Omega/120/1/1/1", &question);
    assert_int_equal(match.rule, TUNED_DEFAULTS);
    assert_int_equal(match.parameter_count, 4);
    assert_int_equal(tuned_integer_of(&match, "block_size", 0), 256);
    assert_true(fabs(tuned_real_of(&match, "scale", 0) - 0.5) <= 0);
    assert_string_equal(tuned_word_of(&match, "finish", ""), "two_pass");
    assert_int_equal(tuned_integer_of(&match, "waves", 0), 3);
    assert_int_equal(tuned_integer_of(&match, "finish", 7), 7); /* of another kind */
    question.query.limit = TUNED_SAME_FAMILY;
    assert_int_equal(tuned_find(table, &question.query, &match), TUNED_NOT_FOUND);
    tuned_free(table);
}

UNIT_TEST_WITH(test_a_value_left_out_is_the_default_where_that_is_known, scratch_enter,
               scratch_leave)
{
    struct tuned_table *table = load("zoo");
    struct question question;
    struct tuned_match match = find(table, "n=1024", &question);
    assert_string_equal(match.from->section, "sum 00000001");
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE); /* the type may be another */
    write_text("sum.ini", "[problem]\nn = 1\ntype = double | float\n");
    assert_int_equal(tuned_add_template(table, "sum.ini", NULL), 0);
    match = find(table, "n=1024", &question);
    assert_string_equal(match.from->section, "sum 00000003");
    assert_int_equal(match.rule, TUNED_EXACT);
    tuned_free(table);
}

UNIT_TEST(test_questions_that_are_none)
{
    struct tuned_table *table = load("zoo");
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

/* What is defined for the answer: the definitions, separated by blanks. */
static void assert_defined(const struct tuned_table *table, const char *words, const char *expected)
{
    struct question question;
    struct tuned_match match = find(table, words, &question);
    struct tuned_definitions definitions;
    char text[256] = "";
    assert_int_equal(tuned_define(table, &question.query, &match, &definitions), 0);
    for (size_t i = 0; i < definitions.count; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                       definitions.items[i]);
    assert_string_equal(text, expected);
    question.problem[0] = tuned_word("type", "x -I/"); /* never another option */
    question.query.problem_count = 1;
    assert_int_equal(tuned_define(table, &question.query, &match, &definitions), TUNED_INVALID);
}

UNIT_TEST_WITH(test_definitions, scratch_enter, scratch_leave)
{
    struct tuned_table *table = load("zoo");
    assert_defined(table, "n=5 type=double", "-DBLOCK_SIZE=3 -DTYPE=TYPE_DOUBLE");
    write_text("sum.ini", template_text);
    assert_int_equal(tuned_add_template(table, "sum.ini", NULL), 0);
#define DEFAULTS "-DBLOCK_SIZE=256 -DSCALE=0.5 -DFINISH=FINISH_TWO_PASS -DWAVES=3 "
    assert_defined(table, "n=5 type=double gpu=Omega/120/1/1/1", DEFAULTS "-DTYPE=TYPE_DOUBLE");
    assert_defined(table, "n=5 gpu=Omega/120/1/1/1", DEFAULTS "-DTYPE=TYPE_FLOAT");
    tuned_free(table);
}

UNIT_TEST(test_real_numbers_stay_real)
{
    struct tuned_table *table =
        load_text("[a 1]\nkernel = a\ntemplate = a\ntemplate_hash = x\ngpu = G\n"
                  "compute_capability = 80\nparameter.half = 0.5\nparameter.two = 2.0\n"
                  "parameter.tiny = 1e-300\nparameter.low = -4\nparameter.wide = 1E5\n");
    struct question question;
    struct tuned_match match = find(table, "kernel=a", &question);
    assert_int_equal(tuned_parameter(&match, "two")->kind, TUNED_REAL);
    assert_int_equal(tuned_parameter(&match, "low")->kind, TUNED_INTEGER);
    assert_true(fabs(tuned_real_of(&match, "half", 0) - 0.5) <= 0);
    assert_true(fabs(tuned_real_of(&match, "tiny", 0) - 1e-300) <= 0);
    assert_true(fabs(tuned_real_of(&match, "low", 0) + 4) <= 0);
    assert_defined(table, "kernel=a", "-DHALF=0.5 -DTWO=2.0 -DTINY=1e-300 -DLOW=-4 -DWIDE=1E5");
    tuned_free(table);
}

UNIT_TEST(test_numbers_read_the_same_in_any_locale)
{
    if (!comma_locale_enter())
        skip();
    test_real_numbers_stay_real(state);
    comma_locale_leave();
}

UNIT_TEST(test_an_explanation_that_does_not_fit_is_cut)
{
    struct tuned_table *table = load("zoo");
    struct question question;
    struct tuned_match match = find(table, "n=4096 type=float", &question);
    char text[256];
    char cut[10];
    size_t length = tuned_explain(&question.query, &match, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_int_equal(tuned_explain(&question.query, &match, cut, sizeof cut), length);
    assert_string_equal(cut, "sum for n");
    assert_int_equal(tuned_explain(&question.query, &match, NULL, 0), length);
    tuned_free(table);
}

UNIT_TEST_WITH(test_bundle, scratch_enter, scratch_leave)
{
    struct tuned_table *table;
    struct tuned_error error;
    struct question question;
    char path[64];
    assert_int_equal(system("mkdir -p b/templates"), 0);
    char *zoo = text_of("zoo", "");
    write_text("b/tuned.ini", zoo);
    free(zoo);
    assert_int_equal(tuned_load(&table, "b", &error), TUNED_BAD_FILE);
    assert_null(table);
    assert_string_equal(error.file, "b/templates/sum.ini");
    write_text("b/templates/sum.ini", template_text);
    assert_int_equal(tuned_load(&table, "b", &error), 0);
    struct tuned_match match = find(table, "n=1024 type=float gpu=Max/89/80/500/0", &question);
    assert_int_equal(tuned_cubin_path(table, &question.query, &match, path, sizeof path), 0);
    assert_string_equal(path, "b/cubin/sum-00000005.cubin");
    assert_int_equal(tuned_cubin_path(table, &question.query, &match, path, 10), TUNED_INVALID);
    /* code for 8.6 does not run there */
    match = find(table, "n=1024 type=float gpu=Max/85/80/500/0 limit=family", &question);
    assert_string_equal(match.from->section, "sum 00000005");
    assert_int_equal(tuned_cubin_path(table, &question.query, &match, path, sizeof path),
                     TUNED_NOT_FOUND);
    tuned_free(table);
    table = load("zoo"); /* no bundle */
    match = find(table, "n=1024 type=float", &question);
    assert_int_equal(tuned_cubin_path(table, &question.query, &match, path, sizeof path),
                     TUNED_NOT_FOUND);
    tuned_free(table);
}

UNIT_TEST(test_no_context_is_an_error)
{
    struct tuned_gpu gpu = {.sm_count = 7};
    struct tuned_error error;
    int device = -1;
    assert_int_equal(tuned_gpu_current(&gpu, &device, &error), TUNED_NO_GPU);
    assert_true(strlen(error.message) > 0);
    assert_int_equal(gpu.sm_count, 0);
    assert_int_equal(device, -1);
}

UNIT_TEST(test_what_a_cover_says_of_itself)
{
    struct tuned_table *table = load_text(COVER);
    struct question question;
    assert_int_equal(tuned_count(table), 2);
    struct tuned_match match = find(table, "n=8192 type=float", &question);
    const struct tuned_cover *cover = match.from->cover;
    assert_ptr_equal(cover, tuned_at(table, 1)->cover);
    assert_int_equal(cover->count, 2);
    assert_string_equal(cover->configurations[1].parameters[1].text, "two_pass");
    assert_int_equal(cover->range_count, 1);
    assert_string_equal(cover->ranges[0].name, "n");
    assert_true(cover->ranges[0].low >= 1024 && cover->ranges[0].high <= 1048576);
    assert_null(cover->constraint);
    assert_true(fabs(cover->worst_loss_percent - 2.25) < 1e-9);
    assert_int_equal(cover->held_out_sizes, 7);
    assert_int_equal(cover->size_count, 3);
    assert_int_equal(cover->sizes[2].fastest, 1);
    assert_true(fabs(cover->sizes[1].times_ns[0] - 3000.5) < 1e-9);
    assert_true(fabs(cover->sizes[1].times_ns[1] - 3600) < 1e-9);
    assert_int_equal(match.from->number, 1);
    assert_false(match.outside);
    assert_ptr_equal(match.size, &cover->sizes[0]);
    assert_ptr_equal(find(table, "n=8400 type=float", &question).size, &cover->sizes[1]);
    match = find(table, "n=1048577 type=float", &question);
    assert_true(match.outside);
    assert_ptr_equal(match.size, &cover->sizes[2]);
    assert_true(match.size_distance > 0 && match.size_distance < 1e-5);
    assert_ptr_equal(find(table, "n=inf", &question).size, &cover->sizes[2]);
    tuned_free(table);
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
UNIT_TEST(test_a_lookup_is_much_faster_than_comparing_all)
{
    enum { ATTEMPTS = 100 }; /* short ones, between interruptions */
    char *text = many();
    struct tuned_table *table = load_text(text);
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

UNIT_TEST(test_threads_share_a_table)
{
    char *text = many();
    struct tuned_table *table = load_text(text);
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

/* 256 sizes of two values, six configurations and two constraints. */
static char *large_cover(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    fputs(COVER_TOP COVER_RANGE
          "range.rows = 1 .. 4096\nallowed.1 = n % 64 == 0 or block_size < 512\n"
          "allowed.2 = rows * block_size <= 2^24\n",
          stream);
    for (int i = 1; i <= 6; i++)
        fprintf(stream, "configuration.%d.block_size = %d\n", i, 32 << i);
    for (int i = 0; i < 256; i++)
        fprintf(stream, "measured.%d = n=%d rows=%d: %d %d %d 5 6 7 us\n", i + 1, 1024 << i % 10,
                1 + i * 16, 2 + i % 3, 2 + i % 5, 2 + i % 7);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* 5 µs are promised. Fails if a look-up takes as long as many comparisons of strings, which show how fast this
 * machine is. */
UNIT_TEST(test_a_large_cover_answers_quickly)
{
    enum { ROUNDS = 100, ATTEMPTS = 50, STRINGS = 1000 };
    char *text = large_cover();
    struct tuned_table *table = load_text(text);
    double lookup_us = INFINITY;
    double strings_us = INFINITY;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double start = now_us();
        for (int round = 0; round < ROUNDS; round++) {
            const struct tuned_value problem[] = {tuned_integer("n", 2000 + round),
                                                  tuned_integer("rows", 3000 - 20 * round),
                                                  tuned_word("type", "float")};
            const struct tuned_query query = {
                .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 3};
            struct tuned_match match;
            assert_int_equal(tuned_find(table, &query, &match), 0);
        }
        lookup_us = fmin(lookup_us, (now_us() - start) / ROUNDS);
        volatile int sum = 0;
        start = now_us();
        for (int i = 0; i < STRINGS; i++)
            sum += strcmp(text + i, text + i / 2) > 0;
        strings_us = fmin(strings_us, now_us() - start);
    }
    print_message("look-up: %.2f us; %d strings: %.2f us\n", lookup_us, STRINGS, strings_us);
    assert_true(lookup_us < 4 * strings_us);
    tuned_free(table);
    free(text);
}
