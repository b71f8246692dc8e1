# A missing release: a block's result is written after its ticket is drawn, late, as memory may do then.
# Seen: the last block adds up while the others still hold their results back, and finds the poison that
# every run begins with.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^20
#: finish = last_block
/^__device__ void finish(.*uint32 \*ticket, /,/^}$/ {
    /partials\[blockIdx.x\] = result;/ d
    /last = increment_acquire_release/ a\
        if (!last) {\
            pause(100000);\
        }\
        partials[blockIdx.x] = result;
}
