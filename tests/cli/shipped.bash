# Entries of tuned INIs, for tests of what is done with them.

# tuned FILE KERNEL-HASH GPU CAPABILITY N MEDIAN_NS [DATE [TEMPLATE_HASH]]: appends an entry
tuned() {
    cat >>"$1" <<INI

[scale $2]
kernel = scale
template = scale
template_hash = ${8:-0123456789abcdef0123456789abcdef}
gpu = $3
arch = sm_$4
compute_capability = $4
sm_count = 100
l2_bytes = 1000
memory_bytes = 1000
driver = 13.0
nvrtc = 13.0
autotune = 0.1.0
date = ${7:-2026-11-21T07:00:00Z}
cache = cold
problem.n = $5
problem.factor = 1.5
parameter.block_size = 64
parameter.num_load = 2
parameter.mode = good
median_ns = $6
low_ns = $6
high_ns = $6
samples = 30
registers = 10
blocks_per_sm = 4
occupancy = 1
INI
}

# cover FILE DATE [TEMPLATE_HASH GPU CAPABILITY]: appends a cover of two configurations
cover() {
    cat >>"$1" <<INI

[scale 0000c0e4]
kernel = scale
template = scale
template_hash = ${3:-0123456789abcdef0123456789abcdef}
gpu = ${4:-Alpha}
arch = sm_${5:-80}
compute_capability = ${5:-80}
sm_count = 100
l2_bytes = 1000
memory_bytes = 1000
driver = 13.0
nvrtc = 13.0
autotune = 0.1.0
date = $2
cache = cold
cover = 3
problem.factor = 1.5
range.n = 1024 .. 1048576
constraint = n % 2 == 0
allowed.1 = mode == "good" and (num_load == 1 or n % 20 ~= 4)
configuration.1.block_size = 64
configuration.1.num_load = 1
configuration.1.mode = good
configuration.2.block_size = 256
configuration.2.num_load = 2
configuration.2.mode = good
mean_loss_percent = 0.5
worst_loss_percent = 2.25
held_out_sizes = 7
measured.1 = n=1024: 2 3 us
measured.2 = n=65536: 3.0005 3.6 us
measured.3 = n=1048576: 12 9 us
INI
}
