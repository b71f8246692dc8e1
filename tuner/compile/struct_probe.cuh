/* What struct_probe.c puts between a source and its checks, without <type_traits>, which the toolkit has but slowly. */
static_assert(false, "no code");

namespace autotune_probe
{

/* The types of a kernel's parameters. */
template <class F> struct parameters;
template <class... P> struct parameters<void (*)(P...)> {
    template <int N, class T, class... R> struct pick {
        using type = typename pick<N - 1, R...>::type;
    };
    template <class T, class... R> struct pick<0, T, R...> {
        using type = T;
    };
    template <int N> using at = typename pick<N, P...>::type;
};

/* Without qualifiers and references. */
template <class T> struct bare {
    using type = T;
};
template <class T> struct bare<T &> : bare<T> {
};
template <class T> struct bare<const T> : bare<T> {
};
template <class T> struct bare<volatile T> : bare<T> {
};
template <class T> struct bare<const volatile T> : bare<T> {
};
template <class T> struct bare<T *__restrict__> {
    using type = T *;
};

/* The numbers are struct_probe.c's; a union, which may be given as what it holds, has none. */
template <class T> struct kind {
    static constexpr int value = __is_union(T) ? 0 : __is_class(T) ? 3 : 50 + sizeof(T), count = 0;
};
template <class T> struct kind<T *> {
    static constexpr int value = 1, count = 0;
    using to = typename bare<T>::type;
};
template <class T, decltype(sizeof(0)) N> struct kind<T[N]> {
    static constexpr int value = 2, count = N;
};
template <> struct kind<float> {
    static constexpr int value = 44, count = 0;
};
template <> struct kind<double> {
    static constexpr int value = 48, count = 0;
};
template <class R, class... A> struct kind<R(A...)> {
    static constexpr int value = 3, count = 0;
};
template <> struct kind<void> {
    static constexpr int value = 3, count = 0;
};
template <class T> using of = kind<typename bare<T>::type>;

/* Whether a pointer to what is of the kind `declared` may point to such elements: may_point_to() of problem_check.c. */
__host__ __device__ constexpr bool may_be(int declared, bool floating, int size)
{
    bool real = declared == 44 || declared == 48;
    int bytes = declared == 1 ? 8 : declared % 10;
    return declared == 2 || declared == 3 ||
           (real && floating ? bytes == size : bytes < 4 || size < 4 || (real == floating && bytes == size));
}

} // namespace autotune_probe
