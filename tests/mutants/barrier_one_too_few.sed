# A block waits for one arrival less than there are blocks.
# Seen: in each round one block comes late, and the others go on without it and miss its stamp.
#: template = grid_barrier
#: file = barriers.cuh
#: test = stamps
#: barrier = lock
/^#if BARRIER == BARRIER_LOCK$/,/^#elif/ s/arrive_and_wait(count, target);/arrive_and_wait(count, target - 1);/
