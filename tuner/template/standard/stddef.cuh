// <stddef.h> and <cstddef>. The compiler has size_t and ptrdiff_t.
#ifndef AUTOTUNE_STANDARD_STDDEF
#define AUTOTUNE_STANDARD_STDDEF
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type *)0)->member)))
#endif
namespace std
{
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
typedef long double max_align_t;
enum class byte : unsigned char
{
};
} // namespace std
#endif
