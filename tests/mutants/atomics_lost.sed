# The sum of each thread is added without an atomic.
# Seen: some hundred thousand threads read and write one word, and the lanes of a warp at the same time.
#: template = atomics
#: file = atomics.cu
#: n = 2^20
#: value_type = int32
#: method = thread_local
/^#if METHOD == METHOD_THREAD_LOCAL$/,/^#elif/ s/combine_atomically(out, mine);/combine_racily(out, mine);/
