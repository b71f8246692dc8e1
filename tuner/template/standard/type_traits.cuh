// <type_traits>, without what kernels hardly ever name: including CCCL's <cuda/std/type_traits> takes the compiler
// more than a second.
#ifndef AUTOTUNE_STANDARD_TYPE_TRAITS
#define AUTOTUNE_STANDARD_TYPE_TRAITS
namespace std
{
template <class __t, __t __v> struct integral_constant
{
    static constexpr __t value = __v;
    typedef __t value_type;
    typedef integral_constant type;
    __host__ __device__ constexpr operator __t() const noexcept
    {
        return __v;
    }
    __host__ __device__ constexpr __t operator()() const noexcept
    {
        return __v;
    }
};
template <bool __v> using bool_constant = integral_constant<bool, __v>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

// --- choices ---
template <bool __condition, class __t = void> struct enable_if
{
};
template <class __t> struct enable_if<true, __t>
{
    typedef __t type;
};
template <bool __condition, class __t = void> using enable_if_t = typename enable_if<__condition, __t>::type;
template <bool __condition, class __t, class __f> struct conditional
{
    typedef __t type;
};
template <class __t, class __f> struct conditional<false, __t, __f>
{
    typedef __f type;
};
template <bool __condition, class __t, class __f>
using conditional_t = typename conditional<__condition, __t, __f>::type;
template <class...> using void_t = void;
template <class __t> struct type_identity
{
    typedef __t type;
};
template <class __t> using type_identity_t = typename type_identity<__t>::type;
template <class...> struct conjunction : true_type
{
};
template <class __a> struct conjunction<__a> : __a
{
};
template <class __a, class... __b> struct conjunction<__a, __b...> : conditional_t<bool(__a::value), conjunction<__b...>, __a>
{
};
template <class...> struct disjunction : false_type
{
};
template <class __a> struct disjunction<__a> : __a
{
};
template <class __a, class... __b> struct disjunction<__a, __b...> : conditional_t<bool(__a::value), __a, disjunction<__b...>>
{
};
template <class __a> struct negation : bool_constant<!bool(__a::value)>
{
};
template <class... __a> inline constexpr bool conjunction_v = conjunction<__a...>::value;
template <class... __a> inline constexpr bool disjunction_v = disjunction<__a...>::value;
template <class __a> inline constexpr bool negation_v = negation<__a>::value;

// --- other types from a type ---
#define AUTOTUNE_CHANGE(name, pattern, result)                                                                         \
    template <class __t> struct name                                                                                   \
    {                                                                                                                  \
        typedef __t type;                                                                                              \
    };                                                                                                                 \
    template <class __t> struct name<pattern>                                                                          \
    {                                                                                                                  \
        typedef result type;                                                                                           \
    };                                                                                                                 \
    template <class __t> using name##_t = typename name<__t>::type;
AUTOTUNE_CHANGE(remove_const, const __t, __t)
AUTOTUNE_CHANGE(remove_volatile, volatile __t, __t)
AUTOTUNE_CHANGE(__remove_lvalue, __t &, __t)
AUTOTUNE_CHANGE(__remove_rvalue, __t &&, __t)
AUTOTUNE_CHANGE(__remove_star, __t *, __t)
AUTOTUNE_CHANGE(__remove_bound, __t[], __t)
#undef AUTOTUNE_CHANGE
#define AUTOTUNE_MAKE(name, result)                                                                                    \
    template <class __t> struct name                                                                                   \
    {                                                                                                                  \
        typedef result type;                                                                                           \
    };                                                                                                                 \
    template <class __t> using name##_t = typename name<__t>::type;
AUTOTUNE_MAKE(remove_cv, remove_const_t<remove_volatile_t<__t>>)
AUTOTUNE_MAKE(remove_reference, __remove_rvalue_t<__remove_lvalue_t<__t>>)
AUTOTUNE_MAKE(remove_cvref, remove_cv_t<remove_reference_t<__t>>)
AUTOTUNE_MAKE(remove_pointer, __remove_star_t<remove_cv_t<__t>>)
AUTOTUNE_MAKE(add_const, const __t)
AUTOTUNE_MAKE(add_volatile, volatile __t)
AUTOTUNE_MAKE(add_cv, const volatile __t)
AUTOTUNE_MAKE(add_pointer, remove_reference_t<__t> *)
AUTOTUNE_MAKE(underlying_type, __underlying_type(__t))
#undef AUTOTUNE_MAKE
template <class __t> struct remove_extent : __remove_bound<__t>
{
};
template <class __t, size_t __n> struct remove_extent<__t[__n]>
{
    typedef __t type;
};
template <class __t> using remove_extent_t = typename remove_extent<__t>::type;
template <class __t> __host__ __device__ type_identity<__t &> __lvalue_of(int);
template <class __t> __host__ __device__ type_identity<__t> __lvalue_of(...);
template <class __t> __host__ __device__ type_identity<__t &&> __rvalue_of(int);
template <class __t> __host__ __device__ type_identity<__t> __rvalue_of(...);
template <class __t> struct add_lvalue_reference : decltype(__lvalue_of<__t>(0))
{
};
template <class __t> struct add_rvalue_reference : decltype(__rvalue_of<__t>(0))
{
};
template <class __t> using add_lvalue_reference_t = typename add_lvalue_reference<__t>::type;
template <class __t> using add_rvalue_reference_t = typename add_rvalue_reference<__t>::type;
template <class __t> __host__ __device__ add_rvalue_reference_t<__t> declval() noexcept;

// --- what a type is ---
#define AUTOTUNE_IS(name, condition)                                                                                   \
    template <class __t> struct name : bool_constant<condition>                                                        \
    {                                                                                                                  \
    };                                                                                                                 \
    template <class __t> inline constexpr bool name##_v = name<__t>::value;
#define AUTOTUNE_MATCH(name, pattern)                                                                      \
    template <class __t> struct name : false_type                                                                      \
    {                                                                                                                  \
    };                                                                                                                 \
    template <class __t> struct name<pattern> : true_type                                                             \
    {                                                                                                                  \
    };                                                                                                                 \
    template <class __t> inline constexpr bool name##_v = name<__t>::value;
template <class __a, class __b> struct is_same : false_type
{
};
template <class __a> struct is_same<__a, __a> : true_type
{
};
template <class __a, class __b> inline constexpr bool is_same_v = is_same<__a, __b>::value;
template <class __t, class... __any> inline constexpr bool __is_any = (is_same_v<__t, __any> || ...);
AUTOTUNE_IS(is_void, (is_same_v<remove_cv_t<__t>, void>))
AUTOTUNE_IS(is_null_pointer, (is_same_v<remove_cv_t<__t>, decltype(nullptr)>))
AUTOTUNE_IS(is_floating_point, (__is_any<remove_cv_t<__t>, float, double, long double>))
AUTOTUNE_IS(is_integral,
            (__is_any<remove_cv_t<__t>, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short,
                      unsigned short, int, unsigned, long, unsigned long, long long, unsigned long long>))
AUTOTUNE_IS(is_arithmetic, (is_integral_v<__t> || is_floating_point_v<__t>))
AUTOTUNE_IS(is_fundamental, (is_arithmetic_v<__t> || is_void_v<__t> || is_null_pointer_v<__t>))
AUTOTUNE_IS(is_enum, __is_enum(__t))
AUTOTUNE_IS(is_class, __is_class(__t))
AUTOTUNE_IS(is_union, __is_union(__t))
AUTOTUNE_MATCH(is_const, const __t)
AUTOTUNE_MATCH(is_volatile, volatile __t)
AUTOTUNE_MATCH(is_lvalue_reference, __t &)
AUTOTUNE_MATCH(is_rvalue_reference, __t &&)
AUTOTUNE_MATCH(is_unbounded_array, __t[])
AUTOTUNE_MATCH(__is_star, __t *)
template <class __t> struct is_bounded_array : false_type
{
};
template <class __t, size_t __n> struct is_bounded_array<__t[__n]> : true_type
{
};
template <class __t> inline constexpr bool is_bounded_array_v = is_bounded_array<__t>::value;
AUTOTUNE_IS(is_reference, (is_lvalue_reference_v<__t> || is_rvalue_reference_v<__t>))
AUTOTUNE_IS(is_array, (is_bounded_array_v<__t> || is_unbounded_array_v<__t>))
AUTOTUNE_IS(is_pointer, (__is_star_v<remove_cv_t<__t>>))
AUTOTUNE_IS(is_function, (!is_const_v<const __t> && !is_reference_v<__t>))
AUTOTUNE_IS(is_scalar, (is_arithmetic_v<__t> || is_enum_v<__t> || is_pointer_v<__t> || is_null_pointer_v<__t>))
AUTOTUNE_IS(is_object, (!is_function_v<__t> && !is_reference_v<__t> && !is_void_v<__t>))
AUTOTUNE_IS(is_empty, __is_empty(__t))
AUTOTUNE_IS(is_final, __is_final(__t))
AUTOTUNE_IS(is_abstract, __is_abstract(__t))
AUTOTUNE_IS(is_polymorphic, __is_polymorphic(__t))
AUTOTUNE_IS(is_aggregate, __is_aggregate(__t))
AUTOTUNE_IS(is_trivial, __is_trivial(__t))
AUTOTUNE_IS(is_pod, __is_pod(__t))
AUTOTUNE_IS(is_standard_layout, __is_standard_layout(__t))
AUTOTUNE_IS(is_trivially_copyable, __is_trivially_copyable(__t))
AUTOTUNE_IS(is_default_constructible, __is_constructible(__t))
AUTOTUNE_IS(is_trivially_default_constructible, __is_trivially_constructible(__t))
AUTOTUNE_IS(is_trivially_destructible, __is_trivially_destructible(__t))
template <class __t, bool = is_arithmetic_v<__t>> struct __signedness
{
    static constexpr bool negative = false, positive = false;
};
template <class __t> struct __signedness<__t, true>
{
    static constexpr bool negative = __t(-1) < __t(0), positive = !negative;
};
AUTOTUNE_IS(is_signed, (__signedness<__t>::negative))
AUTOTUNE_IS(is_unsigned, (__signedness<__t>::positive))
#undef AUTOTUNE_IS
#undef AUTOTUNE_MATCH
#define AUTOTUNE_RELATION(name, builtin)                                                                               \
    template <class __a, class __b> struct name : bool_constant<builtin(__a, __b)>                                     \
    {                                                                                                                  \
    };                                                                                                                 \
    template <class __a, class __b> inline constexpr bool name##_v = name<__a, __b>::value;
AUTOTUNE_RELATION(is_base_of, __is_base_of)
AUTOTUNE_RELATION(is_convertible, __is_convertible_to)
AUTOTUNE_RELATION(is_assignable, __is_assignable)
#undef AUTOTUNE_RELATION
template <class __t, class... __a> struct is_constructible : bool_constant<__is_constructible(__t, __a...)>
{
};
template <class __t, class... __a> inline constexpr bool is_constructible_v = is_constructible<__t, __a...>::value;
template <class __t> struct alignment_of : integral_constant<size_t, alignof(__t)>
{
};
template <class __t> inline constexpr size_t alignment_of_v = alignof(__t);
template <class __t> struct rank : integral_constant<size_t, 0>
{
};
template <class __t> struct rank<__t[]> : integral_constant<size_t, rank<__t>::value + 1>
{
};
template <class __t, size_t __n> struct rank<__t[__n]> : integral_constant<size_t, rank<__t>::value + 1>
{
};
template <class __t> inline constexpr size_t rank_v = rank<__t>::value;
template <class __t, unsigned __i = 0> struct extent : integral_constant<size_t, 0>
{
};
template <class __t, size_t __n> struct extent<__t[__n], 0> : integral_constant<size_t, __n>
{
};
template <class __t, size_t __n, unsigned __i> struct extent<__t[__n], __i> : extent<__t, __i - 1>
{
};
template <class __t, unsigned __i = 0> inline constexpr size_t extent_v = extent<__t, __i>::value;

// --- types from several, or from how a type is used ---
template <class __t> struct decay
{
    typedef remove_reference_t<__t> __u;
    typedef conditional_t<is_array_v<__u>, remove_extent_t<__u> *,
                          conditional_t<is_function_v<__u>, add_pointer_t<__u>, remove_cv_t<__u>>>
        type;
};
template <class __t> using decay_t = typename decay<__t>::type;
template <class...> struct common_type
{
};
template <class __t> struct common_type<__t>
{
    typedef decay_t<__t> type;
};
template <class __a, class __b> struct common_type<__a, __b>
{
    typedef decay_t<decltype(false ? declval<decay_t<__a>>() : declval<decay_t<__b>>())> type;
};
template <class __a, class __b, class... __c>
struct common_type<__a, __b, __c...> : common_type<typename common_type<__a, __b>::type, __c...>
{
};
template <class... __t> using common_type_t = typename common_type<__t...>::type;
template <class __f, class... __a> struct invoke_result
{
    typedef decltype(declval<__f>()(declval<__a>()...)) type;
};
template <class __f, class... __a> using invoke_result_t = typename invoke_result<__f, __a...>::type;
template <class __t> struct __other_sign
{
};
#define AUTOTUNE_SIGNS(without, with)                                                                                  \
    template <> struct __other_sign<without>                                                                           \
    {                                                                                                                  \
        typedef with plus;                                                                                             \
        typedef without minus;                                                                                         \
    };
AUTOTUNE_SIGNS(char, unsigned char)
AUTOTUNE_SIGNS(signed char, unsigned char)
AUTOTUNE_SIGNS(short, unsigned short)
AUTOTUNE_SIGNS(int, unsigned)
AUTOTUNE_SIGNS(long, unsigned long)
AUTOTUNE_SIGNS(long long, unsigned long long)
#undef AUTOTUNE_SIGNS
#define AUTOTUNE_SIGNS(without, with)                                                                                  \
    template <> struct __other_sign<with>                                                                              \
    {                                                                                                                  \
        typedef with plus;                                                                                             \
        typedef without minus;                                                                                         \
    };
AUTOTUNE_SIGNS(signed char, unsigned char)
AUTOTUNE_SIGNS(short, unsigned short)
AUTOTUNE_SIGNS(int, unsigned)
AUTOTUNE_SIGNS(long, unsigned long)
AUTOTUNE_SIGNS(long long, unsigned long long)
#undef AUTOTUNE_SIGNS
template <class __t> struct make_unsigned
{
    typedef typename __other_sign<__t>::plus type;
};
template <class __t> struct make_signed
{
    typedef typename __other_sign<__t>::minus type;
};
template <class __t> using make_unsigned_t = typename make_unsigned<__t>::type;
template <class __t> using make_signed_t = typename make_signed<__t>::type;
} // namespace std
#endif
