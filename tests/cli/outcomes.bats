#!/usr/bin/env bats
# Every variant has exactly one outcome, with its reason; failures are data.
shared_cubins=yes
load helper

# outcome_of MODE: outcomes of its variants
outcome_of() {
    paste -d: <(column mode) <(column outcome) | sed -n "s/^$1://p" | sort -u
}

@test "each way to fail has its outcome and its reason; the good ones are measured, and one of them wins" {
    expect 0 --config "$sweeps/outcomes.ini" --format csv
    equal "$(column outcome | wc -l)" 14
    equal "$(count outcome measured)" 2
    equal "$(outcome_of good)" measured
    equal "$(outcome_of broken)" compile_error
    for mode in wrong partial overrun underrun modify_input; do
        equal "$mode $(outcome_of $mode)" "$mode wrong_result"
    done
    equal "$(outcome_of hang)" timeout
    equal "$(outcome_of fault)" fault
    equal "$(outcome_of trap)" fault
    equal "$(outcome_of too_large)" launch_error
    equal "$(outcome_of too_many)" not_resident
    equal "$(outcome_of constrained)" constraint
    has results/tuned.ini "parameter.mode = good"
    equal "$(grep -c '^kernel' results/tuned.ini)" 1

    expect 0 --config "$sweeps/outcomes.ini"
    has out CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_LAUNCH_FAILED "block of launch 'too_large' has 256 threads" \
        "#error directive" "'in'" "'out'"
    for outcome in measured compile_error wrong_result timeout fault launch_error not_resident constraint; do
        has out $outcome
    done
}

# invalid_at_64 KEY EXPRESSION TEXT...: with that line in the template, block_size = 64 is invalid, whose reason has TEXT,
# and 256 is measured; run again, nothing is left to do
invalid_at_64() {
    local line="$1 = $2"
    rm -rf results odd.ini odd.cu
    case $1 in
    shared_bytes) sed "s|^block = block_size$|&\n$line|" "$sweeps/templates/scale.ini" ;;
    *) sed "s|^$1 = .*|$line|" "$sweeps/templates/scale.ini" ;;
    esac | sed '/^\[launch.wrong\]/,/^\[expect/{/^\[expect/!d}' | template odd
    printf '[odd]\nn = 2^12\nblock_size = 64, 256\n' >sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows block_size outcome)" "256:measured 64:invalid "
    shift 2
    has out "block_size = 64" "$@"
    nothing_to_do --config sweep.ini --format csv
    equal "$(count outcome invalid)" 1
}

@test "an expression that fails for one variant is that variant's outcome, and the others are measured" {
    invalid_at_64 grid "ceil_div(n, block_size - 64)" "ceil_div(n, block_size - 64)"
    invalid_at_64 grid "block_size - 128" "block_size - 128" "grid of launch 'good' would be -64"
    invalid_at_64 block "block_size - 128" "block of launch 'good' would be -64"
    invalid_at_64 shared_bytes "block_size - 128" "shared_bytes of launch 'good' would be -64"
    invalid_at_64 bytes "1e300 ^ (256 // block_size)" "1e300 ^ (256 // block_size)"
    invalid_at_64 bytes "1e300 ^ (256 // block_size) - 1e300 ^ (256 // block_size)" "1e300"
    invalid_at_64 operations "block_size - 128" "a metric must be a finite number from 0 on"
    invalid_at_64 constraint "registers // (block_size - 64) >= 0" "registers // (block_size - 64)"
}

@test "a grid whose number of blocks does not fit in 64 bits is invalid, not left out" {
    sed '0,/^grid = .*/s//grid = 2^21, 2^21, 2^22/' "$sweeps/templates/scale.ini" | template odd
    printf '[odd]\nblock_size = 64\n' >sweep.ini
    expect 1 --config sweep.ini --format csv
    equal "$(column outcome)" invalid
    has out "2097152 * 2097152 * 4194304"
}

@test "a variant that launches nothing has no time" {
    printf '[sweep]\n[scale]\nn = 0\nblock_size = 64, 256\n' >sweep.ini
    cp "$sweeps"/templates/scale.* .
    for mode in "" "--arch=sm_90"; do
        expect 1 --config sweep.ini --format csv ${mode:+"$mode"}
        equal "$(count outcome invalid)" 2
        has out "launches nothing"
        [ ! -e results/tuned.ini ]
    done
}

@test "arguments that are not the kernel's never reach the driver" {
    local arguments
    stand_in "log = $scratch/calls"
    for arguments in "in, out, float factor" "in, out, float factor, uint64 n, uint64 n" \
        "in, out, float factor, uint32 n"; do
        # of the reference alone are they right
        sed "/^\[launch.good/,/^arguments/s/^arguments = .*/arguments = $arguments/" "$sweeps/templates/scale.ini" | template odd
        printf '[odd]\nblock_size = 64\n' >sweep.ini
        for mode in "" "--arch=sm_90"; do
            rm -rf results calls
            expect 1 --config sweep.ini --format csv ${mode:+"$mode"}
            equal "$(column outcome)" invalid
            has out "kernel 'scale_good' has " "; 'arguments' gives "
        done
    done
    sed "/^reference/{n;s/^arguments = .*/arguments = in, reference/}" "$sweeps/templates/scale.ini" | template odd
    expect 2 --config sweep.ini
    has err "odd.ini:" "kernel 'scale_reference' has 4 parameters"
}

@test "a tolerance that lets everything pass is refused" {
    for tolerance in 1e999 "1e300 * 1e300" "1e300 * n * 1e300" -1; do
        sed "s/compare = .*/compare = relative($tolerance)/" "$sweeps/templates/scale.ini" | template odd
        printf '[odd]\nmode = good, wrong\n' >sweep.ini
        rm -rf results
        autotune --config sweep.ini --format csv
        [ "$code" -ne 0 ]
        equal "$(count outcome measured)" 0
        cat out err | grep -E "does not fit in a double|a tolerance must be a finite number from 0 on"
    done
}

@test "an expression has its parentheses in pairs, wherever it stands" {
    for edit in "s/^grid = .*/grid = 1) + (1/" "s/^length = n/length = n) + (1/" "s/compare = .*/compare = relative(1) + (1)/"; do
        sed "$edit" "$sweeps/templates/scale.ini" | template odd
        printf '[odd]\n' >sweep.ini
        expect 2 --config sweep.ini
        has err "odd.ini:" "unexpected character ')'"
    done
}

@test "in static mode as well" {
    sed 's/^grid = .*/grid = ceil_div(n, block_size - 64)/' "$sweeps/templates/scale.ini" | template odd
    printf '[odd]\nblock_size = 64, 256\n' >sweep.ini
    expect 0 --config sweep.ini --arch sm_90 --format csv
    equal "$(column outcome | sort | tr '\n' ' ')" "compiled invalid "
}

@test "a problem that makes no sense has invalid variants, and the other problems are tuned" {
    sweep "[scale]" "n = -1, 2^12" "block_size = 64, 256"
    expect 1 --config sweep.ini --format csv
    equal "$(count outcome invalid)" 2
    equal "$(count outcome measured)" 2
    has out "n = -1" "the length is negative"
    has err "no variant of 'scale' was valid for n=-1"
    has results/tuned.ini "problem.n = 4096"
}

@test "in any order: the same elements, in the places that are to be written" {
    sweep "[pack]" "mode = good, backwards, shifted, again, short"
    expect 0 --config sweep.ini --format csv
    equal "$(outcome_of good) $(outcome_of backwards)" "measured measured"
    equal "$(count outcome wrong_result)" 3
    has out "out has the right elements in the wrong positions" \
        "out does not have the expected elements in any order" "written elements, expected"
}

@test "a run that resumes keeps failures as they were" {
    expect 0 --config "$sweeps/outcomes.ini" --format csv
    first=$(rows mode block_size outcome)
    stand_in "log = $scratch/calls"
    expect 0 --config "$sweeps/outcomes.ini" --format csv
    equal "$(rows mode block_size outcome)" "$first"
    lacks calls cuLaunchKernel
}

@test "nothing valid: exit 1, no tuned INI, the reasons" {
    expect 1 --config "$sweeps/wrong.ini"
    has out wrong_result
    [ ! -e results/tuned.ini ]
}

@test "a space that constraints leave empty: exit 1" {
    sweep "[scale]" "block_size = 64" "constraint = block_size > 64"
    expect 1 --config sweep.ini
    [ ! -e results/tuned.ini ]
}

@test "the driver does not load it: load_error" {
    # the first module is the tuner's own
    stand_in "fault=cuModuleLoadData:3:CUDA_ERROR_INVALID_IMAGE"
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(count outcome load_error)" 1
    equal "$(count outcome measured)" 8
    has out CUDA_ERROR_INVALID_IMAGE
}

@test "a cooperative grid that cannot be resident is not launched" {
    stand_in "sm_count=1" "log = $scratch/calls"
    sweep "[rounds]" "blocks = 8, 64"
    measures 1 --config sweep.ini
    equal "$(count outcome not_resident)" 1
}

@test "the device worker is killed in the middle: every variant still has its outcome" {
    stand_in "fault=cuLaunchKernel:150:kill"
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(column outcome | wc -l)" 9
    [ "$(count outcome measured)" -ge 8 ]
    none_alive
}

@test "a driver call that hangs ends as timeout, and the sweep goes on" {
    stand_in "fault=cuStreamSynchronize:20:hang"
    cp -r "$sweeps/templates" .
    sed "s/^results = .*/&\nlaunch_timeout_s = 1/" "$sweeps/scale.ini" >sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(column outcome | wc -l)" 9
    [ "$(count outcome measured)" -ge 8 ]
    none_alive
}

@test "a fault in one variant leaves the next ones their results" {
    sweep "[scale]" "n = 2^12" "block_size = 64, 128, 256, 512" "mode = fault, trap, good"
    measures 4 --config sweep.ini
    equal "$(count outcome fault)" 8
}

@test "repairing what one variant damaged takes its time, and is not the next one's" {
    sed 's/reference = scale_reference/reference = scale_slow_reference/' "$sweeps/templates/scale.ini" |
        template slow
    sed -i '1i #define SLOW_REFERENCE' slow.cu
    printf '[sweep]\nlaunch_timeout_s = 0.3\n[slow]\nn = 2^10\nmode = good, overrun, underrun\n' >sweep.ini
    printf 'block_size = 64, 128, 256\n' >>sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(outcome_of good) $(outcome_of overrun) $(outcome_of underrun)" "measured wrong_result wrong_result"
}

@test "when constraints leave no variant, the report says which rejected how many" {
    printf '[scale]\nn = 2^14\nblock_size = 64, 128, 256\nnum_load = 1, 2\nconstraint = block_size > 100\nconstraint = num_load > 4\n' | sweep
    expect 1 --config sweep.ini
    has err "no variant of 'scale' was valid"
    has out "constraint: block_size > 100" "constraint: num_load > 4"
    grep -qE '^ +2  constraint: block_size > 100' out
    grep -qE '^ +4  constraint: num_load > 4' out
}

@test "a reference that fails or crashes costs its own problem; the others are tuned, and again on resume" {
    cp "$sweeps/templates/scale.cu" good.cu
    sed 's/^source = .*/source = good.cu/' "$sweeps/templates/scale.ini" >good.ini
    sed "/^reference/{n;s/^arguments = .*/arguments = in, reference/}" "$sweeps/templates/scale.ini" | template odd
    sed '/^\[buffer.in\]/,/^$/s/^length = .*/length = max(n - 4096, 0) * 2/' "$sweeps/templates/scale.ini" |
        template crash
    printf '[sweep]\ntuned = tuned.ini\n[odd]\nblock_size = 64\n[crash]\nn = 4096, 8192\nblock_size = 64\n' >sweep.ini
    printf '[good]\nn = 2^10\nblock_size = 64, 128\n' >>sweep.ini
    for _ in first again; do
        autotune --config sweep.ini
        has err "kernel 'scale_reference' has 4 parameters" "left out, for the reasons above; the others are done"
        equal "$code" 2
        has tuned.ini '[good'
    done
}
