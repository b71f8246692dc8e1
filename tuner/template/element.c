#include "template/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *cpp, *vector;
    size_t bytes;
    bool floating;
} types[] = {
#define X(name, text, cpp, vector, bytes, floating)                                                \
    [ELEMENT_##name] = {text, cpp, vector, bytes, floating},
    ELEMENT_TYPES(X)
#undef X
};

const char *element_name(enum element_type type)
{
    return types[type].name;
}

size_t element_bytes(enum element_type type)
{
    return types[type].bytes;
}

bool element_is_floating(enum element_type type)
{
    return types[type].floating;
}

int element_from_name(const char *name, size_t length)
{
    for (int i = 0; i < ELEMENT_TYPE_COUNT; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return i;
    return -1;
}

int element_of_vector(const char *name, size_t *components)
{
    char word[16]; /* without the digit at its end */
    size_t length = strlen(name);
    if (length < 2 || length > sizeof word)
        return -1;
    const char digit = name[length - 1];
    (void)snprintf(word, sizeof word, "%.*s", (int)length - 1, name);
    for (int i = 0; i < ELEMENT_TYPE_COUNT; i++) {
        bool half = types[i].floating && types[i].bytes == 2;
        bool found = strcmp(word, types[i].vector) == 0 ||
                     (types[i].floating && strcmp(word, types[i].name) == 0);
        *components = (size_t)(digit - '0');
        if (found && digit >= (half ? '2' : '1') && digit <= (half ? '2' : '4'))
            return i;
    }
    return -1;
}

const char *element_cpp_name(enum element_type type)
{
    return types[type].cpp;
}

const char *const *element_names(void)
{
    static const char *const names[] = {
#define X(name, text, cpp, vector, bytes, floating) text,
        ELEMENT_TYPES(X)
#undef X
            NULL};
    return names;
}

unsigned char element_poison(enum element_type type)
{
    return types[type].floating ? 0xff : 0xa5;
}

static bool is_unsigned(enum element_type type)
{
    return type >= ELEMENT_UINT8 && type <= ELEMENT_UINT64;
}

unsigned char element_poison_of(enum element_type type, enum poison poison)
{
    if (poison == POISON_USUAL || element_bytes(type) == 1)
        return element_poison(type);
    return poison == POISON_LARGE ? 0x7b : is_unsigned(type) ? 0x00 : 0xfb;
}

/* A 16-bit floating-point format: sign, exponent, fraction. */
struct narrow {
    int fraction_bits;
    int least_exponent; /* the last bit of a subnormal has the weight 2^least_exponent */
    unsigned infinity;  /* its bit pattern */
};

static const struct narrow half = {10, -24, 0x7c00};
static const struct narrow bfloat16 = {7, -133, 0x7f80};

/* Rounds `number` to nearest, ties to even, in one step; going through float could round twice.
 * Scaling by powers of two is exact, and nearbyint() does the rounding. */
static uint16_t narrow_bits(const struct narrow *format, double number)
{
    unsigned sign = signbit(number) ? 0x8000 : 0;
    unsigned hidden = 1u << format->fraction_bits; /* the implicit leading bit */
    if (isnan(number))
        return (uint16_t)(format->infinity | hidden >> 1);
    if (isinf(number))
        return (uint16_t)(sign | format->infinity);
    int exponent = 0;
    (void)frexp(number, &exponent);
    int unit = exponent - 1 - format->fraction_bits; /* exponent of the last bit's weight */
    unit = unit > format->least_exponent ? unit : format->least_exponent;
    unsigned steps = (unsigned)nearbyint(ldexp(fabs(number), -unit));
    /* steps < hidden only if the result is subnormal; a carry increments the exponent */
    unsigned bits =
        steps < hidden
            ? steps
            : ((unsigned)(unit - format->least_exponent) << format->fraction_bits) + steps;
    return (uint16_t)(sign | (bits < format->infinity ? bits : format->infinity));
}

static double narrow_number(const struct narrow *format, unsigned bits)
{
    unsigned hidden = 1u << format->fraction_bits;
    unsigned magnitude = bits & 0x7fff;
    unsigned fraction = magnitude & (hidden - 1);
    int exponent = (int)(magnitude >> format->fraction_bits);
    double number = exponent == 0 ? ldexp(fraction, format->least_exponent)
                                  : ldexp(fraction + hidden, format->least_exponent + exponent - 1);
    if (magnitude >= format->infinity)
        number = magnitude > format->infinity ? (double)NAN : (double)INFINITY;
    return bits & 0x8000 ? -number : number;
}

/* Whether what the type has no bits for is all zeros or, of a negative number, ones. */
static bool integer_fits(enum element_type type, long long integer)
{
    int bits = 8 * (int)types[type].bytes;
    if (is_unsigned(type))
        return integer >= 0 && (bits == 64 || integer >> bits == 0);
    return integer >> (bits - 1) == 0 || integer >> (bits - 1) == -1;
}

bool element_store(enum element_type type, long long integer, double real, void *slot)
{
    float single = (float)real;
    uint16_t bits = 0;
    switch (type) {
    case ELEMENT_DOUBLE:
        memcpy(slot, &real, sizeof real);
        return true;
    case ELEMENT_FLOAT:
        memcpy(slot, &single, sizeof single);
        return true;
    case ELEMENT_HALF:
    case ELEMENT_BFLOAT16:
        bits = narrow_bits(type == ELEMENT_HALF ? &half : &bfloat16, real);
        memcpy(slot, &bits, sizeof bits);
        return true;
    default:
        if (!integer_fits(type, integer))
            return false;
        memcpy(slot, &integer, types[type].bytes); /* CUDA hosts are little-endian */
        return true;
    }
}

double element_real(enum element_type type, const void *slot)
{
    double real;
    float single;
    uint16_t bits;
    switch (type) {
    case ELEMENT_DOUBLE:
        memcpy(&real, slot, sizeof real);
        return real;
    case ELEMENT_FLOAT:
        memcpy(&single, slot, sizeof single);
        return (double)single;
    default:
        memcpy(&bits, slot, sizeof bits);
        return narrow_number(type == ELEMENT_HALF ? &half : &bfloat16, bits);
    }
}

bool element_is_finite(enum element_type type, const void *slot)
{
    return isfinite(element_real(type, slot));
}

static char *real_text(double number, int digits, char text[ELEMENT_TEXT_BYTES])
{
    if (isnan(number))
        (void)snprintf(text, ELEMENT_TEXT_BYTES, "nan");
    else
        (void)snprintf(text, ELEMENT_TEXT_BYTES, "%.*g", digits, number);
    return text;
}

int element_digits(enum element_type type)
{
    return type == ELEMENT_DOUBLE ? 17 : type == ELEMENT_FLOAT ? 9 : 5;
}

char *element_text(enum element_type type, const void *slot, int digits,
                   char text[ELEMENT_TEXT_BYTES])
{
    uint64_t integer = 0;
    if (element_is_floating(type))
        return real_text(element_real(type, slot), digits, text);
    memcpy(&integer, slot, types[type].bytes); /* CUDA hosts are little-endian */
    int shift = 64 - 8 * (int)types[type].bytes;
    if (type <= ELEMENT_INT64)
        (void)snprintf(text, ELEMENT_TEXT_BYTES, "%" PRId64, (int64_t)(integer << shift) >> shift);
    else
        (void)snprintf(text, ELEMENT_TEXT_BYTES, "%" PRIu64, integer);
    return text;
}
