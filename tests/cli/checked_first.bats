#!/usr/bin/env bats
# What a template says wrongly about its kernels and files is found before anything is launched: in static mode, by
# `check --compile`, and by a run.
shared_cubins=yes
load helper

# odd EDIT [LINES]: a template of the kernel scale_good and its reference, edited by sed; LINES are added to its source
odd() {
    sed '/^\[launch.wrong\]/,/^\[expect/{/^\[expect/!d}' "$sweeps/templates/scale.ini" | sed "$1" | template odd
    printf '%s\n' "${2:-}" >>odd.cu
    printf '[odd]\nn = 2^12\n' >sweep.ini
}

# found KEY TEXT...: static mode, `check --compile` and a run name the last line of odd.ini that matches KEY, and have each TEXT
found() {
    local line mode
    line=$(grep -n -- "$1" odd.ini | tail -n 1 | cut -d: -f1)
    shift
    for mode in "" --arch=sm_90; do
        rm -rf results
        autotune --config sweep.ini --format csv ${mode:+"$mode"}
        [ "$code" -eq 1 ] || [ "$code" -eq 2 ]
        cat err >>out
        sed -i 's/""/"/g' out
        has out "odd.ini:$line: " "$@"
        [ ! -e results/tuned.ini ]
    done
    for mode in "" --arch=sm_90; do
        expect 2 check --compile --config sweep.ini ${mode:+"$mode"}
        has err "odd.ini:$line: " "$@" "the check failed; nothing was run"
    done
}

@test "check --compile: the default variant of every problem, for an architecture or the GPU" {
    sweep "[scale]" "n = 2^10, 2^12" "block_size = 64, 256" "num_load = 2, 4"
    stand_in "log = $scratch/calls"
    expect 0 check --compile --config sweep.ini --arch sm_90
    has out "compiled for NVIDIA H200 (sm_90); nothing is run" "n=1024 factor=1.5: block_size=256 num_load=2 mode=good: " \
        "n=4096 factor=1.5: block_size=256 num_load=2 mode=good: " "registers, 0 bytes spilled, occupancy 100 %"
    [ ! -e calls ]
    expect 0 check --compile --template templates/scale.ini --set block_size=128
    has out "compiled for Stand-in H200 (sm_90)" "n=16384 factor=1.5: block_size=128"
    lacks calls cuLaunchKernel cuCtxCreate
    stand_in devices=0
    expect 0 check --compile --template templates/scale.ini
    has out "(sm_90)"
}

@test "check --compile shows the compiler's whole message with the source's lines, once" {
    odd '' 'extern "C" __global__ void more(int *out) { out[0] = undefined_one; }
extern "C" __global__ void most(int *out) { out[0] = undefined_two; }'
    printf '[odd]\nn = 2^12, 2^13\n' >sweep.ini
    expect 2 check --compile --config sweep.ini --arch sm_90
    has err 'identifier "undefined_one" is undefined' 'identifier "undefined_two" is undefined' \
        "{ out[0] = undefined_one; }" "^" "odd.cu: the source does not compile for sm_90 with block_size=256"
    equal "$(grep -cF '{ out[0] = undefined_one; }' err)" 1
    equal "$(grep -c 'the first error is: .*"undefined_one" is undefined' err)" 1
    odd '' 'extern "C" __global__ void more(int *out) { out[0] = 1 << 40; }'
    expect 0 check --compile --config sweep.ini --arch sm_90
    has err "shift count is too large"
}

@test "check --compile: everything that a template can say about values" {
    expect 0 check --compile --config "$SOURCE_DIR/tests/format/sweep.ini" --arch sm_90
    [ ! -s err ]
    has out "n=65536 value_type=float: block_size_x=64 defect=none waves=8" "n=100000 value_type=double: "
    expect 0 --config "$SOURCE_DIR/tests/format/sweep.ini" --arch sm_90 --format csv
    equal "$(count outcome compiled)" 6
}

@test "the number and sizes of a launch's arguments" {
    odd '0,/^arguments = .*/s//arguments = in, out, float factor/'
    found '^arguments = in, out' "kernel 'scale_good' has 4 parameters: const float *in, float *out, float factor, u64 n" \
        "'arguments' gives 3: in, out, float factor"
    odd '0,/^arguments = .*/s//arguments = in, out, float factor, uint32 n/'
    found '^arguments = in, out' \
        "kernel 'scale_good' has parameter 4, 'u64 n', of 8 bytes; 'arguments' gives 'uint32 n', of 4 bytes"
}

@test "the number and sizes of a reference's arguments" {
    odd '/^reference/{n;s/^arguments = .*/arguments = in, reference, float factor/}'
    found '^arguments = in, reference' "kernel 'scale_reference' has 4 parameters" "'arguments' gives 3"
}

@test "sizes alone, if macros hide what the source declares" {
    odd '0,/^entry = .*/s//entry = hidden/;0,/^arguments = .*/s//arguments = in, out/' \
        '#define PARAMETERS const float *in, float *out, float factor
extern "C" __global__ void hidden(PARAMETERS) { out[0] = factor * in[0]; }'
    found '^arguments = in, out' "kernel 'hidden' has 3 parameters: of 8, 8, 4 bytes; 'arguments' gives 2: in, out"
}

@test "the types of arguments, as far as the source tells" {
    odd '0,/^arguments = .*/s//arguments = in, out, int32 2, uint64 n/'
    found '^arguments = in, out' "parameter 3 of kernel 'scale_good' is 'float factor', but the argument is 'int32 2'"
    odd '0,/^arguments = .*/s//arguments = uint32 n, out, float factor, uint64 n/'
    found '^arguments = uint32' "parameter 1 of kernel 'scale_good' is 'const float *in', but the argument is 'uint32 n'"
    odd '/^\[buffer.in\]/{n;s/float/double/}'
    found '^arguments = in, out' "parameter 1 of kernel 'scale_good' is 'const float *in', but buffer 'in' has elements of type double"
    odd 's/^reference = .*/&\nreference_type = float/'
    found '^arguments = in, reference' \
        "parameter 2 of kernel 'scale_reference' is 'double *reference', but buffer 'reference' has elements of type float"
}

@test "types that a kernel may read in its own way are let pass" {
    odd '/^\[buffer.in\]/{n;s/float/uint8/};s/uniform/integers/;0,/^entry = .*/s//entry = bytes/;/^reference/{n;s/in, reference/out, reference/}' \
        'extern "C" __global__ void bytes(const unsigned *in, void *out, float factor, long long n) { ((float *)out)[0] = factor * in[0] + n; }'
    expect 0 --config sweep.ini --arch sm_90
}

@test "entries that do not exist" {
    odd '0,/^entry = .*/s//entry = scale_god/'
    found '^entry' "unknown entry 'scale_god'; did you mean 'scale_good'?"
    odd 's/^reference = .*/reference = scale_referense/'
    found '^reference' "unknown entry 'scale_referense'; did you mean 'scale_reference'?"
    odd '0,/^entry = .*/s//entry = plain/' '__global__ void plain(const float *in, float *out, float factor, u64 n) { out[0] = in[0]; }'
    found '^entry' "kernel 'plain' is not extern "
}

@test "blocks beyond the GPU's limit and beyond the kernel's own" {
    odd '0,/^block = .*/s//block = 2048/'
    found '^block = ' "block of launch 'good' has 2048 threads; the most is 1024"
    odd '0,/^block = .*/s//block = 2, 2, 65/'
    found '^block = ' "block of launch 'good' has 260 threads; the launch bounds of kernel 'scale_good' allow 256"
    odd '0,/^block = .*/s//block = 1, 1, 65/'
    found '^block = ' "block of launch 'good' is 65 in z; the most is 64"
    odd 's/^arguments = in, reference.*/block = 1025\n&/'
    found '^block = 1025' "block of launch 'reference' has 1025 threads; the most is 1024"
}

@test "more registers than a block can have" {
    odd '0,/^entry = .*/s//entry = heavy/;0,/^block = .*/s//block = 1024/' \
        'extern "C" __global__ void heavy(const volatile float *in, float *out, float factor, u64 n) {
    float values[96];
#pragma unroll
    for (int i = 0; i < 96; i++) values[i] = in[i * n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 96; i++) out[i * n] = factor * values[i];
}'
    found '^block = ' "block of launch 'good' has 1024 threads with " "registers each in kernel 'heavy'" \
        "a block has at most 65536; __launch_bounds__ limits them"
}

@test "grids out of range" {
    odd '0,/^grid = .*/s//grid = 1, 65536/'
    found '^grid = ' "grid of launch 'good' is 65536 in y; the most is 65535"
}

@test "shared memory beyond the limit" {
    odd '0,/^block = .*/s//&\nshared_bytes = 300000/'
    found '^shared_bytes' "shared_bytes of launch 'good' is 300000, and kernel 'scale_good' has 0 bytes of its own; a block has at most 232448"
}

@test "a length of zero" {
    odd '/^\[buffer.out\]/,/^access/s/^length = .*/length = n - 4096/'
    found '^length = n - 4096' "the length is 0" "n = 4096"
}

@test "a length of zero that follows from a value of zero is an edge case, and let pass" {
    odd '/^\[buffer.in\]/,/^access/s/^length = .*/length = m/;s/^n = .*/&\nm = 1/'
    printf 'm = 0\n' >>sweep.ini
    expect 0 --config sweep.ini --arch sm_90 --format csv
}

@test "an array's file that is missing, short, of another type, order or length" {
    odd '/^\[buffer.in\]/,/^fill/s/^fill = .*/fill = file(in.npy)/'
    found '^fill = ' "in.npy': cannot open the file"
    npy in.npy '<f4' False 4096 100
    found '^fill = ' "in.npy': file is shorter than its array"
    npy in.npy '<f8' False 4096 32768
    found '^fill = ' "in.npy': the file has 4096 elements of type double, the buffer 4096 of type float"
    npy in.npy '<f4' True 4096 16384
    found '^fill = ' "in.npy': array is not in C order"
    npy in.npy '<f4' False 4095 16384
    found '^fill = ' "in.npy': the file has 4095 elements of type float, the buffer 4096 of type float"
    npy in.npy '<f4' False 4096 16384
    expect 0 --config sweep.ini
    odd 's/^reference = .*/reference = file(expected.npy)/;/^reference/{n;d}'
    found '^reference = ' "expected.npy': cannot open the file"
}
