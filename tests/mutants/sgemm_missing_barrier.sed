# No __syncthreads between filling the tiles and multiplying them.
# Seen: no warp waits for the others' loads from memory, in 32 steps of 64 blocks.
#: template = sgemm
#: file = sgemm.cu
#: m = 512
#: n = 512
#: k = 512
#: method = tiled
/^        next_b.store(tiles_b\[set\]);$/,/__syncthreads/ {
    /__syncthreads/ d
}
