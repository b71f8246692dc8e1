// <utility>, <algorithm> and <array>, without what kernels hardly ever name: CCCL's take the compiler more than a
// second. The compiler has std::move() and std::forward().
#ifndef AUTOTUNE_STANDARD_UTILITY
#define AUTOTUNE_STANDARD_UTILITY
namespace std
{
template <class __t> __host__ __device__ constexpr void swap(__t &__a, __t &__b)
{
    __t __c = static_cast<__t &&>(__a);
    __a = static_cast<__t &&>(__b);
    __b = static_cast<__t &&>(__c);
}
template <class __t, class __u = __t> __host__ __device__ constexpr __t exchange(__t &__a, __u &&__b)
{
    __t __c = static_cast<__t &&>(__a);
    __a = static_cast<__u &&>(__b);
    return __c;
}
template <class __t> __host__ __device__ constexpr const __t &as_const(__t &__a)
{
    return __a;
}
template <class __a, class __b> struct pair
{
    typedef __a first_type;
    typedef __b second_type;
    __a first;
    __b second;
};
template <class __a, class __b> __host__ __device__ constexpr pair<__a, __b> make_pair(__a __first, __b __second)
{
    return {__first, __second};
}
template <class __t, __t... __i> struct integer_sequence
{
    typedef __t value_type;
    __host__ __device__ static constexpr size_t size() noexcept
    {
        return sizeof...(__i);
    }
};
template <class __t, size_t __n, __t... __i> struct __count : __count<__t, __n - 1, __t(__n - 1), __i...>
{
};
template <class __t, __t... __i> struct __count<__t, 0, __i...>
{
    typedef integer_sequence<__t, __i...> type;
};
template <class __t, __t __n> using make_integer_sequence = typename __count<__t, size_t(__n)>::type;
template <size_t... __i> using index_sequence = integer_sequence<size_t, __i...>;
template <size_t __n> using make_index_sequence = make_integer_sequence<size_t, __n>;

template <class __t> __host__ __device__ constexpr const __t &min(const __t &__a, const __t &__b)
{
    return __b < __a ? __b : __a;
}
template <class __t> __host__ __device__ constexpr const __t &max(const __t &__a, const __t &__b)
{
    return __a < __b ? __b : __a;
}
template <class __t> __host__ __device__ constexpr const __t &clamp(const __t &__a, const __t &__low, const __t &__high)
{
    return __a < __low ? __low : __high < __a ? __high : __a;
}
template <class __i, class __t> __host__ __device__ constexpr void fill(__i __begin, __i __end, const __t &__value)
{
    for (; __begin != __end; ++__begin)
        *__begin = __value;
}
template <class __i, class __o> __host__ __device__ constexpr __o copy(__i __begin, __i __end, __o __to)
{
    for (; __begin != __end; ++__begin, ++__to)
        *__to = *__begin;
    return __to;
}

template <class __t, size_t __n> struct array
{
    typedef __t value_type;
    typedef size_t size_type;
    typedef __t *iterator;
    typedef const __t *const_iterator;
    __t __elements[__n == 0 ? 1 : __n];
    __host__ __device__ constexpr __t &operator[](size_t __i)
    {
        return __elements[__i];
    }
    __host__ __device__ constexpr const __t &operator[](size_t __i) const
    {
        return __elements[__i];
    }
    __host__ __device__ constexpr __t &front()
    {
        return __elements[0];
    }
    __host__ __device__ constexpr const __t &front() const
    {
        return __elements[0];
    }
    __host__ __device__ constexpr __t &back()
    {
        return __elements[__n - 1];
    }
    __host__ __device__ constexpr const __t &back() const
    {
        return __elements[__n - 1];
    }
    __host__ __device__ constexpr __t *data()
    {
        return __elements;
    }
    __host__ __device__ constexpr const __t *data() const
    {
        return __elements;
    }
    __host__ __device__ constexpr __t *begin()
    {
        return __elements;
    }
    __host__ __device__ constexpr const __t *begin() const
    {
        return __elements;
    }
    __host__ __device__ constexpr __t *end()
    {
        return __elements + __n;
    }
    __host__ __device__ constexpr const __t *end() const
    {
        return __elements + __n;
    }
    __host__ __device__ static constexpr size_t size() noexcept
    {
        return __n;
    }
    __host__ __device__ static constexpr bool empty() noexcept
    {
        return __n == 0;
    }
    __host__ __device__ constexpr void fill(const __t &__value)
    {
        for (size_t __i = 0; __i < __n; __i++)
            __elements[__i] = __value;
    }
};
} // namespace std
#endif
