#!/usr/bin/env bats
# Device workers that hang, fault and die, and those that take over from them.
shared_cubins=yes
load helper

# hang_among_good: two good variants, and one that never ends
hang_among_good() {
    sweep <<'INI'
launch_timeout_s = 1
[scale]
n = 2^12
block_size = 128, 256
mode = good, hang
constraint = block_size == 128 or mode == "good"
INI
}

# The device workers so far, in the order of their first call.
workers() {
    awk '!seen[$1]++ { print $1 }' calls
}

# tuned TIMEOUTS: both good variants are measured, and so many hang; no process is left
tuned() {
    exits 0
    equal "$(count outcome measured)" 2
    equal "$(count outcome timeout)" "$1"
    none_alive
}

@test "a kernel that never ends: another worker takes over" {
    stand_in "log = $scratch/calls"
    hang_among_good
    autotune --config sweep.ini --format csv
    tuned 1
    equal "$(workers | wc -l)" 2
}

@test "what the killed worker held may not be free at once" {
    stand_in "log = $scratch/calls"
    hang_among_good
    autotune --config sweep.ini
    first=$(workers | sed -n 1p)
    allocations=$(grep -c "^$first cuMemAlloc" calls)
    stand_in "fault = cuMemAlloc:$((allocations + 1)):CUDA_ERROR_OUT_OF_MEMORY" \
        "fault = cuMemAlloc:$((allocations + 2)):CUDA_ERROR_OUT_OF_MEMORY"
    autotune --config sweep.ini --format csv --remeasure
    tuned 1
}

@test "a variant that is merely slow is measured, by the same worker" {
    printf 'launch_timeout_s = 1\n[scale]\nn = 2^12\nblock_size = 128, 256\n' | sweep
    stand_in "log = $scratch/calls" "fault = cuStreamSynchronize:18:sleep800"
    autotune --config sweep.ini --format csv
    tuned 0
    equal "$(workers | wc -l)" 1
}

# faults_among_good: tunes two good variants and six that fault; each has its outcome, and no process is left
faults_among_good() {
    sweep <<'INI'
[scale]
n = 2^12
block_size = 32..256 step 32
mode = good, fault
constraint = mode == "fault" and block_size < 224 or mode == "good" and block_size >= 224
INI
    autotune --config sweep.ini --format csv
    equal "$(count outcome fault)" 6
    tuned 0
}

@test "variants that fault one after another: each worker has a successor" {
    stand_in "log = $scratch/calls"
    faults_among_good
    equal "$(workers | wc -l)" 7
}

@test "a successor that dies has one in its turn" {
    stand_in "log = $scratch/calls" "fault = cuInit:3:kill" "fault = cuInit:5:kill"
    faults_among_good
    equal "$(workers | wc -l)" 9
}
