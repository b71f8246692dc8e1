# A block whose share of the work ends within a tile writes the tile itself, without the others' parts.
# Seen: with 9 tiles of 32 steps on all multiprocessors, nearly every tile has parts in several blocks.
#: template = sgemm
#: file = sgemm_pipelined.cuh
#: m = 384
#: n = 384
#: k = 512
#: method = streamed
#: split_k = 1
#: split_waves = 1
s/if (part_end - at == tile_steps ||/if (part_end > at ||/
