# The status of an earlier tile counts whether or not it is of this launch.
# Seen: the first status that a block reads is that of a tile which has only just been loaded elsewhere,
# so in every launch some of thousands of tiles add up what is not there yet, or is an earlier launch's.
#: template = filter_ordered
#: file = filter_streamed.cuh
#: n = 2^22
#: method = ordered_streamed
/while (words\[j\] >> COUNT_BITS != launch) {/,/^                }$/ d
