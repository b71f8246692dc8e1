#!/usr/bin/env bats
# Arguments by value: conditions, small numbers and structs, against the parameters of a compiled kernel.
shared_cubins=yes
load helper

# valued ARGUMENTS: a template whose kernel takes a struct, a bool, a char and a half
valued() {
    cat >valued.cu <<'CUDA'
#include <cuda_fp16.h>
struct shape {
    int n;
    double factor;
    bool twice;
};
extern "C" __global__ void valued(float *out, struct shape shape, bool negative, signed char small, __half scale)
{
    for (int i = threadIdx.x; i < shape.n; i += blockDim.x)
        out[i] = (float)shape.factor * (shape.twice ? 2.0f : 1.0f) * (negative ? -1.0f : 1.0f) + small + __half2float(scale);
}
CUDA
    cat >valued.ini <<INI
[parameters]
[launch_parameters]
threads = 32
[problem]
n = 100
[buffer.out]
type = float
length = n
access = write
[launch.valued]
entry = valued
grid = 1
block = threads
arguments = $1
[expect.out]
reference = constant(1)
compare = exact
INI
}

@test "conditions, 8- and 16-bit numbers and structs have the kernel's sizes" {
    valued 'out, struct(int32 n, double 0.5, bool n > 64), bool threads == 64, int8 -1, half 1.5'
    expect 0 check --compile --template valued.ini --arch sm_90
}

@test "what the kernel takes beside what the file gives, structs too" {
    valued 'out, struct(int32 n, double 0.5), bool yes, int8 -1, half 1.5'
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "valued.ini:14: kernel 'valued' has parameter 2, 'struct shape shape', of 24 bytes; 'arguments' gives 'struct(int32 n, double 0.5)', of 16 bytes"
    valued 'out, bool yes'
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "'arguments' gives 2: out, bool yes"
}

@test "structs and conditions that are none" {
    for arguments in 'out, struct()' 'out, struct(int32 n' 'out, struct(out)' 'out, struct(struct(int32 1))' 'out, struct(n)' \
        'out, struct(double 1, double 2, double 3, double 4, double 5, double 6, double 7, double 8, int8 9)'; do
        valued "$arguments"
        expect 2 check --template valued.ini
        has err "valued.ini:14:"
    done
    valued 'out, struct(int32 n, double 0.5, bool n), bool yes, int8 -1, half 1.5'
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "valued.ini:14: " "write 'n != 0'"
}

@test "numbers that do not fit their types" {
    while IFS='|' read -r argument message; do
        valued "out, struct(int32 n, double 0.5, bool yes), bool yes, $argument"
        expect 2 check --compile --template valued.ini --arch sm_90
        has err "valued.ini:14: " "$message"
    done <<'END'
int8 n + 28, half 1.5|does not fit int8: 128
uint8 -1, half 1.5|does not fit uint8: -1
int8 0, half 65520|does not fit half: 65520
int8 0, uint16 n + 2^16|does not fit uint16: 65636
int8 0, int16 -32769|does not fit int16: -32769
END
    valued "out, struct(int32 n, double 0.5, bool yes), bool yes, int8 0, half 65519"
    expect 0 check --compile --template valued.ini --arch sm_90
}

@test "arrays of pointers, to buffers and to parts of one, are checked like buffers" {
    sweep "[gather]" "mode = sum, overrun"
    expect 0 --config sweep.ini --format csv
    paste -d: <(column mode) <(column outcome) >outcomes
    has outcomes sum:measured overrun:wrong_result
    has out "4 bytes outside buffer 'out' were written"
}

@test "arrays of pointers that are none" {
    while IFS='|' read -r edit message; do
        sweep <<<$'[gather]'
        sed -i "$edit" templates/gather.ini
        expect 2 check --compile --config sweep.ini --arch sm_90
        has err "gather.ini:" "$message"
    done <<'END'
s/pointers(out)/pointers()/|has no buffers
s/pointers(out)/pointers(uint64 n)/|'uint64 n' among pointers is not a buffer
s/pointers(out)/pointers(ouch)/|ouch
s/pointers(out)/pointers(reference)/|'reference'
s/rows by n/rows by n - n/|the part that a pointer points to of launch 'reference' would be 0
s/, reference, int32/, pointers(reference), int32/|parameter 2 of kernel 'gather_reference' is 'double *reference', but the argument is 'pointers(reference)'
END
}
