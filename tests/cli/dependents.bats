#!/usr/bin/env bats
# Buffers, fills and expected results that depend on parameters: made once for each combination of just those values,
# within the memory that is there, and no variant is ever compared with another's.
shared_cubins=yes
load helper

# march LINES: a sweep of the template `march`, whose results depend on `steps` and whose length on `pad`
march() {
    printf '%s\n' '[march]' "$@" | sweep
}

# Of mode `fixed`, which always takes one step, only the variants with one step are right.
fixed_outcomes="fixed:0:1:measured fixed:0:2:wrong_result fixed:0:3:wrong_result fixed:2:1:measured fixed:2:2:wrong_result fixed:2:3:wrong_result"
good_outcomes="good:0:1:measured good:0:2:measured good:0:3:measured good:2:1:measured good:2:2:measured good:2:3:measured"

@test "each variant is compared with its own expected result, made once for each combination of values" {
    local entry launches
    while read -r entry launches; do
        stand_in "log = $scratch/calls" "note = $entry"
        march 'steps = 1..3' 'pad = 0, 2' 'mode = good, fixed'
        rm -rf results calls
        expect 0 --config sweep.ini --format csv
        equal "$(rows mode pad steps outcome)" "$fixed_outcomes $good_outcomes "
        equal "$(grep -c " launch $entry$" calls)" "$launches"
    done <<'END'
march_reference 6
march_fill 2
march_weights 1
END
}

@test "variants that run the same, but must compute different results, are no duplicates" {
    march 'steps = 1..3'
    sed -i 's/: steps),$/: 2),/' templates/march.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows steps outcome)" "1:wrong_result 2:measured 3:wrong_result "
}

@test "a tolerance that depends on a parameter is the variant's own" {
    march 'steps = 1..3'
    sed -i 's/: steps),$/: 2),/;s/^compare = .*/compare = absolute(steps - 2)/' templates/march.ini
    sed -i 's/^steps = 1$/steps = 2/' templates/march.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows steps outcome)" "1:invalid 2:measured 3:measured "
}

@test "after a worker's death the next one makes them again, each its own" {
    march 'steps = 1..3' 'mode = good, fixed, fault'
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode steps outcome)" "fault:1:fault fault:2:fault fault:3:fault \
fixed:1:measured fixed:2:wrong_result fixed:3:wrong_result good:1:measured good:2:measured good:3:measured "
}

@test "after a write out of bounds they are made again" {
    march 'steps = 1..3' 'mode = good, fixed, overrun, spoil'
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode steps outcome)" "fixed:1:measured fixed:2:wrong_result fixed:3:wrong_result \
good:1:measured good:2:measured good:3:measured \
overrun:1:wrong_result overrun:2:wrong_result overrun:3:wrong_result \
spoil:1:wrong_result spoil:2:wrong_result spoil:3:wrong_result "
}

@test "after Ctrl-C the next run goes on with each variant's own" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:6:hang"
    march 'steps = 1..3' 'pad = 0, 2' 'mode = good, fixed'
    interrupt --config sweep.ini --jobs 1
    stand_in
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode pad steps outcome)" "$fixed_outcomes $good_outcomes "
}

@test "with memory for one combination, what was not used for longest is freed and made again" {
    # 4 MiB for scratch, 2 MiB for the flush, and 8 MiB for each combination
    stand_in "log = $scratch/calls" "note = march_reference" memory_bytes=20500000 l2_bytes=1048576
    march 'n = 2^19' 'steps = 1..3' 'mode = good, fixed'
    expect 0 --config sweep.ini --exhaustive=2 --format csv
    equal "$(rows mode steps outcome)" "fixed:1:measured fixed:2:wrong_result fixed:3:wrong_result \
good:1:measured good:2:measured good:3:measured "
    [ "$(grep -c ' launch march_reference$' calls)" -gt 3 ]
}

@test "a combination that does not fit costs its own variants, and is tried again only if the GPU has as much" {
    stand_in memory_bytes=27500000 l2_bytes=1048576
    march 'pad = 0, 2^20, 1' 'steps = 1'
    expect 0 --config sweep.ini --format csv
    equal "$(rows pad outcome)" "0:measured 1048576:launch_error 1:measured "
    has out "no memory for the buffers and expected results of steps=1 pad=1048576"
    nothing_to_do --config sweep.ini
    stand_in memory_bytes=100000000 memory_taken=72500000 l2_bytes=1048576
    autotune --config sweep.ini --results others --format csv
    stand_in memory_bytes=100000000 l2_bytes=1048576
    measures 3 --config sweep.ini --results others
}

@test "an expression or a reference that fails for some values makes just their variants invalid" {
    march 'pad = 0, -600' 'steps = 1, 8'
    sed -i 's/^reference = .*/&\nshared_bytes = 40000 * steps/' templates/march.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows pad steps outcome)" "-600:1:invalid -600:8:invalid 0:1:measured 0:8:invalid "
    reasons "march.ini:23: cannot evaluate 'n + 2 * pad': the length is negative (n = 1024, pad = -600)" \
        "reference 'march_reference': cuFuncSetAttribute failed"
    nothing_to_do --config sweep.ini
}

@test "a reference that crashes takes only its variants' validity" {
    march 'steps = 1, 2'
    sed -i 's/^reference = .*/reference = march_faulty_reference/' templates/march.ini
    expect 1 --config sweep.ini --format csv
    equal "$(rows steps outcome)" "1:invalid 2:invalid "
    reasons "march.ini:37: reference 'march_faulty_reference':" CUDA_ERROR_ILLEGAL_ADDRESS
    # it may have been the driver that failed: the next run tries again
    expect 1 --config sweep.ini
    lacks err "nothing to do"
}

@test "a driver that fails while expected results are made costs no variant" {
    local call
    stand_in "log = $scratch/calls" "note = march_reference"
    march 'steps = 1..3'
    expect 0 --config sweep.ini
    # the wait for the second reference
    call=$(awk '/cuStreamSynchronize/ { waits++ } /launch march_reference/ && ++made == 2 { print waits + 1 }' calls)
    rm -rf results
    stand_in "fault = cuStreamSynchronize:$call:CUDA_ERROR_UNKNOWN" "log = $scratch/failing_calls"
    expect 0 --config sweep.ini --format csv
    has failing_calls "cuStreamSynchronize error"
    equal "$(rows steps outcome)" "1:measured 2:measured 3:measured "
}

@test "a slow reference is not the variant's fault, and one that hangs leaves out the problem alone" {
    printf 'launch_timeout_s = 0.3\n[march]\nsteps = 2\n' | sweep
    sed -i 's/^reference = .*/reference = march_slow_reference/' templates/march.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows steps outcome)" "2:measured "
    printf '[march]\nsteps = 2\n[tile]\n' | sweep
    sed -i 's/^reference = .*/reference = march_hanging_reference/' templates/march.ini
    AUTOTUNE_WORKER_TIMEOUT_S=1 autotune --config sweep.ini --format csv
    exits 4
    has err "the GPU worker did not end within 1 s while it prepared the expected results of a variant"
    column outcome >outcomes
    has outcomes measured
    none_alive
}

@test "run: the buffers and expected results of its variant" {
    cp "$sweeps"/templates/march.* .
    expect 0 run --template march.ini --set steps=3 --set pad=4
    expect 1 run --template march.ini --set steps=3 --set mode=fixed
    has out "wrong_result: state[0] is 0.5, expected 1.625"
}

@test "textures are of the buffers that were made again" {
    # 4 MiB for scratch, 2 MiB for the flush, 1 MiB for the output and 3 MiB for each combination
    stand_in "log = $scratch/calls" "note = blur_reference" memory_bytes=25500000 l2_bytes=1048576
    printf '[blur]\nwidth = 512\nheight = 512\nblock_size = 64, 128, 256\nmethod = fetch, point\n' | sweep
    sed -i 's/^fill = .*/fill = integers(-100, 100, block_size)/' templates/blur.ini
    measures 6 --config sweep.ini --exhaustive=2
    [ "$(grep -c ' launch blur_reference$' calls)" -gt 3 ]
}
