// <stdio.h> and <cstdio>. The compiler has printf().
#ifndef AUTOTUNE_STANDARD_STDIO
#define AUTOTUNE_STANDARD_STDIO
namespace std
{
using ::printf;
using ::size_t;
} // namespace std
#endif
