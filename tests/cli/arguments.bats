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
    has err "valued.ini:14: parameter 2 of kernel 'valued' has more members than the argument gives"
    valued 'out, bool yes'
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "'arguments' gives 2: out, bool yes"
}

@test "structs and conditions that are none" {
    for arguments in 'out, struct(int32 n' 'out, struct(texture(out))' 'out, struct(pointers(out))' 'out, struct(n)' 'out, array(out)' \
        'out, struct(array())' 'out, struct(array(int32 n, float 0.5))' 'out, struct(array(out, int32 1))' \
        'out, struct(array(int32 n for 0))' 'out, struct(array(int32 n for n))' 'out, struct(array(double 0 for 4096))' \
        'out, struct(int32 index)' 'out, struct(nothing)'; do
        valued "$arguments"
        expect 2 check --template valued.ini
        has err "valued.ini:14:"
    done
    valued 'out, struct(int32 n, double 0.5, bool n), bool yes, int8 -1, half 1.5'
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "valued.ini:14: " "write 'n != 0'"
}

@test "buffers in structs are checked like others, in batches and with other places too" {
    for ns in 10000 300; do
        sweep "[members]" "mode = good, swapped, overrun, one"
        AUTOTUNE_STANDIN=noise=0,base_ns=$ns expect 0 --config sweep.ini --format csv --remeasure
        paste -d: <(column mode) <(column outcome) >outcomes
        has outcomes good:measured swapped:wrong_result overrun:wrong_result one:wrong_result
        has out "4 bytes outside buffer 'half' were written"
    done
}

# What differs from the type that the source declares is refused before anything is launched.
@test "structs that are not laid out like their types" {
    while IFS='|' read -r edit message; do
        sweep <<<$'[members]'
        sed -i "$edit" templates/members.ini
        expect 2 check --compile --config sweep.ini --arch sm_90
        has err "members.ini:" "$message"
    done <<'END'
s/uint64 n,$/float 1, int32 n,/|parameter 1 of kernel 'members_step' has fewer members than the argument gives
s/uint64 n,$/double n,/|member 3 of parameter 1 of kernel 'members_step' is an integer of 8 bytes, but the argument has double n
s/uint64 n,$/in,/|member 3 of parameter 1 of kernel 'members_step' is an integer of 8 bytes, but the argument has in
s/out or half), uint64 n/out or half), int32 n/|member 3 of parameter 1 of kernel 'members_step' is an integer of 8 bytes, but the argument has int32 n
s/array(int32 index + 1 for 3)/array(int32 1 for 4)/|member 2 of member 4 of parameter 1 of kernel 'members_step' does not have 4 elements, as the argument has
s/array(plus, null, in)/array(uint64 0 for 3)/|element 1 of member 1 of member 4 of parameter 1 of kernel 'members_reference' is a pointer, but the argument has uint64 0
s/array(plus, null, in)/plus, null, in/|member 4 of parameter 1 of kernel 'members_reference' has fewer members than the argument gives
s/, bool no, array(float 1))/)/|parameter 1 of kernel 'members_reference' has more members than the argument gives
s/  struct(), /  struct(in), /|parameter 2 of kernel 'members_step' does not have 8 bytes, as the argument's has
/buffer.plus/,/access/s/float2/double2/|element 1 of member 1 of member 4 of parameter 1 of kernel 'members_step' does not point to double, the type of the elements of buffer 'plus'
END
}

@test "variables of the source with buffers' addresses are set before every run, and checked like arguments" {
    for ns in 10000 300; do
        sweep "[constants]" "mode = good, swap, spoil"
        AUTOTUNE_STANDIN=noise=0,base_ns=$ns expect 0 --config sweep.ini --format csv --remeasure
        paste -d: <(column mode) <(column outcome) >outcomes
        has outcomes good:measured swap:wrong_result spoil:measured
    done
    while IFS='|' read -r edit message; do
        sweep <<<$'[constants]'
        sed -i "$edit" templates/constants.ini
        expect 2 check --compile --config sweep.ini --arch sm_90
        has err "constants.ini:" "$message"
    done <<'END'
s/, int32 weight)/, double weight)/;s/int32 2)/double 2)/|member 3 of element 1 of constant 'lists' is an integer of 4 bytes, but the argument has double weight
s/more, int32 2)/int32 2, more)/|'struct(array(second, null), int32 2, more)' of an array is not like its first element
s/array(int32 0)/array(int32 0, 1)/|constant 'used' does not have 2 elements, as the argument has
s/array(int32 0)/pointers(first)/|a member or a constant is a scalar, a buffer, a struct or an array, not 'pointers(first)'
s/array(int32 0)/array(reference)/|'reference'
s/^used = .*/unused = int32 1/|constant 'unused': identifier "unused" is undefined
END
}

@test "a struct that cannot be taken apart is said not to be checked; its size always is" {
    valued 'out, struct(int32 n, double 0.5, bool n > 64), bool yes, int8 -1, half 1.5'
    sed -i 's/^    bool twice;/private: bool twice; public: __device__ bool get() const { return twice; }/; s/shape.twice/shape.get()/' valued.cu
    expect 0 check --compile --template valued.ini --arch sm_90
    has err "valued.ini:14: not checked: parameter 2 of kernel 'valued': cannot bind to non-public member"
    sed -i 's/bool n > 64)/array(int64 0 for 2))/' valued.ini
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "parameter 2 of kernel 'valued' does not have 32 bytes"
}

@test "swapped members are refused by a run as well, before any launch" {
    sweep "[members]"
    sed -i 's/uint64 n,$/double n,/' templates/members.ini
    AUTOTUNE_STANDIN=log=$PWD/log,note=members_step expect 2 --config sweep.ini
    has err "member 3 of parameter 1 of kernel 'members_step' is an integer of 8 bytes"
    fails grep "launch members_step" log
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

# blocks [BYTES [TYPE]]: a buffer of a type of the source's, and one of a vector type
blocks() {
    cat >blocks.cu <<'CUDA'
namespace ns { struct block_q4 { unsigned short scale; unsigned char quants[16]; }; }
extern "C" __global__ void copy(const ns::block_q4 *in, ns::block_q4 *out, const float2 *pairs, float2 *sums, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = in[i];
        sums[i] = make_float2(pairs[i].x + pairs[i].y, pairs[i].x);
    }
}
extern "C" __global__ void copied(const ns::block_q4 *in, ns::block_q4 *reference, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        reference[i] = in[i];
}
extern "C" __global__ void summed(const float2 *pairs, double2 *reference, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        reference[i] = make_double2((double)pairs[i].x + pairs[i].y, pairs[i].x);
}
CUDA
    cat >blocks.ini <<INI
[parameters]
[launch_parameters]
threads = 32
[problem]
n = 100
[buffer.in]
type = ns::block_q4
element_bytes = ${1:-18}
length = n
access = read
fill = integers(0, 255)
[buffer.out]
type = ${2:-ns::block_q4}
element_bytes = 18
length = n
access = write
[buffer.pairs]
type = float2
length = n
access = read
fill = uniform(-1, 1)
[buffer.sums]
type = float2
length = n
access = write
[launch.copy]
entry = copy
grid = 1
block = threads
arguments = in, out, pairs, sums, int32 n
[expect.out]
reference = copied
arguments = in, reference, int32 n
compare = ${3:-exact}
[expect.sums]
reference = summed
arguments = pairs, reference, int32 n
compare = absolute(1e-6)
INI
}

@test "buffers of the source's types, of the size that the compiler sees, and of vector types" {
    blocks
    expect 0 check --compile --template blocks.ini --arch sm_90
    blocks 16
    expect 2 check --compile --template blocks.ini --arch sm_90
    has err "buffer 'in': type 'ns::block_q4' does not have 16 bytes, as element_bytes says"
    blocks 18 ns::block_q5
    expect 2 check --compile --template blocks.ini --arch sm_90
    has err "the type of buffer 'out': namespace \"ns\" has no member \"block_q5\""
    blocks 18 ns::block_q4 "absolute(1)"
    expect 2 check --template blocks.ini
    has err "elements of type 'ns::block_q4' are compared as bytes"
    blocks 18 ns::block_q4 "exact, mismatches(0.1)"
    expect 2 check --template blocks.ini
    has err "blocks.ini:34: mismatches would count bytes of type 'ns::block_q4'"
    for type in float float2 '"x"'; do
        blocks 18 "$type"
        expect 2 check --template blocks.ini
        has err "element_bytes is for a type of the source's"
    done
    blocks
    sed -i '/^element_bytes/d' blocks.ini
    expect 2 check --template blocks.ini
    has err "unknown element type 'ns::block_q4'" "a type of the source's with element_bytes"
}

@test "the driver's header alone, CUTLASS's way to name headers, and words that are types" {
    valued 'out, struct(int32 n, double 0.5, bool n > 64), bool yes, int8 -1, half 1.5'
    sed -i '1i #include <cuda.h>\n#define CUDA_STD_HEADER(header) <cuda/std/header>\n#include CUDA_STD_HEADER(tuple)\n__constant__ CUtensorMap map;' valued.cu
    expect 0 check --compile --template valued.ini --arch sm_90
    sed -i 's/define CUDA_STD_HEADER/define OTHER_HEADER/' valued.cu
    expect 2 check --template valued.ini
    has err "valued.cu:3: cannot tell which file the #include of 'CUDA_STD_HEADER' reads"
    mkdir own && echo '#error own file' >own/tuple
    sed -i 's/define OTHER_HEADER(header) <.*/define CUDA_STD_HEADER(header) <own\/header>/' valued.cu
    expect 2 check --compile --template valued.ini --arch sm_90
    has err "own file"
    for type in bfloat16 half int16; do
        valued 'out, struct(int32 n, double 0.5, bool n > 64), bool yes, int8 -1, half 1.5'
        sed -i '1i #include <cuda_bf16.h>\n#include <cstdint>\n__constant__ real one;' valued.cu
        sed -i "1i [kernel]\ndefine = real = type" valued.ini
        sed -i "s/^n = 100/&\ntype = $type/" valued.ini
        expect 0 check --compile --template valued.ini --arch sm_90
    done
}

@test "after a name that is not defined, the first error and the header that defines it" {
    for word in INFINITY:math.h FLT_MAX:float.h UINT64_MAX:stdint.h CUtensorMap:cuda.h; do
        valued 'out, struct(int32 n, double 0.5, bool n > 64), bool yes, int8 -1, half 1.5'
        sed -i "\$a __device__ void first() { (void)${word%:*}; }\n__device__ void second() { other = 1; }" valued.cu
        expect 2 check --compile --template valued.ini --arch sm_90
        has err "valued.cu(12): error: identifier \"${word%:*}\" is undefined; it is in <${word#*:}>"
    done
}
