# The first block of a tile to end adds up all parts, instead of the last.
# Seen: in the first run after loading, the other parts hold the poison of new scratch memory.
#: template = sgemm
#: file = sgemm_pipelined.cuh
#: m = 256
#: n = 256
#: k = 4096
#: method = pipelined
#: split_k = 4
s/if (ticket != gridDim.z - 1) {/if (ticket != 0) {/
