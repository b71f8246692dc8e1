# The first block of a tile to end adds up all parts, instead of the last.
# Seen: the first block arrives long before the others, whose parts are then still the poison of new scratch memory.
#: template = sgemm
#: file = sgemm_parts.cuh
#: m = 256
#: n = 256
#: k = 4096
#: method = pipelined
#: split_k = 4
/^    const int tiles = gridDim.x \* gridDim.y;$/ i\
    if (blockIdx.z != 0) {\
        pause(100000);\
    }
s/return ticket == parts - 1;/return ticket == 0;/
