/* What buffers begin with. The numbers are those that device_kernels.cu's autotune_fill gives. */
#include "template/fill.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { COUNT = 4 };

struct bytes {
    unsigned char at[8 * COUNT];
};

/* Fills elements as `kind(arguments…)` of a buffer says; a NULL is no argument. */
static void fill_with(enum fill_kind kind, const char *buffer, const char *const arguments[3],
                      enum element_type type, size_t length, void *elements)
{
    struct fill fill = {.kind = kind, .buffer = buffer};
    struct bindings none = {0};
    const struct scope scope = {&none, NULL};
    struct error error;
    for (; fill.argument_count < 3 && arguments[fill.argument_count] != NULL; fill.argument_count++)
        assert_int_equal(expression_new(&fill.arguments[fill.argument_count],
                                        arguments[fill.argument_count], "x.ini", 1, &error),
                         0);
    assert_int_equal(fill_elements(&fill, &scope, type, length, elements, &error), 0);
    while (fill.argument_count > 0)
        expression_free(fill.arguments[--fill.argument_count]);
}

static struct bytes filled(enum fill_kind kind, const char *const arguments[3],
                           enum element_type type)
{
    struct bytes bytes;
    memset(&bytes, 0x11, sizeof bytes);
    fill_with(kind, "in", arguments, type, COUNT, bytes.at);
    /* not one byte more */
    for (size_t i = element_bytes(type) * COUNT; i < sizeof bytes.at; i++)
        assert_int_equal(bytes.at[i], 0x11);
    return bytes;
}

#define FILLED(kind, type, expected, ...)                                                          \
    do {                                                                                           \
        const char *const arguments[3] = {__VA_ARGS__};                                            \
        struct bytes bytes = filled(kind, arguments, type);                                        \
        assert_int_equal(sizeof expected, element_bytes(type) * COUNT);                            \
        assert_memory_equal(bytes.at, expected, sizeof expected);                                  \
    } while (0)

UNIT_TEST(test_random_numbers_are_the_gpus)
{
    static const double wide[COUNT] = {-0x1.1714036630d58p-3, -0x1.e3e84dbb54148p-2,
                                       0x1.4a2741a66052p-3, 0x1.3529d93d23bep-4};
    static const uint16_t half[COUNT] = {0xb05c, 0xb790, 0x3129, 0x2cd5};
    static const uint16_t bfloat16[COUNT] = {0xbe0c, 0xbef2, 0x3e25, 0x3d9b};
    static const int32_t whole[COUNT] = {-6, -3, 3, 2};
    static const float floating[COUNT] = {-6, -3, 3, 2};
    FILLED(FILL_UNIFORM, ELEMENT_DOUBLE, wide, "-1", "1", "7");
    FILLED(FILL_UNIFORM, ELEMENT_HALF, half, "-1", "1", "7");
    FILLED(FILL_UNIFORM, ELEMENT_BFLOAT16, bfloat16, "-1", "1", "7");
    FILLED(FILL_INTEGERS, ELEMENT_INT32, whole, "-8", "8");
    FILLED(FILL_INTEGERS, ELEMENT_FLOAT, floating, "-8", "8");
}

UNIT_TEST(test_infinities_and_nan_are_constants)
{
    const struct fill fills[] = {{.kind = FILL_CONSTANT, .buffer = "in", .special = -INFINITY},
                                 {.kind = FILL_CONSTANT, .buffer = "in", .special = NAN}};
    static const uint16_t half[2][2] = {{0xfc00, 0xfc00}, {0x7e00, 0x7e00}};
    static const uint16_t bfloat16[2][2] = {{0xff80, 0xff80}, {0x7fc0, 0x7fc0}};
    for (size_t i = 0; i < 2; i++) {
        uint16_t elements[2];
        assert_int_equal(fill_elements(&fills[i], NULL, ELEMENT_HALF, 2, elements, NULL), 0);
        assert_memory_equal(elements, half[i], sizeof elements);
        assert_int_equal(fill_elements(&fills[i], NULL, ELEMENT_BFLOAT16, 2, elements, NULL), 0);
        assert_memory_equal(elements, bfloat16[i], sizeof elements);
    }
}

UNIT_TEST(test_normal_numbers_are_the_gpus)
{
    static const double wide[COUNT] = {0x1.e132120000000p+3, 0x1.accace0000000p+3,
                                       0x1.35c5ec0000000p+3, 0x1.5a7c900000000p+3};
    FILLED(FILL_NORMAL, ELEMENT_DOUBLE, wide, "10", "2", "7");
}

UNIT_TEST(test_normal_numbers_have_their_mean_and_deviation)
{
    enum { MANY = 100000 };
    static double numbers[MANY];
    static const char *const arguments[3] = {"3", "0.5"};
    double sum = 0;
    double squares = 0;
    size_t within = 0;
    fill_with(FILL_NORMAL, "in", arguments, ELEMENT_DOUBLE, MANY, numbers);
    for (size_t i = 0; i < MANY; i++) {
        double deviations = (numbers[i] - 3) / 0.5;
        sum += deviations;
        squares += deviations * deviations;
        within += deviations > -1 && deviations < 1;
    }
    assert_true(sum / MANY > -0.01 && sum / MANY < 0.01);
    assert_true(squares / MANY > 0.98 && squares / MANY < 1.02);
    assert_true(within > 0.67 * MANY && within < 0.69 * MANY); /* 68.3 % */
}

enum { MANY_MORE = (1 << 20) + 4096 };

static int order_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A kernel that reads one buffer in place of another, at whatever offset, must be found out. */
UNIT_TEST(test_no_two_buffers_have_numbers_in_common)
{
    static double sets[4][MANY_MORE];
    static const char *const seeds[4] = {NULL, NULL, "1", "2"};
    static const char *const buffers[4] = {"a", "b", "c", "c"};
    for (size_t i = 0; i < 4; i++) {
        const char *const arguments[3] = {"-1", "1", seeds[i]};
        fill_with(FILL_UNIFORM, buffers[i], arguments, ELEMENT_DOUBLE, MANY_MORE, sets[i]);
        qsort(sets[i], MANY_MORE, sizeof *sets[i], order_doubles);
    }
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < i; j++) {
            size_t common = 0;
            for (size_t k = 0; k < MANY_MORE; k++)
                common += bsearch(&sets[i][k], sets[j], MANY_MORE, sizeof *sets[j],
                                  order_doubles) != NULL;
            if (common > 8) /* of 2^53 numbers, a million in each */
                fail_msg("buffers %zu and %zu have %zu numbers in common", i, j, common);
        }
}

UNIT_TEST(test_a_stated_seed_gives_the_same_numbers_in_every_buffer)
{
    static const char *const arguments[3] = {"-1", "1", "7"};
    double a[COUNT];
    double b[COUNT];
    fill_with(FILL_UNIFORM, "a", arguments, ELEMENT_DOUBLE, COUNT, a);
    fill_with(FILL_UNIFORM, "b", arguments, ELEMENT_DOUBLE, COUNT, b);
    assert_memory_equal(a, b, sizeof a);
}

UNIT_TEST(test_every_data_set_has_numbers_of_its_own)
{
    struct fill fill = {.kind = FILL_UNIFORM, .buffer = "in", .argument_count = 2};
    struct bindings none = {0};
    const struct scope scope = {&none, NULL};
    struct fill_numbers usual;
    struct fill_numbers other;
    struct error error;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(expression_new(&fill.arguments[i], "1", "x.ini", 1, &error), 0);
    for (uint64_t set = 0; set < 2; set++)
        assert_int_equal(fill_read_numbers(&fill, ELEMENT_FLOAT, set, &scope,
                                           set == FILL_USUAL_DATA ? &usual : &other, &error),
                         0);
    assert_true(usual.key != other.key);
    expression_free(fill.arguments[0]);
    expression_free(fill.arguments[1]);
}

/* Rounding to the type must not reach the end of the range. */
UNIT_TEST(test_uniform_never_yields_its_end)
{
    static uint16_t half[MANY_MORE];
    static float single[MANY_MORE];
    static int32_t whole[MANY_MORE];
    static const char *const unit[3] = {"0", "1"};
    static const char *const high[3] = {"1", "1 + 2.0^-20"}; /* eight steps of float */
    static const char *const negative[3] = {"-3", "-1"};
    fill_with(FILL_UNIFORM, "in", unit, ELEMENT_HALF, MANY_MORE, half);
    for (size_t i = 0; i < MANY_MORE; i++)
        assert_true(half[i] < 0x3c00);
    fill_with(FILL_UNIFORM, "in", unit, ELEMENT_BFLOAT16, MANY_MORE, half);
    for (size_t i = 0; i < MANY_MORE; i++)
        assert_true(half[i] < 0x3f80);
    fill_with(FILL_UNIFORM, "in", high, ELEMENT_FLOAT, MANY_MORE, single);
    for (size_t i = 0; i < MANY_MORE; i++)
        assert_true(single[i] >= 1 && single[i] < 1 + 0x1p-20F);
    fill_with(FILL_UNIFORM, "in", negative, ELEMENT_INT32, MANY_MORE, whole);
    for (size_t i = 0; i < MANY_MORE; i++)
        assert_true(whole[i] >= -3 && whole[i] < -1);
}

/* A double cannot hold these. */
UNIT_TEST(test_integers_of_64_bits_are_exact)
{
    static const int64_t odd[COUNT] = {9007199254740993, 9007199254740993, 9007199254740993,
                                       9007199254740993};
    static const uint64_t counting[COUNT] = {9007199254740993, 9007199254740995, 9007199254740997,
                                             9007199254740999};
    const char *const range[3] = {"2^62 + 1", "2^62 + 3"};
    FILLED(FILL_CONSTANT, ELEMENT_INT64, odd, "2^53 + 1");
    FILLED(FILL_COUNTING, ELEMENT_UINT64, counting, "2^53 + 1", "2");
    struct bytes bytes = filled(FILL_INTEGERS, range, ELEMENT_INT64);
    for (size_t i = 0; i < COUNT; i++) {
        int64_t number;
        memcpy(&number, bytes.at + i * sizeof number, sizeof number);
        assert_in_range(number, (INT64_C(1) << 62) + 1, (INT64_C(1) << 62) + 3);
    }
}

UNIT_TEST(test_whole_numbers_wrap)
{
    static const uint8_t counting[COUNT] = {250, 253, 0, 3};
    static const uint32_t minus_one[COUNT] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    static const uint64_t large[COUNT] = {1ull << 63, 1ull << 63, 1ull << 63, 1ull << 63};
    static const int64_t held[COUNT] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    static const int16_t zero[COUNT] = {0};
    FILLED(FILL_COUNTING, ELEMENT_UINT8, counting, "250", "3");
    FILLED(FILL_CONSTANT, ELEMENT_UINT32, minus_one, "-1");
    FILLED(FILL_CONSTANT, ELEMENT_UINT64, large, "2.0^63");
    FILLED(FILL_CONSTANT, ELEMENT_INT64, held, "2.0^70");
    FILLED(FILL_CONSTANT, ELEMENT_INT16, zero, "0");
}

UNIT_TEST(test_without_a_fill_it_is_poison)
{
    static const uint32_t poison[COUNT] = {0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5};
    FILLED(FILL_NONE, ELEMENT_UINT32, poison, NULL);
}

/* A .npy of four whole numbers of 16 bits, 1 to 4. */
static void write_npy(const char *path)
{
    static const char header[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }";
    static const int16_t data[COUNT] = {1, 2, 3, 4};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    (void)fputc(sizeof header - 1, file);
    (void)fputc(0, file);
    (void)fputs(header, file);
    (void)fwrite(data, 1, sizeof data, file);
    assert_int_equal(fclose(file), 0);
}

UNIT_TEST_WITH(test_files, scratch_enter, scratch_leave)
{
    static const int16_t expected[COUNT] = {1, 2, 3, 4};
    char path[] = "four.npy";
    struct fill fill = {.kind = FILL_FILE, .path = path};
    struct error error;
    int16_t elements[COUNT];
    write_npy(path);
    assert_int_equal(fill_elements(&fill, NULL, ELEMENT_INT16, COUNT, elements, &error), 0);
    assert_memory_equal(elements, expected, sizeof expected);
    assert_int_equal(fill_elements(&fill, NULL, ELEMENT_INT16, COUNT - 1, elements, &error),
                     ERROR_CONFIG);
    assert_non_null(strstr(error.message, "4 elements of type int16"));
    assert_int_equal(fill_elements(&fill, NULL, ELEMENT_HALF, COUNT, elements, &error),
                     ERROR_CONFIG);
    path[0] = 'x';
    assert_int_equal(fill_elements(&fill, NULL, ELEMENT_INT16, COUNT, elements, &error),
                     ERROR_CONFIG);
}

/* A 2 x 2 shape is all border; of 4 elements in a row two are. */
UNIT_TEST(test_borders_are_zero)
{
    static const float row[COUNT] = {0, 7, 7, 0};
    static const float square[COUNT] = {0};
    static const char *const shapes[][2] = {{NULL, NULL}, {"2", "2"}};
    struct bindings none = {0};
    const struct scope scope = {&none, NULL};
    for (size_t i = 0; i < 2; i++) {
        struct fill fill = {.kind = FILL_CONSTANT, .buffer = "in", .argument_count = 1};
        struct error error;
        float elements[COUNT];
        assert_int_equal(expression_new(&fill.arguments[0], "7", "x.ini", 1, &error), 0);
        assert_int_equal(expression_new(&fill.border, "1", "x.ini", 1, &error), 0);
        for (; fill.shape_count < 2 && shapes[i][fill.shape_count] != NULL; fill.shape_count++)
            assert_int_equal(expression_new(&fill.shape[fill.shape_count],
                                            shapes[i][fill.shape_count], "x.ini", 1, &error),
                             0);
        assert_int_equal(fill_elements(&fill, &scope, ELEMENT_FLOAT, COUNT, elements, &error), 0);
        assert_memory_equal(elements, i == 0 ? row : square, sizeof elements);
        expression_free(fill.arguments[0]);
        expression_free(fill.border);
        expression_free(fill.shape[0]);
        expression_free(fill.shape[1]);
    }
}

/* Its contents are not read. Whoever copies a file may keep its date, but not hide that it is another one. */
UNIT_TEST_WITH(test_a_large_file_with_its_old_date_is_another_one, scratch_enter, scratch_leave)
{
    struct buffer buffer = {.fill = {.kind = FILL_FILE, .path = (char *)"large.npy"}};
    const struct template template = {.buffers = &buffer, .buffer_count = 1};
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000}};
    char before[HASH_BYTES] = "";
    char after[HASH_BYTES];
    for (size_t i = 0; i < 3; i++) {
        if (i != 1) {
            (void)scratch_write("large.npy", i == 0 ? "one" : "two");
            assert_int_equal(truncate("large.npy", (256 << 20) + 1), 0);
            assert_int_equal(utimensat(AT_FDCWD, "large.npy", times, 0), 0);
        }
        json_decref(fill_list_files(&template, after));
        assert_int_equal(strcmp(before, after) == 0, i == 1);
        memcpy(before, after, sizeof before);
    }
}

/* On another machine, a hash is what a copy is found by. */
UNIT_TEST_WITH(test_two_large_files_of_one_date_are_two, scratch_enter, scratch_leave)
{
    static const char *const paths[] = {"a.npy", "b.npy"};
    struct buffer buffers[] = {{.fill = {.kind = FILL_FILE, .path = (char *)"a.npy"}},
                               {.fill = {.kind = FILL_FILE, .path = (char *)"b.npy"}}};
    const struct template template = {.buffers = buffers, .buffer_count = 2};
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000}};
    char digits[HASH_BYTES];
    for (size_t i = 0; i < 2; i++) {
        (void)scratch_write(paths[i], paths[i]);
        assert_int_equal(truncate(paths[i], (256 << 20) + 1), 0);
        assert_int_equal(utimensat(AT_FDCWD, paths[i], times, 0), 0);
    }
    json_t *hashes = fill_list_files(&template, digits);
    assert_string_not_equal(json_string_value(json_object_get(hashes, "a.npy")),
                            json_string_value(json_object_get(hashes, "b.npy")));
    json_decref(hashes);
}
