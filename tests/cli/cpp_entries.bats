#!/usr/bin/env bats
# Entries that are C++ names: templates and namespaces.
shared_cubins=yes
load helper

# own ENTRY: a template `own` of the source of `scale`, whose good kernel is also ns::scale_good<LOAD>
own() {
    template own <<INI
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
entry = $1
grid = 1
block = 32
arguments = in, out, float factor, uint64 n
[expect.out]
reference = ns::scale_reference<double>
arguments = in, reference, float factor, uint64 n
compare = relative(1e-6)
INI
    cat >>own.cu <<'CUDA'
namespace ns
{
template <int LOAD> __global__ void scale_good(const float *in, float *out, float factor, u64 n)
{
    static_assert(LOAD > 0, "LOAD is positive");
    for (u64 i = FIRST * LOAD; i < n; i += STEP)
        out[i] = factor * in[i];
}
template <typename T> __global__ void scale_reference(const float *in, T *out, float factor, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = factor * in[i];
}
} // namespace ns
CUDA
}

@test "a template's kernel is tuned, shown under its own name, and emitted" {
    own "ns::scale_good<NUM_LOAD>"
    expect 0 check --compile --template own.ini
    measures 2 --template own.ini --set num_load=1,2,0
    reasons "LOAD is positive"
    expect 0 run --template own.ini --set num_load=2
    has out "correct"
    expect 0 emit --kernel own --templates . --set num_load=2 --ptx
    has out "_ZN2ns10scale_goodILi2EEEvPKfPffy"
}

@test "static mode checks the arguments of a template's kernel" {
    own "ns::scale_good<NUM_LOAD>"
    sed -i 's/^arguments = in, out, float factor, uint64 n/arguments = in, out, float factor/' own.ini
    autotune --template own.ini --arch sm_90 --format csv
    reasons "kernel 'ns::scale_good<NUM_LOAD>' has 4 parameters: const float *in, float *out, float factor, u64 n"
    sed -i 's/^arguments = in, out, float factor$/arguments = in, out, int32 1, uint64 n/' own.ini
    expect 2 check --compile --template own.ini --arch sm_75
    has err "parameter 3 of kernel 'ns::scale_good<NUM_LOAD>' is 'float factor', but the argument is 'int32 1'"
}

@test "a value of the problem that does not compile is named, and costs its problems alone" {
    own "ns::scale_good<NUM_LOAD>"
    sed -i -e '1i [kernel]\ndefine = REAL = value_type' -e 's/scale_reference<double>/scale_reference<REAL>/' \
        -e 's/^n = .*/&\nvalue_type = double | odd/' own.ini
    for arch in "" "--arch sm_90"; do
        rm -rf results
        # shellcheck disable=SC2086
        expect 2 --template own.ini --set value_type=odd,double --set n=1024,2048 --format csv $arch
        for n in 1024 2048; do
            has err "own.ini:24: 'own' with n=$n value_type=odd factor=1.5 is left out: entry 'ns::scale_reference<REAL>': identifier \"odd\" is undefined"
        done
        has err "2 of 4 problems were left out, for the reasons above; the others are done"
        equal "$(column value_type | sort | uniq -c | tr -s ' ')" " 2 double"
        autotune report
        has out "left out: own.ini:24: entry 'ns::scale_reference<REAL>': identifier \"odd\" is undefined"
        lacks out "run the same command again"
        autotune report --format html
        has out "This problem was left out: own.ini:24: entry"
    done
}

@test "an entry that does not exist is one message at the template's line" {
    own "ns::scale_god<NUM_LOAD>"
    for command in "check --compile" tune "tune --arch sm_90" run; do
        # shellcheck disable=SC2086
        autotune $command --template own.ini
        fails exits 0
        [ "$command" != run ] || cat out >>err
        has err "own.ini:16: entry 'ns::scale_god<NUM_LOAD>': namespace \"ns\" has no member \"scale_god\""
        lacks err __nv_name_map
    done
    own "ns::scale_good<NUM_LAOD>"
    autotune check --compile --template own.ini
    has err "own.ini:16: entry 'ns::scale_good<NUM_LAOD>': identifier \"NUM_LAOD\" is undefined"
    own "scale_god"
    echo '__global__ void scale_god(float *x) {}' >>own.cu
    autotune check --compile --template own.ini
    has err "own.ini:16: " "or ::scale_god here"
    own "::scale_good_too"
    echo '__global__ void scale_good_too(const float *in, float *out, float factor, u64 n) {}' >>own.cu
    expect 0 check --compile --template own.ini
}

@test "variants that run other kernels of the same code are no twins" {
    own "ns::scale_good<NUM_LOAD>"
    # both are in every cubin
    cat >>own.cu <<'CUDA'
template __global__ void ns::scale_good<1>(const float *, float *, float, u64);
template __global__ void ns::scale_good<2>(const float *, float *, float, u64);
CUDA
    measures 2 --template own.ini --set num_load=1,2
}

@test "the types of a template's arguments, which its instance tells" {
    own "copy<TYPE>"
    sed -i 's/^num_load = 1$/type = half | float/; s/^arguments = in, out, float factor, uint64 n$/arguments = in, out, uint64 n/' own.ini
    sed -i 's/^reference = .*/reference = ns::scale_reference<double>/; /^reference/{n;s/.*/arguments = in, reference, float factor, uint64 n/}' own.ini
    sed -i '1i #include <cuda_fp16.h>\n#define TYPE_HALF __half\n#define TYPE_FLOAT float' own.cu
    echo 'template <typename T> __global__ void copy(const T *in, T *out, u64 n) {}' >>own.cu
    expect 1 --template own.ini --set type=half --format csv
    reasons "parameter 1 of kernel 'copy<TYPE>' is 'const T *in' (half), but buffer 'in' has elements of type float"
    autotune --template own.ini --set type=float --format csv
    column outcome >outcomes
    lacks outcomes invalid
}
