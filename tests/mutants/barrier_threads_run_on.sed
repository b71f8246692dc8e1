# The __syncthreads is missing that holds a block's threads until its first one has waited.
# Seen: the other threads look for stamps at once, and in each round one block is late with its own.
#: template = grid_barrier
#: file = barriers.cuh
#: test = stamps
#: barrier = lock
/^#if BARRIER == BARRIER_LOCK$/,/^#elif/ {
    /arrive_and_wait/,/__syncthreads/ {
        /__syncthreads/ d
    }
}
