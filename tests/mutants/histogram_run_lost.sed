# The runs of a warp are not added to the result.
# Seen: with sorted keys, what a warp reads at a time hardly ever has two keys, so nearly all is missing.
#: template = histogram
#: file = histogram.cu
#: n = 2^20
#: order = sorted
#: aggregate = runs
#: num_load = 1
/^        run.end(counts);$/ d
