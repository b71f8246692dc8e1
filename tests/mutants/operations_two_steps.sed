# An exchange in two steps, a load and a store.
# Seen: the lanes of a warp all take the same old value, so the accounts of all threads do not add up.
#: template = atomic_operations
#: file = atomic_operations.cu
#: atomic = exch
/return atomicExch(word, value);/ {
    i\
    {\
        const uint32 old = *(volatile uint32 *)word;\
        *(volatile uint32 *)word = value;\
        return old;\
    }
    d
}
