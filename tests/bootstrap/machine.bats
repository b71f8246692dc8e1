#!/usr/bin/env bats
# What bootstrap.sh does can be tested only on some machines: without a driver, without a toolkit, as root.
load helper

without_driver() {
    [[ ! -e /dev/nvidiactl ]] || skip "this machine has an NVIDIA driver"
    unset LD_LIBRARY_PATH
}

@test "sudo installs where it may" {
    sed -i '/^gcc$/d' "$machine/installed"
    ((EUID == 0)) || skip "needs root to become somebody else"
    chmod -R a+rwX "$scratch"
    stand_in sudo 'echo sudo >>"$machine/calls"; [[ $1 == -n ]] || exec "$@"'
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$tree/bootstrap.sh" build
    [ "$status" -eq 0 ]
    grep -A1 -x sudo "$machine/calls" | grep -q 'apt-get install .* gcc'
}

@test "without a driver run says so and adds --arch sm_90" {
    without_driver
    run "$tree/bootstrap.sh" run --quiet
    [ "$status" -eq 0 ]
    [[ $output == *"no NVIDIA driver"* ]]
    [ "${lines[-1]}" = "autotune --config configs/sweep.ini --arch sm_90 --quiet" ]
}

@test "a driver is found in the linker's cache" {
    without_driver
    printf '\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n' >"$machine/linker_cache"
    run "$tree/bootstrap.sh" run
    [ "${lines[-1]}" = "autotune --config configs/sweep.ini" ]
}

@test "a toolkit is found through the linker's cache" {
    [[ ! -e /usr/local/cuda ]] || skip "this machine has a CUDA Toolkit in /usr/local/cuda"
    printf '\tlibnvrtc.so.13 (libc6,x86-64) => %s/lib/libnvrtc.so.13\n' "$CUDA_HOME" >"$machine/linker_cache"
    root=$CUDA_HOME
    unset CUDA_HOME
    "$tree/bootstrap.sh" build
    grep -q -- "-DAUTOTUNE_CUDA_ROOT=$root" "$machine/calls"
}
