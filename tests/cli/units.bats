#!/usr/bin/env bats
# Sources of several translation units.
shared_cubins=yes
load helper

# own: a template `own`, whose reference and whose factor are in a unit of their own
own() {
    mkdir -p other
    template own <<'INI'
[kernel]
source = own.cu, other/unit.cu
[parameters]
num_load = 1
[problem]
n = 2^10
factor = 1.5
[buffer.in]
type = float
length = n
access = read
fill = uniform(-1, 1)
[buffer.out]
type = float
length = n
access = write
[launch.good]
entry = scale_good
grid = 1
block = 32
arguments = in, out, float factor, uint64 n
[expect.out]
reference = scale_reference<double>
arguments = in, reference, float factor, uint64 n
compare = relative(1e-6)
INI
    cat >own.cu <<'CUDA'
__device__ float times(float factor, float x);
extern "C" __global__ void scale_good(const float *in, float *out, float factor, unsigned long long n)
{
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = times(factor, in[i]);
}
CUDA
    cat >other/unit.cu <<'CUDA'
#include "times.h"
__device__ float times(float factor, float x)
{
    return NUM_LOAD > 0 ? TIMES(factor, x) : 0;
}
template <typename T>
__global__ void scale_reference(const float *in, T *out, float factor, unsigned long long n)
{
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = factor * in[i];
}
CUDA
    echo '#define TIMES(a, b) ((a) * (b))' >other/times.h
}

@test "units are compiled and linked, and tuned again if one of them or its header changes" {
    own
    expect 0 check --compile --template own.ini --arch sm_75
    expect 0 --template own.ini --set num_load=1,2 --format csv --results r
    equal "$(count outcome measured)" 1 # and its twin
    nothing_to_do --template own.ini --set num_load=1,2 --results r
    echo '#define TIMES(a, b) ((b) * (a))' >other/times.h
    expect 0 --template own.ini --set num_load=1,2 --results r
    lacks err "nothing to do"
    sed -i 's/: 0/: 1/' other/unit.cu
    expect 0 --template own.ini --set num_load=1,2 --results r
    lacks err "nothing to do"
}

@test "every unit is emitted and bundled" {
    own
    for kind in source ptx; do
        expect 0 emit --kernel own --templates . --$kind
        has out "own.cu" "unit.cu"
    done
    expect 0 emit --kernel own --templates . --cubin --output own.cubin
    expect 0 --template own.ini --tuned tuned.ini
    expect 0 bundle --tuned tuned.ini --templates . --output bundle
    cmp bundle/templates/other/unit.cu other/unit.cu
    cmp bundle/templates/other/times.h other/times.h
    cmp bundle/cubin/own-*.cubin own.cubin
}

@test "what the linker refuses is a compile error with its message" {
    own
    sed -i 's/float times/float twice/' other/unit.cu
    expect 1 --template own.ini --arch sm_90 --format csv
    reasons "Undefined reference to '_Z5timesff'"
    own
    echo 'extern "C" __global__ void scale_good() {}' >>other/unit.cu
    expect 2 check --compile --template own.ini --arch sm_90
    has err "error: 'scale_good' is defined in" "own.cu' and in" "unit.cu'"
    own
    sed -i 's/TIMES/TIME/' other/unit.cu
    expect 2 check --compile --template own.ini --arch sm_90
    has err "unit.cu(4): error" "TIME"
}

@test "a unit that is missing or listed twice is refused" {
    own
    sed -i 's|other/unit.cu|other/units.cu|' own.ini
    expect 2 check --template own.ini
    has err "cannot open './other/units.cu'"
    own
    sed -i 's|other/unit.cu|own.cu|' own.ini
    expect 2 check --template own.ini
    has err "own.cu' is listed twice"
}
