#!/usr/bin/env bats
# Macros in the source's own case, and problem values as macros.
load helper

own() {
    cat >own.cu <<'CUDA'
extern "C" __global__ void __launch_bounds__(block_size_x) own(const real *in, real *out)
{
    static_assert(SIZE % 2 == 0, "the size is a constant");
    for (int i = blockIdx.x * block_size_x + threadIdx.x; i < SIZE; i += gridDim.x * block_size_x)
        out[i] = in[i];
}
extern "C" __global__ void own_reference(const real *in, real *reference)
{
    for (int i = 0; i < SIZE; i++)
        reference[i] = in[i];
}
CUDA
    cat >own.ini <<INI
[kernel]
define = ${1:-block_size_x, SIZE = n, real = value_type}
[parameters]
block_size_x = 128
[problem]
n = 1024
value_type = float | double
[buffer.in]
type = value_type
length = n
access = read
fill = uniform(-1, 1)
[buffer.out]
type = value_type
length = n
access = write
[launch.own]
entry = own
grid = ceil_div(n, block_size_x)
block = block_size_x
arguments = in, out
[expect.out]
reference = own_reference
reference_type = value_type
arguments = in, reference
compare = exact
INI
}

@test "macros have the source's own names, and a problem value is a constant" {
    own
    expect 0 check --compile --template own.ini --arch sm_90 --set value_type=float,double --set n=1024,2048
    expect 0 --template own.ini --arch sm_90 --set block_size_x=64,128 --set n=1024,2048 --format csv
    equal "$(count outcome compiled)" 4
    expect 0 emit --kernel own --templates . --set n=2048 --source
    has out "#define block_size_x 128" "#define SIZE 2048" "#define real float"
    lacks out BLOCK_SIZE_X VALUE_TYPE
}

@test "export has the source's own macros, and for scripts the grid and block of the problem" {
    local ask=(--kernel own --arch sm_90 --value_type double --n 2048)
    own
    sed -i 's/^define = .*/&\nconstraint = n < 4096/' own.ini
    mkdir results
    : >results/tuned.ini
    expect 0 export --definitions "${ask[@]}" --template own.ini
    has out -Dblock_size_x=128 -DSIZE=2048 -Dreal=double
    expect 0 export --header "${ask[@]}" --template own.ini
    has out "#define block_size_x 128" "#define OWN_SIZE 2048"
    expect 0 explain "${ask[@]}" --template own.ini
    cat >results/tuned.ini <<INI
[own 00000001]
kernel = own
template = own
template_hash = $(sed -n 's/^template .*: version //p' out)
gpu = NVIDIA H200
compute_capability = 90
problem.n = 1024
problem.value_type = double
parameter.block_size_x = 64
median_ns = 1000
INI
    expect 0 export --python "${ask[@]}"
    cp out one.py
    expect 0 export --json "${ask[@]}"
    cp out one.json
    expect 2 export --json --kernel own --arch sm_90 --n 8192
    has err "violates the template's constraint 'n < 4096' for this problem"
    expect 0 export --json
    cp out all.json
    sed -i 's/^template_hash = .*/template_hash = 0123456789abcdef0123456789abcdef/' results/tuned.ini
    expect 0 export --json
    python3 - <<'PYTHON'
import json
exec(open("one.py").read())
one, = CONFIGURATIONS
launch, = one["launches"]
assert json.load(open("one.json")) == [one]
assert (one["parameters"], one["problem"]) == ({"block_size_x": 64}, {"value_type": "double", "n": 2048})
assert one["rule"] == "same GPU, nearest size" and one["defines"] == ["-Dblock_size_x=64", "-DSIZE=2048", "-Dreal=double"]
assert (launch["entry"], launch["grid"], launch["block"], launch["arguments"]) == ("own", [32, 1, 1], [64, 1, 1], ["in", "out"])
row, = json.load(open("all.json"))
assert "-DSIZE=1024" in row["defines"] and row["gpu"] == "NVIDIA H200" and "launches" not in row
assert "defines" not in json.load(open("out"))[0] # whose template is another
PYTHON
}

@test "a value of the problem that is a macro is compiled for itself" {
    own
    expect 2 check --compile --template own.ini --arch sm_90 --set n=1024,1023
    has err "the size is a constant"
    has out "n=1024"
}

@test "definitions that are none" {
    own 'block_size_y'
    expect 2 check --template own.ini
    has err "own.ini:2:" "unknown parameter or problem value 'block_size_y'; did you mean 'block_size_x'?"
    own 'block_size_x, WIDTH = n'
    expect 2 check --template own.ini
    has err "own.ini:2:" "define 'WIDTH' changes nothing: the source and its headers do not name that macro"
    for definition in 'N = n' '2x = n' 'a b = n' 'SIZE = n = n' 'SIZE = n, SIZE = block_size_x' 'SIZE = '; do
        own "$definition"
        expect 2 check --template own.ini
        has err "own.ini:2:"
    done
}
