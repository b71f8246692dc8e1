# The counter of arrivals starts again one arrival too late.
# Seen: at the second barrier no arrival is the last one, and all wait for ever: a timeout.
#: template = grid_barrier
#: file = barriers.cuh
#: test = stamps
#: barrier = sense
s/if (increment_acquire_release(count, gridDim.x - 1) == gridDim.x - 1) {/if (increment_acquire_release(count, gridDim.x) == gridDim.x - 1) {/
