# The threads do not wait for the tiles that they multiply, only for those of the step before.
# Seen: with an empty cache the copies of the first steps take longer than the few instructions before them.
#: template = sgemm
#: file = sgemm_pipelined.cuh
#: m = 512
#: n = 512
#: k = 512
#: method = pipelined
s/wait_for_stages<STAGES - 2>();/wait_for_stages<STAGES - 1>();/
