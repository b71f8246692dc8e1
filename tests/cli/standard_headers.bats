#!/usr/bin/env bats
# The headers that kernels include out of habit, without a host compiler's.
shared_cubins=yes
load helper

own() { # FILE: own.cu is a copy of it, own.ini a template for a kernel `own` of it
    cp "$1" own.cu
    cat >own.ini <<'INI'
[problem]
n = 2^10
[buffer.out]
type = float
length = n
access = write
[launch.own]
entry = own
grid = 1
block = 32
arguments = out, int32 n
[expect.out]
reference = constant(0)
compare = exact
INI
}

# kernel LINE…: own.cu is these lines and a kernel that needs what they include
kernel() {
    printf '%s\n' "$@" 'extern "C" __global__ void own(float *out, int n) { out[0] = LIMIT; }' >lines.cu
    own lines.cu
}

@test "what kernels use of the standard headers is there, and is right" {
    own "$SOURCE_DIR/tests/format/standard_headers.cu"
    expect 0 check --compile --template own.ini --arch sm_75
    lacks err warning
}

@test "the other standard headers are those of CCCL" {
    kernel '#include <cstdint>' '#include <tuple>' '#include <utility>' '#include <algorithm>' \
        '__device__ std::tuple<int, std::uint64_t> both(1, 2);' \
        '#define LIMIT std::get<0>(both) + std::max(1, 2)'
    expect 0 check --compile --template own.ini --arch sm_90
    lacks err warning
}

@test "a header in the template's folders comes before ours" {
    kernel '#include <limits.h>' '#define LIMIT INT_MAX'
    expect 0 check --compile --template own.ini --arch sm_90
    echo '#define INT_MAX not_a_number' >limits.h
    expect 2 check --compile --template own.ini --arch sm_90
    has err 'identifier "not_a_number" is undefined'
    kernel '#include <vector>' '#define LIMIT 1'
    expect 2 check --compile --template own.ini --arch sm_90
    has err 'cannot open source file "vector"'
}
