#!/usr/bin/env bats
# `check`: the space of a sweep, and everything that is refused before anything runs.
load helper

# Neither NVRTC nor CUDA may be touched here.
without_gpu_and_compiler() {
    export LD_LIBRARY_PATH=$scratch/nothing AUTOTUNE_NVRTC=$scratch/nothing/libnvrtc.so
}

@test "a parameter whose macro the source never names is refused" {
    sed 's/^num_load = .*/&\npad = 0/' "$sweeps/templates/scale.ini" | template padded
    printf '/* PAD */\n#ifndef PADDING\n#define PADDING 0\n#endif\n' >>padded.cu
    printf '[padded]\npad = 0, 1, 2, 3\n' >sweep.ini
    for command in "check --config sweep.ini" "tune --config sweep.ini"; do
        # shellcheck disable=SC2086 # a command and its arguments
        expect 2 $command
        has err "padded.ini:9:" "'pad' changes nothing: the source and its headers do not name the macro 'PAD'"
    done
    sed -i 's/PADDING/PAD/' padded.cu
    expect 0 check --config sweep.ini
}

@test "prints values, and variants before and after constraints" {
    without_gpu_and_compiler
    expect 0 check --config "$SOURCE_DIR/tests/foreign/sweep.ini" --kernel transpose
    has out transpose tile_rows "4, 8, 16, 32" padding
    grep -qw 16 out # points
    grep -qw 14 out # of which constraints leave
    [ ! -s err ]
    [ ! -e results ]
}

@test "accepts the sweeps that ship" {
    without_gpu_and_compiler
    for config in "$SOURCE_DIR"/configs/*.ini "$sweeps"/*.ini; do
        expect 0 check --config "$config"
    done
}

@test "--kernel narrows it down" {
    expect 0 check --config "$sweeps/shapes.ini" --kernel tile --kernel sum
    has out tile sum
    lacks out rounds types
}

@test "lists, ranges, powers and doubling ranges" {
    sweep "[scale]" "n = 2^10, 2^12" "block_size = 64..512 step *2" "num_load = 1..7 step 3"
    expect 0 check --config sweep.ini
    has out "64, 128, 256, 512" "1, 4, 7"
    grep -qw 12 out # for each of two problems
}

@test "what is wrong in a sweep is refused at its line, with what was perhaps meant" {
    while IFS='|' read -r lines number words; do
        # shellcheck disable=SC2059 # with its \n
        printf "$lines\n" | sweep
        eval "refused $number $words"
    done <<'END'
[scalee]\nblock_size = 64|5|"'scalee'" "'scale'"
[scale]\nblock_siz = 64|6|"'block_siz'" "'block_size'"
[scale]\nblock_size = 64\nconstraint = block_size * num_laod <= 64|7|"'num_laod'" "'num_load'"
[scale]\nconstraint = block_size *|6|
[scale]\nmode = good, wronk|6|"'wronk'" "'wrong'"
[scale]\nblock_size = 64\nblock_size = 128|7|"'block_size'"
[scale]\nblock_size = 64\n[scale]\nnum_load = 2|7|"'scale'"
[scale]\nblock_size = 64%0200d|6|
[%060d]|5|
[scale]\nblock_size|6|
[my-kernel]\ntemplate = scale|5|"kernel name 'my-kernel'"
[Reduce]\ntemplate = scale|5|"kernel name 'Reduce'"
[abcdefghijklmnopqrstuvwxyz0123456]\ntemplate = scale|5|"kernel name 'abcdefghijklmnopqrstuvwxyz0123456'"
END
    printf '[sweep]\nresult = results\n' >sweep.ini
    refused 2 "'result'" "'results'"
}

@test "expressions reach nothing but their names and functions" {
    for expression in 'os.exit(1)' 'string.rep("x", 10)' 'print(1)' '(function() while true do end end)()' \
        'n = 4' 'n; n' '{}' 'require("io")' '("x"):rep(100)'; do
        printf '[scale]\nconstraint = %s\n' "$expression" | sweep
        refused 6
    done
}

@test "values that are none" {
    for value in '64,' '64 128' '8..1 step 1' '1..8 step 0' '2^100' '64, , 128' '"x"'; do
        printf '[scale]\nblock_size = %s\n' "$value" | sweep
        refused 6
    done
}

@test "a space in which nothing is left" {
    sweep "[scale]" "block_size = 64" "constraint = block_size > 64"
    expect 0 check --config sweep.ini
    grep -qw 0 out
}

@test "what is wrong in a template is refused at the template's line, with what was perhaps meant" {
    template right <<'INI'
[kernel]
source = right.cu
[parameters]
block_size = 256
[problem]
n = 64
[buffer.result]
type = float
length = n
access = write
[launch.run]
entry = scale_good
grid = 1
block = block_size
arguments = result, uint64 n
[expect.result]
reference = constant(1)
compare = exact
INI
    printf '[sweep]\n[broken]\n' >sweep.ini
    while IFS='|' read -r change words; do
        sed "$change" right.ini >broken.ini
        expect 2 check --config sweep.ini
        eval "has err $words"
    done <<'END'
s/float$/flaot/|"broken.ini:8:" "'flaot'" "'float'"
/^\[expect/,$d|"broken.ini" expect
s/arguments = result/arguments = resutl/|"broken.ini:15:" "'resutl'" "'result'"
s/right.cu/nowhere.cu/|"nowhere.cu"
END
}

@test "an output that nothing checks is refused, or marked and listed" {
    template tree <"$sweeps/templates/tree.ini"
    printf '[sweep]\n[tree]\n' >sweep.ini
    expect 0 check --config sweep.ini
    has out "  unchecked           data"
    sed -i '/^unchecked/d' tree.ini
    for command in "" check cover; do
        expect 2 $command --config sweep.ini # no word for an empty one
        has err "tree.ini:11: nothing checks what is written to buffer 'data'; add an [expect] or a [verify] section"
    done
    expect 2 run --template tree.ini
    has err "tree.ini:11: nothing checks what is written to buffer 'data'"
}

@test "a reference that needs a variant's scratch buffer is refused before anything is compiled" {
    template odd <"$sweeps/templates/sum.ini"
    sed -i '/^\[expect/,$s/^arguments = in, /arguments = in, partials, /' odd.ini
    expect 2 check --template odd.ini
    has err "odd.ini:$(grep -n '^arguments = in, partials, reference' odd.ini | cut -d: -f1): a reference cannot use scratch buffer 'partials'"
}

@test "too many variants to try all are no error if the sweep has a budget" {
    sweep "[scale]" "block_size = 1..4096" "num_load = 1..4096" "evaluations = 100"
    sed -i "/^constraint/d" templates/scale.ini
    expect 0 check --config sweep.ini
    has out "more than 10000000 variants of 16777216"
}

# What check and tune say of more than 10^7 variants.
refused_as_too_large() {
    exits 2
    has err "kernel 'scale' has more than 10^7 variants; add constraints"
}

@test "too many variants: found at once, by check and before tuning, without storing them" {
    sweep "[scale]" "block_size = 1..4096" "num_load = 1..4096"
    sed -i "/^constraint/d" templates/scale.ini
    autotune check --config sweep.ini
    refused_as_too_large
    has out "more than 10000000 variants of 16777216"
    if ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE"; then # sanitizers reserve more memory than the limit
        ulimit -v 1500000                                # KiB
    fi
    autotune --config sweep.ini --arch sm_90 --jobs 1
    refused_as_too_large
}

@test "--list prints every variant of every problem as CSV" {
    sweep <<'INI'
[scale]
n = 2^10, 2^12
block_size = 64, 128
num_load = 1, 2
constraint = block_size * num_load <= 128
INI
    without_gpu_and_compiler
    expect 0 check --config sweep.ini --list
    [ ! -s err ]
    head -n 1 out | grep -qx 'kernel,n,.*block_size,num_load,.*'
    equal "$(paste -d, <(column kernel) <(column n) <(column block_size) <(column num_load))" \
        "scale,1024,64,1
scale,1024,64,2
scale,1024,128,1
scale,4096,64,1
scale,4096,64,2
scale,4096,128,1"
}

@test "--list: kernels with other columns get a header of their own" {
    expect 0 check --config "$sweeps/shapes.ini" --list
    [ "$(grep -c '^kernel,' out)" -gt 1 ]
    expect 0 check --config "$sweeps/shapes.ini" --list --kernel tile
    equal "$(grep -c '^kernel,' out)" 1
}

@test "--list: a closed pipe ends a list of 10^7 variants quietly" {
    sweep "[scale]" "n = 1..1000" "block_size = 1..100" "num_load = 1..100"
    "$AUTOTUNE" check --config sweep.ini --list 2>err | head -n 3 >out
    [ ! -s err ]
    equal "$(wc -l <out)" 3
}

@test "Ctrl-C ends --list" {
    sweep "[scale]" "n = 1..1000" "block_size = 1..1000" "num_load = 1..1000"
    code=0
    timeout --signal INT 0.5 "$AUTOTUNE" check --config sweep.ini --list >/dev/null 2>err || code=$?
    equal "$code" 124
    none_alive
}
