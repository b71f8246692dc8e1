#include "element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    bool floating;
} types[] = {
#define X(name, text, bytes, floating) [ELEMENT_##name] = {text, bytes, floating},
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

const char *const *element_names(void)
{
    static const char *const names[] = {
#define X(name, text, bytes, floating) text,
        ELEMENT_TYPES(X)
#undef X
            NULL};
    return names;
}

unsigned char element_poison(enum element_type type)
{
    return types[type].floating ? 0xff : 0xa5;
}

/* Rounds the bits of a float to their upper half: bfloat16, ties to even. */
static uint16_t bfloat16_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (isnan(number))
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* IEEE 754 binary16, ties to even; scaling by powers of two is exact, nearbyint does the rounding.
 */
static uint16_t half_bits(double number)
{
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    double magnitude = fabs(number);
    if (isnan(number))
        return 0x7e00;
    if (magnitude >= 65520.0)
        return (uint16_t)(sign | 0x7c00);
    int exponent = 0;
    (void)frexp(magnitude, &exponent);
    int unit = exponent - 11 > -24 ? exponent - 11 : -24; /* weight of the last place */
    unsigned steps = (unsigned)nearbyint(ldexp(magnitude, -unit));
    /* steps < 1024 only when subnormal; a carry to 2048 moves into the exponent by itself */
    unsigned bits = steps < 1024 ? steps : ((unsigned)(unit + 24) << 10) + steps;
    return (uint16_t)(sign | bits);
}

static bool integer_fits(enum element_type type, long long integer)
{
    switch (type) {
    case ELEMENT_INT8:
        return integer >= INT8_MIN && integer <= INT8_MAX;
    case ELEMENT_INT16:
        return integer >= INT16_MIN && integer <= INT16_MAX;
    case ELEMENT_INT32:
        return integer >= INT32_MIN && integer <= INT32_MAX;
    case ELEMENT_UINT8:
        return integer >= 0 && integer <= UINT8_MAX;
    case ELEMENT_UINT16:
        return integer >= 0 && integer <= UINT16_MAX;
    case ELEMENT_UINT32:
        return integer >= 0 && integer <= UINT32_MAX;
    case ELEMENT_UINT64:
        return integer >= 0;
    default:
        return true;
    }
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
        bits = type == ELEMENT_HALF ? half_bits(real) : bfloat16_bits(single);
        memcpy(slot, &bits, sizeof bits);
        return true;
    default:
        if (!integer_fits(type, integer))
            return false;
        memcpy(slot, &integer, types[type].bytes); /* little-endian, as every CUDA host is */
        return true;
    }
}
