# Of the histograms of a block, only the first is added to the result.
# Seen: three quarters of the elements are missing.
#: template = histogram
#: file = histogram.cu
#: n = 2^20
#: method = shared
#: copies = 4
s/copy < COPIES; copy++/copy < 1; copy++/
