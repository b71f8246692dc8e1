# Entries of tuned INIs, for tests of what is done with them.

# begin_entry HASH GPU CAPABILITY DATE [TEMPLATE_HASH]: what every entry begins with
begin_entry() {
    cat <<INI

[scale $1]
kernel = scale
template = scale
template_hash = ${5:-0123456789abcdef0123456789abcdef}
gpu = $2
arch = sm_$3
compute_capability = $3
sm_count = 100
l2_bytes = 1000
memory_bytes = 1000
driver = 13.0
nvrtc = 13.0
autotune = 0.1.0
date = $4
cache = cold
INI
}

# tuned FILE KERNEL-HASH GPU CAPABILITY N MEDIAN_NS [DATE [TEMPLATE_HASH]]: appends an entry
tuned() {
    begin_entry "$2" "$3" "$4" "${7:-2026-11-21T07:00:00Z}" "${8-}" >>"$1"
    cat >>"$1" <<INI
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
    begin_entry 0000c0e4 "${4:-Alpha}" "${5:-80}" "$2" "${3-}" >>"$1"
    cat >>"$1" <<INI
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
