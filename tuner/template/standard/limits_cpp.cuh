// <limits>
#ifndef AUTOTUNE_STANDARD_LIMITS
#define AUTOTUNE_STANDARD_LIMITS
namespace std
{
enum float_round_style
{
    round_indeterminate = -1,
    round_toward_zero = 0,
    round_to_nearest = 1,
    round_toward_infinity = 2,
    round_toward_neg_infinity = 3
};

#define AUTOTUNE_FIGURE(type, name, value)                                                                             \
    __host__ __device__ static constexpr type name() noexcept                                                          \
    {                                                                                                                  \
        return value;                                                                                                  \
    }

template <class __t> struct numeric_limits
{
    static constexpr bool is_specialized = false;
    static constexpr bool is_signed = false, is_integer = false, is_exact = false, is_iec559 = false;
    static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
    static constexpr bool is_bounded = false, is_modulo = false, traps = false;
    static constexpr int digits = 0, digits10 = 0, max_digits10 = 0, radix = 0;
    static constexpr int min_exponent = 0, min_exponent10 = 0, max_exponent = 0, max_exponent10 = 0;
    static constexpr float_round_style round_style = round_toward_zero;
    AUTOTUNE_FIGURE(__t, min, __t())
    AUTOTUNE_FIGURE(__t, max, __t())
    AUTOTUNE_FIGURE(__t, lowest, __t())
};

template <class __t, bool __is_signed, int __digits, __t __min, __t __max> struct __integer_limits
{
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = __is_signed, is_integer = true, is_exact = true, is_iec559 = false;
    static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
    static constexpr bool is_bounded = true, is_modulo = !__is_signed, traps = false;
    static constexpr int digits = __digits, digits10 = __digits * 30103 / 100000, max_digits10 = 0, radix = 2;
    static constexpr int min_exponent = 0, min_exponent10 = 0, max_exponent = 0, max_exponent10 = 0;
    static constexpr float_round_style round_style = round_toward_zero;
    AUTOTUNE_FIGURE(__t, min, __min)
    AUTOTUNE_FIGURE(__t, max, __max)
    AUTOTUNE_FIGURE(__t, lowest, __min)
    AUTOTUNE_FIGURE(__t, epsilon, 0)
    AUTOTUNE_FIGURE(__t, round_error, 0)
    AUTOTUNE_FIGURE(__t, infinity, 0)
    AUTOTUNE_FIGURE(__t, quiet_NaN, 0)
    AUTOTUNE_FIGURE(__t, denorm_min, 0)
};

template <class __t> struct __real_limits
{
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true, is_integer = false, is_exact = false, is_iec559 = true;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
    static constexpr bool is_bounded = true, is_modulo = false, traps = false;
    static constexpr int radix = 2;
    static constexpr float_round_style round_style = round_to_nearest;
};

#define AUTOTUNE_INTEGER(type, is_signed, digits, min, max)                                                            \
    template <> struct numeric_limits<type> : __integer_limits<type, is_signed, digits, min, max>                      \
    {                                                                                                                  \
    };
AUTOTUNE_INTEGER(bool, false, 1, false, true)
AUTOTUNE_INTEGER(char, true, 7, -128, 127)
AUTOTUNE_INTEGER(signed char, true, 7, -128, 127)
AUTOTUNE_INTEGER(unsigned char, false, 8, 0, 255)
AUTOTUNE_INTEGER(wchar_t, true, 31, -2147483647 - 1, 2147483647)
AUTOTUNE_INTEGER(char16_t, false, 16, 0, 65535)
AUTOTUNE_INTEGER(char32_t, false, 32, 0, 4294967295U)
AUTOTUNE_INTEGER(short, true, 15, -32768, 32767)
AUTOTUNE_INTEGER(unsigned short, false, 16, 0, 65535)
AUTOTUNE_INTEGER(int, true, 31, -2147483647 - 1, 2147483647)
AUTOTUNE_INTEGER(unsigned, false, 32, 0, 4294967295U)
AUTOTUNE_INTEGER(long, true, 63, -9223372036854775807L - 1, 9223372036854775807L)
AUTOTUNE_INTEGER(unsigned long, false, 64, 0, 18446744073709551615UL)
AUTOTUNE_INTEGER(long long, true, 63, -9223372036854775807LL - 1, 9223372036854775807LL)
AUTOTUNE_INTEGER(unsigned long long, false, 64, 0, 18446744073709551615ULL)
#undef AUTOTUNE_INTEGER

template <> struct numeric_limits<float> : __real_limits<float>
{
    static constexpr int digits = 24, digits10 = 6, max_digits10 = 9;
    static constexpr int min_exponent = -125, min_exponent10 = -37, max_exponent = 128, max_exponent10 = 38;
    AUTOTUNE_FIGURE(float, min, 1.17549435e-38f)
    AUTOTUNE_FIGURE(float, max, 3.40282347e+38f)
    AUTOTUNE_FIGURE(float, lowest, -3.40282347e+38f)
    AUTOTUNE_FIGURE(float, epsilon, 1.19209290e-7f)
    AUTOTUNE_FIGURE(float, round_error, 0.5f)
    AUTOTUNE_FIGURE(float, infinity, __builtin_bit_cast(float, 0x7f800000))
    AUTOTUNE_FIGURE(float, quiet_NaN, __builtin_bit_cast(float, 0x7fc00000))
    AUTOTUNE_FIGURE(float, signaling_NaN, __builtin_bit_cast(float, 0x7fa00000))
    AUTOTUNE_FIGURE(float, denorm_min, 1.40129846e-45f)
};

template <> struct numeric_limits<double> : __real_limits<double>
{
    static constexpr int digits = 53, digits10 = 15, max_digits10 = 17;
    static constexpr int min_exponent = -1021, min_exponent10 = -307, max_exponent = 1024, max_exponent10 = 308;
    AUTOTUNE_FIGURE(double, min, 2.2250738585072014e-308)
    AUTOTUNE_FIGURE(double, max, 1.7976931348623157e+308)
    AUTOTUNE_FIGURE(double, lowest, -1.7976931348623157e+308)
    AUTOTUNE_FIGURE(double, epsilon, 2.2204460492503131e-16)
    AUTOTUNE_FIGURE(double, round_error, 0.5)
    AUTOTUNE_FIGURE(double, infinity, __builtin_bit_cast(double, 0x7ff0000000000000LL))
    AUTOTUNE_FIGURE(double, quiet_NaN, __builtin_bit_cast(double, 0x7ff8000000000000LL))
    AUTOTUNE_FIGURE(double, signaling_NaN, __builtin_bit_cast(double, 0x7ff4000000000000LL))
    AUTOTUNE_FIGURE(double, denorm_min, 4.9406564584124654e-324)
};
#undef AUTOTUNE_FIGURE

template <class __t> struct numeric_limits<const __t> : numeric_limits<__t>
{
};
template <class __t> struct numeric_limits<volatile __t> : numeric_limits<__t>
{
};
template <class __t> struct numeric_limits<const volatile __t> : numeric_limits<__t>
{
};
} // namespace std
#endif
