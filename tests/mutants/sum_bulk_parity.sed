# The parity of the copies' barriers never changes: a stage is read before it has been filled again.
# Seen: reading a stage takes a fraction of the time that a copy from memory does, in every one of some
# 30 rounds; what is read in place of a tile is an earlier one. Should the barrier take offence: a timeout.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^24
#: load = bulk
#: stages = 2
#: blocks_per_sm_wanted = 1
/^            parity ^= 1;$/ d
