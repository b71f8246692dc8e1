#!/usr/bin/env bats
# Failures of the driver, the compiler and the disk: a clear message, the right exit code, nothing left behind.
shared_cubins=yes
load helper

@test "the driver fails before anything is tuned: exit 3 with the call's name" {
    for call in cuInit cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRetain cuStreamCreate; do
        stand_in "fault=$call:*:CUDA_ERROR_UNKNOWN"
        expect 3 --config "$sweeps/scale.ini"
        has err "$call" CUDA_ERROR_UNKNOWN
        [ ! -e results/tuned.ini ]
    done
}

@test "an entry point that the driver lacks: exit 3, naming it" {
    stand_in "missing=cuLaunchCooperativeKernel"
    expect 3 --config "$sweeps/scale.ini"
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
    expect 3 --config "$sweeps/scale.ini"
    has err "$scratch/nothing/libnvrtc.so"
}

@test "a results folder that cannot be made: exit 4" {
    echo "in the way" >results
    expect 4 --config "$sweeps/scale.ini"
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

@test "a disk that is full: exit 4, the tuned INI as it was" {
    expect 0 --config "$sweeps/scale.ini" --kernel scale
    cp results/tuned.ini before
    [ -w /dev/full ] || skip "no /dev/full"
    code=0
    "$AUTOTUNE" report >/dev/full 2>err || code=$?
    exits 4
    cmp before results/tuned.ini
}

@test "a damaged cubin in the cache is compiled again" {
    rm -rf cache
    sweep "[scale]" "num_load = 1, 4, 16"
    expect 0 --config sweep.ini
    cp -r cache good
    find cache -type f | while read -r file; do
        truncate -s -1 "$file"
    done
    rm -rf results
    measures 3 --config sweep.ini
}

@test "a cubin that is damaged during the run is compiled again, in the screening and in the finals" {
    rm -rf cache
    sweep "[scale]" "num_load = 1, 4, 16"
    expect 0 --config sweep.ini
    for call in 3 5; do # the modules of the first variant and of the last
        stand_in "fault = cuModuleLoadData:$call:sleep1500" "log = $scratch/calls"
        rm -f calls
        "$AUTOTUNE" --config sweep.ini --remeasure --format csv >out 2>err </dev/null &
        for ((loads = 0; loads < call; )); do
            sleep 0.1
            loads=$(grep -c cuModuleLoadData calls || true)
        done
        find cache/cubin/?? -type f | while read -r file; do
            truncate -s -1 "$file"
        done
        code=0
        wait $! || code=$?
        exits 0
        equal "$(count outcome measured)" 3
    done
}

@test "an error of the GPU itself, such as ECC, costs no variant: it is tried again" {
    stand_in "fault = cuStreamSynchronize:20:CUDA_ERROR_ECC_UNCORRECTABLE" "log = $scratch/calls"
    expect 0 --config "$sweeps/scale.ini"
    grep -q 'cuStreamSynchronize error' calls
    recorded 9
}

@test "too few file descriptors: an error that names the limit, not a crash" {
    stand_in "devices=3"
    for ((descriptors = 5; descriptors < 16; descriptors++)); do
        code=0
        (ulimit -n "$descriptors" && exec "$AUTOTUNE" --config "$sweeps/scale.ini" --device all --timings) \
            >out 2>err </dev/null 3>&- || code=$?
        [ "$code" -le 4 ] || exits 4 # not that of a signal
        [ "$code" -eq 0 ] || has err "raise the limit with 'ulimit -n 1024'"
        lacks err "look at its disk" "remove it"
    done
}

@test "a worker that cannot read its requests blames nothing that it was asked, and says why" {
    code=0
    echo nonsense | "$AUTOTUNE" worker device 0 >out 2>err || code=$?
    exits 137 # as if it had been killed from outside
    has err "a message is not JSON"
}
