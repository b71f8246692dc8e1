# The gathering block lets all go before its other threads have seen the flags.
# Seen: its first thread waits for no flag itself, so nobody waits for the block that comes late.
#: template = grid_barrier
#: file = barriers.cuh
#: test = stamps
#: barrier = gather
/__device__ void gather()/,/^};$/ {
    /__syncthreads();/ d
}
