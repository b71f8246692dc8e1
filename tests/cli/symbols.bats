#!/usr/bin/env bats
# __constant__ and __device__ variables of the source as buffers: filled, restored and verified like others, in every
# loaded copy of the code. In the stand-in each load has variables of its own, as on a GPU.
shared_cubins=yes
load helper

@test "variables are filled for every copy of the code, restored before every run, and verified" {
    stand_in "log = $scratch/calls" base_ns=2000
    sweep "[symbols]" "n = 2^10, 2^12" "block_size = 64, 128, 256"
    measures 6 --config sweep.ini
    # every copy of a finalist's code asks for its four
    [ "$(grep -c cuModuleGetGlobal calls)" -gt 100 ]
    # a variable that a run changes cannot be shared by the runs of a batch
    equal "$(count runs 1)" 6
}

@test "short kernels whose variables no run changes are batched" {
    stand_in base_ns=2000
    sweep "[symbols]" "block_size = 64, 128"
    sed -i '/^\[buffer.state\]/,/^fill/d;/^\[expect.total\]/,/^compare/d;/^\[expect.state\]/,/^compare/d' templates/symbols.ini
    sed -i '/^\[buffer.total\]/,/^access/d' templates/symbols.ini
    expect 0 --config sweep.ini --format csv
    equal "$(count runs 32)" 2
}

@test "variables that variants read hold the second data set for all finalists" {
    for base_ns in 2000 40000; do
        stand_in base_ns=$base_ns noise=0.01 steepness=0.003
        sweep "[symbols]" "block_size = 64, 128, 256, 512"
        sed -i '/^\[buffer.state\]/,/^fill/d;/^\[expect.total\]/,/^compare/d;/^\[expect.state\]/,/^compare/d' templates/symbols.ini
        sed -i '/^\[buffer.total\]/,/^access/d;s/^fill = counting(1, 1)/fill = uniform(-1, 1)/' templates/symbols.ini
        measures 4 --config sweep.ini --remeasure
    done
}

@test "wrong results in a variable, and changes to one that is only read, are found" {
    sweep "[symbols]" "mode = good, wrong, spoil"
    expect 0 --config sweep.ini --format csv
    paste -d: <(column mode) <(column outcome) <(column reason) >outcomes
    has outcomes "good:measured:" "wrong:wrong_result:total[1] is" "spoil:wrong_result:input 'offsets' was changed"
}

@test "a reference reads the variables of the variant that it is for" {
    sweep "[symbols]" "gain = 1, 2" "mode = good, wrong"
    sed -i 's/^mode = .*/&\n\n[launch_parameters]\ngain = 1/;s/^fill = counting(1, 1)/fill = constant(gain)/' templates/symbols.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode gain outcome)" "good:1:measured good:2:measured wrong:1:wrong_result wrong:2:wrong_result "
}

@test "a variable of another size, a missing or unreachable one is named, at the buffer's line" {
    sweep <<<'[symbols]'
    sed -i 's/^taps = 4/taps = 5/' templates/symbols.ini
    expect 2 --config sweep.ini
    has err "symbols.ini:18: buffer 'weights': its length takes 20 bytes, but the variable 'weights' has 16"
    for edit in 's/float weights/float weihgts/' 's/^__constant__ float.*/namespace own\n{\n&\n}\nusing own::weights;/'; do
        sweep <<<'[symbols]'
        sed -i "$edit" templates/symbols.cu
        sed -i 's/weights\[k\]/(k + 1.0f)/' templates/symbols.cu
        expect 1 --config sweep.ini --format csv
        equal "$(column outcome)" invalid
        reasons "buffer 'weights': the source has no variable 'weights'; is it at namespace scope"
    done
}

@test "what a variable cannot be is refused" {
    while IFS='|' read -r edit message; do
        sweep <<<'[symbols]'
        sed -i "$edit" templates/symbols.ini
        expect 2 check --config sweep.ini
        has err symbols.ini: "$message"
    done <<'END'
s/^symbol = weights/symbol = own::weights/|symbol 'own::weights' is not the name of a variable at namespace scope
/^symbol = total/,/^access/s/^access.*/access = scratch/|it needs no section
0,/^arguments = in, out/s//arguments = weights, out/|buffer 'weights' is a variable of the source, which the kernel reaches by its name
END
}
