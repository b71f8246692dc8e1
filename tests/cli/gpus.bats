#!/usr/bin/env bats
# GPUs: which there are, which is tuned, and what happens where there is none.
shared_cubins=yes
load helper

@test "devices lists each GPU with every attribute that expressions can use" {
    stand_in "devices=2" "name=Stand-in A"
    expect 0 devices
    equal "$(grep -c 'Stand-in A' out)" 2
    has out sm_count 132 max_threads_per_sm 2048 l2_bytes 62914560 compute_capability 90 memory_bytes 4294967296 \
        registers_per_sm 65536 max_shared_bytes_per_block_optin 232448 cooperative_launch
}

@test "devices without a GPU: exit 3" {
    stand_in "devices=0"
    expect 3 devices
    has err CUDA_ERROR_NO_DEVICE
}

@test "tuning without a driver: exit 3, and the way out" {
    export LD_LIBRARY_PATH=$scratch/nothing
    expect 3 --config "$sweeps/scale.ini"
    has err --arch
    [ ! -e results/tuned.ini ]
}

@test "tuning without a GPU: exit 3" {
    stand_in "devices=0"
    expect 3 --config "$sweeps/scale.ini"
    has err CUDA_ERROR_NO_DEVICE
}

@test "a driver that is too old: exit 3" {
    stand_in "driver_version=11040"
    expect 3 --config "$sweeps/scale.ini"
    has err 11.4 12.0
}

@test "--device beyond the last: exit 3 or 2, naming it" {
    autotune --config "$sweeps/scale.ini" --device 1
    [ "$code" -eq 2 ] || exits 3
    has err 1
    [ ! -e results/tuned.ini ]
}

@test "--device chooses among several" {
    stand_in "devices=2"
    expect 0 --config "$sweeps/scale.ini" --device 1
    has results/tuned.ini "kernel = scale"
}

@test "the tuned INI accumulates GPUs and leaves the others alone" {
    stand_in "name=GPU A"
    expect 0 --config "$sweeps/scale.ini"
    cp results/tuned.ini first
    stand_in "name=GPU B" "best_block=1024"
    expect 0 --config "$sweeps/scale.ini"
    equal "$(sed -n 's/^gpu = //p' results/tuned.ini | sort | tr '\n' ' ')" "GPU A GPU B "
    while read -r line; do
        grep -qxF -- "$line" results/tuned.ini
    done < <(grep -v '^;' first | grep .)
    ls results/gpu-a/scale/*.csv results/gpu-b/scale/*.csv
}

@test "tuning again on the same GPU replaces its entry" {
    expect 0 --config "$sweeps/scale.ini"
    rm -rf results/*.db* results/*sqlite* results/record*
    stand_in "best_block=1024" "best_grid=16"
    expect 0 --config "$sweeps/scale.ini"
    equal "$(grep -c '^gpu = ' results/tuned.ini)" 1
    has results/tuned.ini "parameter.block_size = 1024"
}

# measures_again DRIVER: as the tuned INI calls it
measures_again() {
    stand_in "${settings[@]}" "log = $scratch/calls"
    expect 0 --config "$sweeps/scale.ini"
    grep -q cuLaunchKernel calls
    has results/tuned.ini "driver = $1"
    rm calls
    nothing_to_do --config "$sweeps/scale.ini"
}

@test "another driver measures again, also one of the same CUDA version" {
    settings=()
    measures_again "13.0 (580.95.05)"
    settings=(driver_version=13010)
    measures_again "13.1 (580.95.05)"
    settings+=(driver_build=580.126.09)
    measures_again "13.1 (580.126.09)"
    # its library's file says which it is, even without NVML
    settings+=(nvml=0)
    measures_again "13.1"
    has err "tells only its CUDA version, 13.1" "--remeasure"
    mkdir driver
    cp "$BUILD_DIR/tests/standin/libcuda.so.1" driver/libcuda.so.580.142
    ln -s libcuda.so.580.142 driver/libcuda.so.1
    export LD_LIBRARY_PATH=$scratch/driver
    measures_again "13.1 (580.142)"
    lacks err "CUDA version"
}

@test "a problem larger than the GPU's memory is refused before anything is compiled or launched" {
    rm -rf cache
    stand_in "memory_bytes=300000000" "log = $scratch/calls"
    sweep "[scale]" "n = 2^26"
    expect 3 --config sweep.ini
    # in, out and the expected result (in double) of 2^26 elements, twice the L2, 4 MiB, guards
    has err "scale.ini: problem 'n=67108864 factor=1.5' needs 1.204 GB of device memory" \
        "(buffer 'in' alone 268.4 MB), but 300 MB is all that the GPU has" \
        "choose a smaller problem or free memory" "1 of 1 problems"
    lacks calls cuMemAlloc
    equal "$(find . -path '*/cubin/??/*')" ""
    [ ! -e results/tuned.ini ]
}

@test "what is not free is refused when the problem is opened; other problems go on" {
    stand_in "memory_bytes=300000000" "memory_taken=150000000"
    sweep "launch_timeout_s = 60" "[scale]" "n = 2^22, 2^12" "block_size = 64, 256"
    expect 3 --config sweep.ini --format csv
    has err "scale.ini: problem 'n=4194304 factor=1.5' needs 197.2 MB of device memory" \
        "(buffer 'in' alone 16.79 MB), but 150 MB are free;" \
        "1 of 2 problems do not fit in the device's memory; the others are done"
    equal "$(column n | sort -u)" 4096
    equal "$(count outcome measured)" 2
    has results/tuned.ini "parameter.block_size"
    # refused, it is not in the record as anything: with room it is tuned
    stand_in "memory_bytes=300000000"
    measures 4 --config sweep.ini
}

# hungry MB...: a sweep of variants with so much scratch memory
hungry() {
    local sizes=$*
    sweep <<INI
[hungry]
block_size = 64, 256
scratch_mb = ${sizes// /, }
INI
    sed -e 's/^\[problem\]/[launch_parameters]\nscratch_mb = 1\n\n&/' -e 's/^\[buffer.out\]/[buffer.more]\ntype = uint8\nlength = scratch_mb * 1000000\naccess = scratch\n\n&/' \
        templates/scale.ini >templates/hungry.ini
    cp templates/scale.cu templates/hungry.cu
}

@test "in the middle of a sweep, a variant without memory is a launch_error" {
    stand_in "memory_bytes=1000000000"
    hungry 1 2000
    expect 0 --config sweep.ini --format csv
    equal "$(count outcome launch_error)" 2
    equal "$(count outcome measured)" 2
    has out CUDA_ERROR_OUT_OF_MEMORY
    nothing_to_do --config sweep.ini
}

@test "a variant without memory is tried again in the next run if the GPU has as much" {
    stand_in "memory_bytes=1000000000" "memory_taken=500000000"
    hungry 1 600
    expect 0 --config sweep.ini --format csv
    equal "$(count outcome launch_error)" 2
    stand_in "memory_bytes=1000000000"
    measures 4 --config sweep.ini
}

# How many GPUs each process was shown, and how often: "2:1 1:2".
shown() {
    sed -n 's/.* shows \([0-9]*\) of .*/\1/p' calls | sort -rn | uniq -c | while read -r times count; do
        echo "$count:$times"
    done | paste -sd ' '
}

@test "of several GPUs, each worker has the driver show its own alone" {
    stand_in "devices=2" "log = $scratch/calls"
    expect 0 --config "$sweeps/scale.ini" --device all
    equal "$(shown)" "2:1 1:2"
}

@test "a GPU worker and its successor see their own GPU alone" {
    stand_in "devices=3" "log = $scratch/calls" "fault = cuLaunchKernel:20:kill"
    expect 0 --config "$sweeps/scale.ini" --device 1
    equal "$(shown)" "1:2"
    has results/*/scale/*.csv GPU-01020304
}

@test "CUDA_VISIBLE_DEVICES says which GPUs there are, and in which order" {
    stand_in "devices=3" "log = $scratch/calls"
    export CUDA_VISIBLE_DEVICES=2,GPU-00010203
    expect 0 devices
    equal "$(grep -o 'GPU-0[0-9]' out | tr '\n' ' ')" "GPU-02 GPU-00 "
    rm calls
    expect 0 --config "$sweeps/scale.ini" --device all
    equal "$(shown)" "2:1 1:2"
    expect 3 --config "$sweeps/scale.ini" --device 2
    has err "device 2 not found; there are 2"
    export CUDA_VISIBLE_DEVICES=1
    rm calls
    expect 0 --config "$sweeps/scale.ini" --device all --remeasure
    equal "$(shown)" "1:2"
    export CUDA_VISIBLE_DEVICES=
    expect 3 --config "$sweeps/scale.ini"
}
