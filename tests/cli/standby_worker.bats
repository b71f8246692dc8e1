#!/usr/bin/env bats
# A second device worker waits for the deadline of a kernel that does not end (tuner/tune/standby_worker.h).
shared_cubins=yes
load helper

# hang_among_good: two good variants, and one that never ends and is killed after 4 s
hang_among_good() {
    sweep <<'INI'
launch_timeout_s = 4
[scale]
n = 2^12
block_size = 128, 256
mode = good, hang
constraint = block_size == 128 or mode == "good"
INI
}

# start ARGUMENTS: autotune in the background, in $run
start() {
    "$AUTOTUNE" "$@" >out 2>err </dev/null &
    run=$!
}

# ended: waits for it, exit code in $code
ended() {
    code=0
    wait "$run" || code=$?
}

# The device workers so far, in the order of their first call.
workers() {
    awk '!seen[$1]++ { print $1 }' calls
}

# standby_calls NAME: waits until a second worker has called that entry point; its pid in $standby, the first's in $first
standby_calls() {
    local i
    for i in $(seq 600); do
        first=$(workers 2>/dev/null | sed -n 1p)
        standby=$(workers 2>/dev/null | sed -n 2p)
        [ -z "$standby" ] || ! grep -q "^$standby $1" calls || return 0
        sleep 0.02
    done
    echo "no second worker calls $1"
    tail out err
    return 1
}

outcomes_are_right() {
    exits 0
    equal "$(count outcome measured)" 2
    equal "$(count outcome timeout)" 1
    none_alive
}

@test "its buffers are filled before the deadline, and it takes over" {
    stand_in "log = $scratch/calls"
    hang_among_good
    start --config sweep.ini --format csv --timings
    standby_calls cuLaunchKernel
    kill -0 "$first"
    ended
    outcomes_are_right
    equal "$(workers | wc -l)" 2
    has err "1    kernels hung until their deadline"
    # the hang may have been the last of the screening; then it is followed by the finals
    has err "s  from a deadline to the next variant's samples, median of 1"
}

@test "no variant hangs: there is no second worker, and nothing is said of it" {
    stand_in "log = $scratch/calls"
    sweep <<'INI'
[scale]
n = 2^12
INI
    autotune --config sweep.ini --timings
    exits 0
    equal "$(workers | wc -l)" 1
    lacks err deadline
}

@test "a standby worker that dies, fails or hangs is replaced in its turn" {
    hang_among_good
    export AUTOTUNE_WORKER_TIMEOUT_S=6
    for fault in cuInit:2:kill cuStreamCreate:2:CUDA_ERROR_UNKNOWN cuDevicePrimaryCtxRetain:2:hang; do
        stand_in "log = $scratch/calls" "fault = $fault"
        rm -f calls
        autotune --config sweep.ini --format csv --remeasure
        echo "$fault"
        outcomes_are_right
        equal "$(workers | wc -l)" 3
    done
}

@test "without room for the buffers twice, it waits with a context alone" {
    stand_in "log = $scratch/calls" memory_bytes=1000000000
    hang_among_good
    start --config sweep.ini --format csv
    standby_calls cuStreamCreate
    sleep 0.5
    kill -0 "$first"
    fails grep "^$standby cuMemAlloc" calls
    ended
    outcomes_are_right
    equal "$(workers | wc -l)" 2
    grep -q "^$standby cuMemAlloc" calls
}

@test "what the killed worker held may not be free at once" {
    stand_in "log = $scratch/calls" memory_bytes=1000000000
    hang_among_good
    start --config sweep.ini --format csv
    standby_calls cuStreamCreate
    allocations=$(grep -c cuMemAlloc calls)
    kill -KILL "$run"
    ended
    # without room for the buffers twice the standby worker's first allocations are after the kill
    stand_in memory_bytes=1000000000 "fault = cuMemAlloc:$((allocations + 1)):CUDA_ERROR_OUT_OF_MEMORY" \
        "fault = cuMemAlloc:$((allocations + 2)):CUDA_ERROR_OUT_OF_MEMORY"
    autotune --config sweep.ini --format csv --remeasure
    outcomes_are_right
}

@test "a variant that is merely slow: the standby worker goes, and what was beside it is measured again" {
    # in a container, where our own processes cannot be told by their numbers
    sweep <<'INI'
launch_timeout_s = 4
[scale]
n = 2^12
block_size = 64, 128, 256, 512
INI
    stand_in "log = $scratch/calls" pid_offset=100000
    autotune --config sweep.ini
    exits 0
    undisturbed=$(grep -c cuModuleLoadData calls)
    rm calls
    stand_in "log = $scratch/calls" "fault = cuStreamSynchronize:18:sleep1500" \
        "fault = cuStreamSynchronize:30:sleep200" pid_offset=100000 # another reading of NVML
    autotune --config sweep.ini --timings --remeasure
    exits 0
    first=$(workers | sed -n 1p)
    [ "$(grep -c "^$first cuModuleLoadData" calls)" -gt "$undisturbed" ]
    none_alive
    equal "$(workers | wc -l)" 2
    lacks err deadline
    has out "no other process on the GPU"
    autotune report --format csv
    equal "$(count outcome measured)" 4
}

@test "what finds no memory beside a standby worker is tried again" {
    sweep <<'INI'
launch_timeout_s = 4
[scale]
n = 2^12
block_size = 64, 128, 256, 512
INI
    stand_in
    autotune --config sweep.ini # compiled variants follow each other at once
    exits 0
    # the fifth module is the variant's behind the slow one, ahead of its trial; the sixth and seventh are the standby
    # worker's, and the eighth is the trial's
    stand_in "log = $scratch/calls" "fault = cuStreamSynchronize:18:sleep3000" \
        "fault = cuModuleLoadData:5:CUDA_ERROR_OUT_OF_MEMORY" "fault = cuModuleLoadData:8:CUDA_ERROR_OUT_OF_MEMORY"
    autotune --config sweep.ini --format csv --remeasure
    exits 0
    standby=$(workers | sed -n 2p)
    equal "$(grep cuModuleLoadData calls | sed -n '5,8p' | sed "s/^$standby /standby /; s/^[0-9]* /other /")" \
        "$(printf '%s cuModuleLoadData%s\n' other ' error' standby '' standby '' other ' error')"
    equal "$(count outcome measured)" 4
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
    exits 0
    equal "$(count outcome measured)" 2
    equal "$(count outcome fault)" 6
    none_alive
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

@test "Ctrl-C while it waits: exit 130, and no process is left" {
    stand_in "log = $scratch/calls"
    hang_among_good
    start --config sweep.ini
    standby_calls cuMemAlloc
    kill -INT "$run"
    ended
    exits 130
    none_alive
}

@test "SIGKILL of the coordinator while it waits: no process is left, and the next run goes on" {
    stand_in "log = $scratch/calls"
    hang_among_good
    start --config sweep.ini
    standby_calls cuMemAlloc
    kill -KILL "$run"
    ended
    none_alive
    stand_in
    autotune --config sweep.ini --format csv
    outcomes_are_right
}
