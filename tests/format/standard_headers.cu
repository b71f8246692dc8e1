#include <type_traits>
#include <limits>
#include <utility>
#include <cmath>
#include <climits>
#include <cfloat>
#include <cstdint>
#include <cstddef>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <array>
template<class T, std::enable_if_t<std::is_floating_point<T>::value,int> = 0> __device__ T half_of(T x){return x/2;}
template<class T, std::enable_if_t<std::is_integral_v<T>,int> = 0> __device__ T half_of(T x){return x>>1;}
struct P{float x; int y;}; enum E{A}; enum class F: short{B};
struct D: P{}; 
#define IS(...) static_assert(__VA_ARGS__, #__VA_ARGS__)
IS(std::is_same_v<std::remove_cv_t<const volatile int>, int>); IS(std::is_same<std::remove_reference_t<int&&>, int>::value);
IS(std::is_same_v<std::decay_t<const int(&)[3]>, const int*>); IS(std::is_same_v<std::decay_t<int const&>, int>);
IS(std::is_pointer_v<float*const>); IS(!std::is_pointer_v<float>); IS(std::is_signed_v<int> && std::is_unsigned_v<unsigned> && std::is_signed_v<float> && !std::is_signed_v<P>);
IS(std::is_same_v<std::make_unsigned_t<long long>, unsigned long long>); IS(std::is_same_v<std::make_signed_t<uint32_t>, int32_t>);
IS(std::is_same_v<std::common_type_t<float,int,double>, double>); IS(std::is_same_v<std::underlying_type_t<F>, short>);
IS(std::is_base_of_v<P,D>); IS(std::is_convertible_v<int,float>); IS(std::is_trivially_copyable_v<P>); IS(std::is_enum_v<E> && std::is_class_v<P>);
IS(std::is_array_v<int[3]> && std::extent_v<int[3]> == 3 && std::rank_v<int[2][3]> == 2 && std::extent_v<int[2][3],1> == 3);
IS(std::is_function_v<void(int)> && !std::is_function_v<int> && !std::is_function_v<int&>); IS(std::is_const_v<const int>);
IS(std::conjunction_v<std::true_type,std::is_integral<int>> && !std::disjunction_v<std::false_type> && std::negation_v<std::false_type>);
IS(std::is_same_v<std::conditional_t<false,int,float>, float>); IS(std::is_void_v<std::void_t<int>>); IS(std::is_same_v<std::add_pointer_t<int&>, int*>);
IS(std::is_same_v<std::add_lvalue_reference_t<void>, void> && std::is_same_v<std::add_rvalue_reference_t<int>, int&&>); IS(std::is_same_v<decltype(std::declval<P>().x), float>);
IS(std::is_scalar_v<int*> && std::is_object_v<P> && std::is_arithmetic_v<char> && std::is_reference_v<int&>); IS(std::integral_constant<int,3>{} == 3); IS(std::alignment_of_v<double> == 8);
IS(std::is_default_constructible_v<P> && std::is_constructible_v<float,int> && std::is_assignable_v<int&,float>);
__device__ float fn(int); IS(std::is_same_v<std::invoke_result_t<decltype(fn)&,int>, float>);
IS(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<int>::min() == INT_MIN && std::numeric_limits<unsigned>::digits == 32 && std::numeric_limits<long long>::digits10 == 18 && std::numeric_limits<int>::digits10 == 9 && std::numeric_limits<unsigned long>::digits10==19);
IS(std::numeric_limits<float>::max() == FLT_MAX && std::numeric_limits<float>::lowest() == -FLT_MAX && std::numeric_limits<float>::epsilon() == FLT_EPSILON && std::numeric_limits<double>::min() == DBL_MIN && std::numeric_limits<float>::infinity() > FLT_MAX && std::numeric_limits<const float>::quiet_NaN() != std::numeric_limits<float>::quiet_NaN() && std::numeric_limits<float>::is_iec559);
IS(std::numeric_limits<char>::min() == CHAR_MIN && std::numeric_limits<uint8_t>::max() == 255 && UINT64_MAX == ULLONG_MAX && SIZE_MAX == ~std::size_t(0) && INT64_C(1) == 1);
IS(std::is_same_v<std::make_index_sequence<3>, std::index_sequence<0,1,2>>); IS(offsetof(P,y) == 4); IS(std::min(1,2) == 1 && std::max(1.5f,2.f) == 2 && std::clamp(5,1,3) == 3);
IS(sizeof(std::array<float,3>) == 12 && sizeof(int64_t) == 8 && sizeof(std::uintptr_t) == 8);
extern "C" __global__ void own(float *p, int n){
 assert(n>0); std::printf("%d " "%" PRId64 "\n",n,(int64_t)n);
 std::array<float,4> a{1,2,3,4}; for(float x: a) p[0]+=x; std::swap(a[0],a[1]); p[1]=a[0]+a.size();
 auto q=std::make_pair(1,2.f); p[2]=q.first+q.second; std::nullptr_t z=nullptr; std::byte b{1};
 p[3]=std::sqrt(p[1])+std::abs(p[2])+std::pow(p[1],2.f)+std::isnan(p[1])+std::fma(p[1],p[2],p[3])+half_of(p[1])+half_of(n)+M_PI+(p[1]==INFINITY)+(p[2]!=NAN);
 p[4]=std::move(a[2])+std::exp(p[0])+std::log(p[1])+std::sin(p[2])+std::floor(p[3])+std::max<float>(p[0],1)+std::fmax(p[1],p[2])+std::exchange(p[5],1.f)+HUGE_VAL; if(z==nullptr && (int)b) std::memcpy(p+8,p,16); p[7]=NULL==0;
 static_assert(std::is_same_v<decltype(std::sqrt(1.f)),float> && std::is_same_v<decltype(std::abs(1.5f)),float>);
}
