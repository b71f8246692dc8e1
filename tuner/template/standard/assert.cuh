// <assert.h> and <cassert>. The compiler has assert(); it is to do nothing with NDEBUG.
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
