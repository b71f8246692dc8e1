# Places are taken without an atomic.
# Seen: thousands of threads take the same places, and the count is too small.
#: template = filter
#: file = filter.cu
#: n = 2^18
#: method = atomic
/return atomicAdd(count, (uint64)places);/ {
    i\
    const uint64 old = *(volatile uint64 *)count;\
    *(volatile uint64 *)count = old + places;\
    return old;
    d
}
