#include "template/element.h"

#include "unit/test.h"

#include <float.h>
#include <limits.h>
#include <math.h>

UNIT_TEST(types)
{
    static const struct {
        const char *name;
        size_t bytes;
        bool floating;
    } cases[] = {
        {"int8", 1, false},  {"int16", 2, false},   {"int32", 4, false},  {"int64", 8, false},
        {"uint8", 1, false}, {"uint16", 2, false},  {"uint32", 4, false}, {"uint64", 8, false},
        {"half", 2, true},   {"bfloat16", 2, true}, {"float", 4, true},   {"double", 8, true},
    };
    assert_int_equal(ELEMENT_TYPE_COUNT, sizeof cases / sizeof *cases);
    for (int i = 0; i < ELEMENT_TYPE_COUNT; i++) {
        enum element_type type = (enum element_type)i;
        assert_string_equal(element_name(type), cases[i].name);
        assert_string_equal(element_names()[i], cases[i].name);
        assert_int_equal(element_bytes(type), cases[i].bytes);
        assert_int_equal(element_is_floating(type), cases[i].floating);
        assert_int_equal(element_from_name(cases[i].name, strlen(cases[i].name)), i);
        assert_int_equal(element_poison(type), cases[i].floating ? 0xff : 0xa5);
    }
    assert_null(element_names()[ELEMENT_TYPE_COUNT]);
}

UNIT_TEST(names_count_to_their_length)
{
    assert_int_equal(element_from_name("int32 x", 5), ELEMENT_INT32);
    assert_int_equal(element_from_name("int32", 4), -1);
    assert_int_equal(element_from_name("int3", 4), -1);
    assert_int_equal(element_from_name("float32", 7), -1);
    assert_int_equal(element_from_name("", 0), -1);
}

UNIT_TEST(poison_is_no_number)
{
    float single;
    double real;
    memset(&single, element_poison(ELEMENT_FLOAT), sizeof single);
    memset(&real, element_poison(ELEMENT_DOUBLE), sizeof real);
    assert_true(isnan(single));
    assert_true(isnan(real));
}

/* For a maximum or a minimum taken with what stood there; not in bytes, for which both are frequent answers. */
UNIT_TEST(poison_is_small_or_large)
{
    unsigned small;
    int negative;
    float number;
    memset(&small, element_poison_of(ELEMENT_UINT32, POISON_SMALL), sizeof small);
    memset(&negative, element_poison_of(ELEMENT_INT32, POISON_SMALL), sizeof negative);
    assert_int_equal(small, 0);
    assert_true(negative < -1000000);
    memset(&number, element_poison_of(ELEMENT_FLOAT, POISON_SMALL), sizeof number);
    assert_true(number < -1e30F);
    memset(&number, element_poison_of(ELEMENT_FLOAT, POISON_LARGE), sizeof number);
    assert_true(number > 1e30F);
    assert_int_equal(element_poison_of(ELEMENT_INT8, POISON_SMALL), element_poison(ELEMENT_INT8));
    assert_int_equal(element_poison_of(ELEMENT_UINT8, POISON_LARGE), element_poison(ELEMENT_UINT8));
}

UNIT_TEST(integers_fit_or_are_refused)
{
    static const struct {
        enum element_type type;
        long long least, most;
    } cases[] = {
        {ELEMENT_INT8, -128, 127},
        {ELEMENT_INT16, -32768, 32767},
        {ELEMENT_INT32, -2147483648LL, 2147483647},
        {ELEMENT_INT64, INT64_MIN, INT64_MAX},
        {ELEMENT_UINT8, 0, 255},
        {ELEMENT_UINT16, 0, 65535},
        {ELEMENT_UINT32, 0, 4294967295LL},
        {ELEMENT_UINT64, 0, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = element_bytes(cases[i].type);
        const long long limits[] = {cases[i].least, cases[i].most};
        for (int j = 0; j < 2; j++) {
            unsigned char slot[9];
            memset(slot, 0x77, sizeof slot);
            assert_true(element_store(cases[i].type, limits[j], 0, slot));
            assert_memory_equal(slot, &limits[j], bytes); /* little-endian */
            assert_int_equal(slot[bytes], 0x77);
        }
        unsigned char slot[8] = {0};
        if (cases[i].least != INT64_MIN)
            assert_false(element_store(cases[i].type, cases[i].least - 1, 0, slot));
        if (cases[i].most != INT64_MAX)
            assert_false(element_store(cases[i].type, cases[i].most + 1, 0, slot));
        assert_int_equal(slot[0], 0);
    }
}

UNIT_TEST(floats_and_doubles)
{
    float single;
    double real;
    assert_true(element_store(ELEMENT_FLOAT, 7, 0.1, &single));
    assert_memory_equal(&single, &(float){0.1F}, sizeof single);
    assert_true(element_store(ELEMENT_DOUBLE, 7, 0.1, &real));
    assert_memory_equal(&real, &(double){0.1}, sizeof real);
    assert_true(element_store(ELEMENT_FLOAT, 0, 1e300, &single));
    assert_true(isinf(single));
}

static uint16_t stored(enum element_type type, double real)
{
    uint16_t bits = 0x1234;
    assert_true(element_store(type, 0, real, &bits));
    return bits;
}

/* The rest is in every_half() and every_bfloat16(). */
UNIT_TEST(what_is_beyond_the_finite_numbers)
{
    static const struct {
        double real;
        uint16_t half, bfloat16;
    } cases[] = {
        {HUGE_VAL, 0x7c00, 0x7f80},     {-HUGE_VAL, 0xfc00, 0xff80}, {1e300, 0x7c00, 0x7f80},
        {0.0, 0x0000, 0x0000},          {-0.0, 0x8000, 0x8000},      {-1e-300, 0x8000, 0x8000},
        {DBL_TRUE_MIN, 0x0000, 0x0000}, {1.0 / 3.0, 0x3555, 0x3eab},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(stored(ELEMENT_HALF, cases[i].real), cases[i].half);
        assert_int_equal(stored(ELEMENT_BFLOAT16, cases[i].real), cases[i].bfloat16);
    }
    uint16_t half = stored(ELEMENT_HALF, (double)NAN);
    uint16_t bfloat16 = stored(ELEMENT_BFLOAT16, (double)NAN);
    assert_true((half & 0x7c00) == 0x7c00 && (half & 0x03ff) != 0);
    assert_true((bfloat16 & 0x7f80) == 0x7f80 && (bfloat16 & 0x007f) != 0);
    assert_int_equal(stored(ELEMENT_HALF, 65519.999), 0x7bff); /* the largest is 65504 */
    assert_int_equal(stored(ELEMENT_HALF, 65520.0), 0x7c00);   /* rounds to infinity */
    assert_int_equal(stored(ELEMENT_BFLOAT16, 0x1.fefffp127), 0x7f7f);
    assert_int_equal(stored(ELEMENT_BFLOAT16, 0x1.ffp127), 0x7f80);
    /* above and below a tie, which a float would be on */
    assert_int_equal(stored(ELEMENT_BFLOAT16, 1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
    assert_int_equal(stored(ELEMENT_BFLOAT16, 1.0 + 0x3p-8 - 0x1p-40), 0x3f81);
}

static double half_value(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31);
    int fraction = (int)(bits & 1023);
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
}

static double bfloat16_value(unsigned bits)
{
    float single;
    memcpy(&single, &(uint32_t){bits << 16}, sizeof single);
    return (double)single;
}

/* Every finite number stores as itself, and every midpoint of two neighbours as the even one. */
static void check_all(enum element_type type, unsigned infinity, double (*value)(unsigned bits))
{
    for (unsigned bits = 0; bits + 1 < infinity; bits++) {
        double low = value(bits);
        double high = value(bits + 1);
        double middle = low + (high - low) / 2;
        unsigned even = bits + (bits & 1);
        assert_int_equal(stored(type, low), bits);
        assert_int_equal(stored(type, -low), bits | 0x8000);
        assert_int_equal(stored(type, middle), even);
        assert_int_equal(stored(type, nextafter(middle, low)), bits);
        assert_int_equal(stored(type, nextafter(middle, high)), bits + 1);
    }
}

UNIT_TEST(every_half)
{
    check_all(ELEMENT_HALF, 0x7c00, half_value);
}

UNIT_TEST(numbers_beyond_a_type_become_infinities)
{
    static const struct {
        enum element_type type;
        double finite, infinite;
    } limits[] = {{ELEMENT_HALF, 65519, 65520},
                  {ELEMENT_BFLOAT16, 3.39e38, -3.4e38},
                  {ELEMENT_FLOAT, -3.4028235e38, 3.5e38}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        unsigned char slot[8];
        assert_true(element_store(limits[i].type, 0, limits[i].finite, slot));
        assert_true(element_is_finite(limits[i].type, slot));
        assert_true(element_store(limits[i].type, 0, limits[i].infinite, slot));
        assert_false(element_is_finite(limits[i].type, slot));
    }
}

UNIT_TEST(every_bfloat16)
{
    check_all(ELEMENT_BFLOAT16, 0x7f80, bfloat16_value);
}

static void assert_text(enum element_type type, uint64_t bits, const char *expected)
{
    char text[ELEMENT_TEXT_BYTES];
    assert_string_equal(element_text(type, &bits, element_digits(type), text), expected);
}

UNIT_TEST(elements_as_text)
{
    assert_text(ELEMENT_INT8, 0x80, "-128");
    assert_text(ELEMENT_UINT8, 0x80, "128");
    assert_text(ELEMENT_INT64, UINT64_MAX, "-1");
    assert_text(ELEMENT_UINT64, UINT64_MAX, "18446744073709551615");
    assert_text(ELEMENT_HALF, 0x3e00, "1.5");
    assert_text(ELEMENT_HALF, 0x8001, "-5.9605e-08");
    assert_text(ELEMENT_HALF, 0x7bff, "65504");
    assert_text(ELEMENT_HALF, 0xfc00, "-inf");
    assert_text(ELEMENT_HALF, 0xffff, "nan");
    assert_text(ELEMENT_BFLOAT16, 0x3fc0, "1.5");
    assert_text(ELEMENT_BFLOAT16, 0x0001, "9.1835e-41");
    assert_text(ELEMENT_FLOAT, 0x3dcccccd, "0.100000001");
    assert_text(ELEMENT_DOUBLE, 0x3fb999999999999a, "0.10000000000000001");
}
