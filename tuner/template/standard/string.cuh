// <string.h> and <cstring>. The compiler has memcpy() and memset().
#ifndef AUTOTUNE_STANDARD_STRING
#define AUTOTUNE_STANDARD_STRING
#ifndef NULL
#define NULL 0
#endif
namespace std
{
using ::memcpy;
using ::memset;
using ::size_t;
} // namespace std
#endif
