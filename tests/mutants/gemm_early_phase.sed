# The consumers wait for the phase before the one in which their tiles arrive.
# Seen: they multiply what is in shared memory before a copy from memory has even begun: at first nothing
# that belongs to the matrices. Should a barrier take offence: a timeout.
#: template = gemm_tensor
#: file = gemm_tensor_wgmma.cuh
#: m = 1024
#: n = 1024
#: k = 1024
#: method = wgmma
s/barrier_wait(&barriers->full\[ring.stage\], ring.parity);/barrier_wait(\&barriers->full[ring.stage], ring.parity ^ 1);/
