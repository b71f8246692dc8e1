#!/usr/bin/env bats
# Failures of the driver, the compiler and the disk: a clear message, the right exit code, nothing left behind.
load helper

@test "the driver fails before anything is tuned: exit 3 with the call's name" {
    for call in cuInit cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRetain cuStreamCreate; do
        stand_in "fault=$call:*:CUDA_ERROR_UNKNOWN"
        autotune --config "$sweeps/scale.ini"
        exits 3
        has err "$call" CUDA_ERROR_UNKNOWN
        [ ! -e results/tuned.ini ]
    done
}

@test "an entry point that the driver lacks: exit 3, naming it" {
    stand_in "missing=cuLaunchCooperativeKernel"
    autotune --config "$sweeps/scale.ini"
    exits 3
    has err cuLaunchCooperativeKernel
}

@test "the device worker dies at every start: exit 3 or 4, and an end" {
    stand_in "fault=cuDevicePrimaryCtxRetain:*:kill"
    autotune --config "$sweeps/scale.ini"
    [ "$code" -eq 3 ] || exits 4
    [ -s err ]
    none_alive
}

@test "NVRTC is not there: exit 3, naming where it was looked for" {
    export AUTOTUNE_NVRTC=$scratch/nothing/libnvrtc.so
    autotune --config "$sweeps/scale.ini"
    exits 3
    has err "$scratch/nothing/libnvrtc.so"
}

@test "a results folder that cannot be made: exit 4" {
    echo "in the way" >results
    autotune --config "$sweeps/scale.ini"
    exits 4
    has err results
    equal "$(cat results)" "in the way"
}

@test "a tuned INI that is none is left alone" {
    mkdir results
    echo "these are not the lines you are looking for" >results/tuned.ini
    cp results/tuned.ini before
    autotune --config "$sweeps/scale.ini"
    [ "$code" -eq 4 ] || exits 2
    has err tuned.ini
    cmp before results/tuned.ini
}

@test "a tuned INI that cannot be written: exit 4, and what was measured is kept" {
    mkdir elsewhere
    echo "in the way" >elsewhere/file
    autotune --config "$sweeps/scale.ini" --tuned elsewhere/file/tuned.ini
    exits 4
    autotune report --format csv
    exits 0
    equal "$(count outcome measured)" 9
}

@test "a disk that is full: exit 4, the tuned INI as it was" {
    autotune --config "$sweeps/scale.ini" --kernel scale
    exits 0
    cp results/tuned.ini before
    [ -w /dev/full ] || skip "no /dev/full"
    code=0
    "$AUTOTUNE" report >/dev/full 2>err || code=$?
    exits 4
    cmp before results/tuned.ini
}

@test "a damaged cubin in the cache is compiled again" {
    autotune --config "$sweeps/scale.ini"
    exits 0
    cp -r cache good
    find cache -type f | while read -r file; do
        truncate -s -1 "$file"
    done
    rm -rf results
    autotune --config "$sweeps/scale.ini" --format csv
    exits 0
    equal "$(count outcome measured)" 9
}

# The Nth call of the driver fails, hangs or kills, for N over a whole run in steps: either the right outcomes
# or a clear error, the record readable, nobody left.
@test "a walk over the calls of a small sweep" {
    stand_in "log = $scratch/calls"
    printf '[scale]\nn = 2^10\nnum_load = 1, 4\n' | sweep
    autotune --config sweep.ini
    exits 0
    total=$(wc -l <calls)
    [ "$total" -gt 100 ]
    for step in $(seq 24); do
        call=$((1 + (step - 1) * total / 24))
        case $((step % 2)) in
        0) action=CUDA_ERROR_UNKNOWN ;;
        1) action=kill ;;
        esac
        rm -rf results
        stand_in "fault=any:$call:$action"
        autotune --config sweep.ini --format csv
        echo "call $call of $total, $action: exit code $code"
        case $code in
        0) equal "$(column outcome | wc -l)" 2 ;;
        1 | 3 | 4) [ -s err ] ;;
        *) exits 0 ;;
        esac
        [ "$code" -eq 0 ] || [ ! -e results/tuned.ini ] || grep -q '^kernel = scale$' results/tuned.ini
        none_alive
        stand_in
        autotune --config sweep.ini --format csv
        exits 0
        equal "$(column outcome | wc -l)" 2
    done
}
