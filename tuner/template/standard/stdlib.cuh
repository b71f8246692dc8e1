// <stdlib.h> and <cstdlib>. The compiler has malloc(), free() and abs().
#ifndef AUTOTUNE_STANDARD_STDLIB
#define AUTOTUNE_STANDARD_STDLIB
#ifndef NULL
#define NULL 0
#endif
namespace std
{
using ::abs;
using ::free;
using ::labs;
using ::llabs;
using ::malloc;
using ::size_t;
} // namespace std
#endif
