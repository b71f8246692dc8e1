#!/usr/bin/env bats
# A large space takes little memory for each variant: a million stay below 1 GB. Not under sanitizers, which need more.
shared_cubins=yes
load helper

# large_sweep KIND PADS: a sweep of `odd` with PADS * PADS variants by two parameters: compiled; refused, with 500 KB
# of messages each; or launch parameters that change nothing
large_sweep() {
    local parameters='pad = 1\npud = 1'
    if [ "$1" != launch ]; then
        sed "s/^\[parameters\]/&\n$parameters/" "$sweeps/templates/scale.ini" | template odd
        sed -i '1i #if defined PAD && defined PUD && PAD + PUD < 0\n#error\n#endif' odd.cu
        if [ "$1" = refused ]; then
            { echo '#if PAD * PUD > 1'; for i in $(seq 400); do echo "int x$i = a$(printf '%01000d' "$i");"; done; echo '#endif'; } >>odd.cu
        fi
    else
        sed "s/^\[problem\]/[launch_parameters]\n$parameters\n&/" "$sweeps/templates/scale.ini" | template odd
    fi
    printf '[odd]\nn = 2^10\npad = 1..%d\npud = 1..%d\n' "$2" "$2" >sweep.ini
}

# peak_kb: the most memory that the run has taken so far
peak_kb() {
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$run/status"
}

# watch: until the run ends; $last is the peak of the last look before
watch() {
    while kb=$(peak_kb 2>/dev/null) && [ -n "$kb" ]; do
        last=$kb
        sleep 0.02
    done
}

# below VARIANTS: the peak is 20 MB and 1 kB for each variant at most
below() {
    local kb
    kb=$(peak_kb)
    echo "$kb kB for $1 variants"
    [ "$kb" -lt $((20000 + $1)) ]
}

@test "100,000 variants that each compile for themselves: less than 1 kB for each" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers need more memory"
    stand_in "log = $scratch/calls"
    large_sweep compiled 316
    start --config sweep.ini --quiet
    for _ in $(seq 600); do
        grep -q cuLaunchKernel calls 2>/dev/null && break
        sleep 0.1
    done
    sleep 1
    below 99856
    kill -INT "$run"
    wait "$run" || true
    has err "of 99856 variants are in the record"
}

@test "10,000 variants of one binary, to the end: less than 1 kB for each, and one measurement" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers need more memory"
    large_sweep launch 100
    start --config sweep.ini --quiet
    watch
    wait "$run"
    echo "$last kB"
    [ "$last" -lt 30000 ]
    has out "1 measured, 9999 duplicate"
}

@test "64 variants that are refused with long messages: less than 1 kB for each" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers need more memory"
    rm -rf cache # what is refused would be known
    large_sweep refused 8
    start --config sweep.ini --quiet
    watch
    wait "$run" || true
    echo "$last kB"
    [ "$last" -lt 30000 ]
    has out "63 compile_error"
}
