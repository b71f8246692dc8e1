# The critical section is entered whether or not the lock was free.
# Seen: the lanes of a warp read the count at the same time, and all but one of their updates are lost.
#: template = lock
#: file = lock.cu
#: n = 2^12
#: method = thread_mutex
s/^        if (try_lock(lock)) {$/        if (try_lock(lock) || true) {/
