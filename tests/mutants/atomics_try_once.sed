# A compare-and-swap that fails is not tried again.
# Seen: of the lanes of a warp, which all expect the same, one succeeds.
#: template = atomics
#: file = atomics.cu
#: n = 2^12
#: value_type = float
#: method = cas
s/if (found.bits == expected.bits) {/if (true) {/
