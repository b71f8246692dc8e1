# A tile is written with the count of the tile after it.
# Seen: two tiles of random elements hardly ever have the same count; some elements are lost, others are
# written over.
#: template = filter
#: file = filter_streamed.cuh
#: n = 2^22
#: method = streamed
s/compacted, exchange.count\[(round - 1) % 2\])/compacted, exchange.count[round % 2])/
