#!/usr/bin/env bats
# Verifiers of the user's own, kernels that fill buffers, and borders.
shared_cubins=yes
load helper

# verifier ENTRY [ARGUMENTS]: a verifier takes the place of the comparison in templates/march.ini
verifier() {
    sed -i '/^compare/d' templates/march.ini
    printf '[verify.state]\nentry = %s\ngrid = 4\nblock = 64\narguments = %s\n' "$1" \
        "${2:-state, reference, wrong, uint64 n + 2 * pad, double 0.001 * steps}" >>templates/march.ini
}

@test "a verifier counts wrong elements, with the expected result of each variant" {
    printf '[march]\nsteps = 1, 2\npad = 0, 1\nmode = good, fixed\n' | sweep
    verifier march_count
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode steps outcome)" "fixed:1:measured fixed:1:measured fixed:2:wrong_result fixed:2:wrong_result \
good:1:measured good:1:measured good:2:measured good:2:measured "
    reasons "verifier 'march_count' counts 878 wrong elements of state"
    expect 1 run --template templates/march.ini --set steps=2 --set mode=fixed
    has out "wrong_result: verifier 'march_count' counts 878 wrong elements of state"
}

@test "what changes inputs or writes out of bounds is found before a verifier reads it, and does not spoil it" {
    printf '[march]\nmode = good, overrun, spoil, fault, lazy\n' | sweep
    verifier march_count
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode outcome)" "fault:fault good:measured lazy:wrong_result overrun:wrong_result spoil:wrong_result "
    reasons "input 'weights' was changed" "4 bytes outside buffer 'state' were written"
}

@test "a verifier needs no expected result, and can read what a kernel of the source has filled" {
    printf '[march]\nsteps = 1, 2\npad = 0, 1\nmode = good, fixed\n' | sweep
    sed -i '/^\[expect.state\]/,/^compare/d' templates/march.ini
    cat >>templates/march.ini <<'INI'
[buffer.goal]
type = double
length = n + 2 * pad
access = read
fill = kernel(march_reference, state, weights, goal, uint64 n, int32 pad, int32 steps)
INI
    verifier march_count "state, goal, wrong, uint64 n, double 0.001"
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode outcome)" "fixed:measured fixed:measured fixed:wrong_result fixed:wrong_result \
good:measured good:measured good:measured good:measured "
}

@test "an output that was not written is wrong, even if the verifier counts nothing" {
    printf '[march]\n' | sweep
    printf '[buffer.more]\ntype = float\nlength = n\naccess = write\n' >>templates/march.ini
    verifier march_count "more, uint64 0, wrong, uint64 0, double 0"
    sed -i 's/^\[verify.state\]/[verify.more]/;s/^reference = .*/&\ncompare = relative(1e-5)/' templates/march.ini
    expect 1 --config sweep.ini --format csv
    equal "$(column outcome):$(column reason)" "wrong_result:more was not written"
}

@test "an output that is rightly 0 was written" {
    printf '[larger]\nblock_size = 128, 256\n' | sweep
    sed -i '/buffer.out/,/type/s/int32/uint32/;s/integers(-1000, 1000)/constant(0)/;0,/^compare.*/s///' templates/larger.ini
    sed -i 's/int \*out/unsigned *out/;s/int \*reference/unsigned *reference/' templates/larger.cu
    echo 'extern "C" __global__ void march_count(const unsigned *, const unsigned *, u64 *, u64, double) {}' >>templates/larger.cu
    printf '[verify.out]\nentry = march_count\ngrid = 4\nblock = 64\narguments = out, reference, wrong, uint64 0, double 0\n' >>templates/larger.ini
    measures 2 --config sweep.ini
}

@test "a verifier that crashes is named" {
    printf '[march]\nsteps = 1, 2\n' | sweep
    verifier march_faulty_count
    expect 1 --config sweep.ini --format csv
    equal "$(column outcome | sort -u)" fault
    reasons "verifier 'march_faulty_count':" CUDA_ERROR_ILLEGAL_ADDRESS
}

@test "a verifier without blocks judges nothing, and is refused" {
    printf '[march]\nsteps = 1, 2\n' | sweep
    verifier march_count
    sed -i 's/^grid = 4$/grid = n \/\/ 4096/' templates/march.ini
    expect 2 --config sweep.ini --format csv
    has err "march.ini:45: verifier 'march_count' has no blocks or no threads, but its buffer has elements"
    lacks out ,measured,
}

@test "a verifier that changes an input is named, and no variant is blamed for it" {
    printf '[march]\nsteps = 1, 2\n' | sweep
    verifier march_spoiling_count "weights, wrong"
    expect 2 --config sweep.ini --format csv
    has err "march.ini:45: after verifier 'march_spoiling_count': input 'weights' was changed"
    fails grep wrong_result out
}

@test "a verifier that writes beyond a buffer is named, and no variant is blamed for it" {
    printf '[scale]\nmode = good\n' | sweep
    echo 'extern "C" __global__ void scale_overrun(const float *, float *, float, u64, u64 *) {}' >>templates/scale.cu
    printf '[verify.out]\nentry = scale_overrun\narguments = in, out, float factor, uint64 n, wrong\n' >>templates/scale.ini
    expect 2 --config sweep.ini --format csv
    has err "after verifier 'scale_overrun': 4 bytes outside buffer 'out' were written"
    fails grep wrong_result out
}

@test "a verifier is checked against its kernel before anything runs" {
    printf '[march]\n' | sweep
    verifier march_cuont
    expect 2 check --config sweep.ini --compile
    has err "march.ini:46: unknown entry 'march_cuont'; did you mean 'march_count'?"
    cp "$sweeps/templates/march.ini" templates
    verifier march_count "state, reference, wrong, uint64 n"
    expect 2 check --config sweep.ini --compile
    has err "march.ini:49: kernel 'march_count' has 5 parameters" "'arguments' gives 4"
    cp "$sweeps/templates/march.ini" templates
    verifier march_count "wrong, reference, state, uint64 n, double 0"
    expect 2 check --config sweep.ini --compile
    has err "march.ini:49: parameter 1 of kernel 'march_count' is 'const float *state', but buffer 'wrong' has elements of type uint64"
}

@test "what a verifier or a fill cannot be is refused, at its line" {
    while IFS='|' read -r edit message; do
        printf '[march]\n' | sweep
        verifier march_count
        sed -i "$edit" templates/march.ini
        expect 2 check --config sweep.ini
        has err march.ini: "$message"
    done <<'END'
s/reference, wrong/reference/|verifier 'march_count' needs the argument `wrong`
s/^\[verify.state/[verify.stat/;s/^reference = .*/&\ncompare = exact/|unknown buffer 'stat'; did you mean 'state'?
/^\[expect/,/^arguments/d|`reference` is the expected result of [expect.state]
s/^entry = march_count/entyr = march_count/|unknown key 'entyr'
0,/^arguments = state, weights/s//arguments = wrong, weights/|launch 'run' has 'wrong' among its arguments, which only a [verify] section has
s/weights\b/wrong/g|name 'wrong' is given twice
s/march_weights, weights/march_weights, state/|buffer 'state' is not filled before this one
s/march_weights, weights/march_weights, reference/|which only the reference of an [expect] section has
s/^fill = kernel(march_w.*/&\nblok = 2/|unknown key 'blok'
s/^fill = kernel(march_w.*/fill = constant(1)\nblock = 2/|'block' is for fill = kernel(...) alone
s/^fill = border(pad, /&constant(1), n, n, n, n, /|wrong number of arguments to fill 'border'
s/^fill = border(pad, /fill = border(1, border(pad, /;s/2 \* pad))$/2 * pad)))/|has a border in a border
END
}

@test "a kernel that fills must fill, and nothing else" {
    printf '[march]\n' | sweep
    sed -i 's/^fill = kernel(march_weights.*/fill = kernel(march_lazy, weights)/' templates/march.ini
    expect 2 --config sweep.ini
    has err "march.ini:19: fill 'march_lazy' wrote nothing; is the buffer among its arguments?"
    cp "$sweeps/templates/march.ini" templates
    sed -i 's/march_fill, state, weights, uint64 n/&+ 1/' templates/march.ini
    expect 1 --config sweep.ini # the buffer depends on a parameter
    has err "march.ini:25: fill 'march_fill' writes outside its result"
}

# scale_refers MODE: the template `scale` has the kernel of that mode as its reference
scale_refers() {
    printf '[scale]\nmode = good\n' | sweep
    sed -i "s/^mode = /&$1 | /;s/ | $1 | / | /;s/^reference = .*/reference = scale_$1\nreference_type = float/" \
        templates/scale.ini
}

@test "a reference that changes its input or writes beyond its result is the template's fault, not the variants'" {
    scale_refers modify_input
    expect 2 --config sweep.ini
    has err "scale.ini:86: reference 'scale_modify_input' changes buffer 'in'"
    for mode in overrun underrun; do
        scale_refers "$mode"
        expect 2 --config sweep.ini
        has err "scale.ini:86: reference 'scale_$mode' writes outside its result"
    done
}

@test "a reference that does so for some variants makes these invalid, and no other" {
    printf '[march]\nsteps = 1..3\n' | sweep
    sed -i '/^\[expect/,$s/uint64 n/uint64 n + (steps == 2 ? 1 : 0)/' templates/march.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows steps outcome)" "1:measured 2:invalid 3:measured "
    reasons "reference 'march_reference' writes outside its result"
}

# bordered FILL N NUMBERS: whether a buffer with this fill holds these
bordered() {
    python3 -c 'import struct, sys
numbers = sys.argv[1].split()
header = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (%d,), }" % len(numbers)
header = header.replace("\"", chr(39))
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
sys.stdout.buffer.write(struct.pack("<%df" % len(numbers), *map(float, numbers)))' "$3" >expected.npy
    sed "s/^fill = .*/fill = $1/;s/^reference = .*/reference = file(expected.npy)/;/^reference/{n;d}
        s/^compare = .*/compare = exact/" "$sweeps/templates/scale.ini" | template odd
    autotune run --template odd.ini --set "n=$2" --set factor=1
}

@test "elements near an edge of one, two or three dimensions are 0" {
    bordered 'border(1, counting(1, 1))' 4 "0 2 3 0"
    exits 0
    bordered 'border(2, counting(1, 1), n)' 6 "0 0 3 4 0 0"
    exits 0
    bordered 'border(1, counting(1, 1), 4, 3)' 12 "0 0 0 0 0 6 7 0 0 0 0 0"
    exits 0
    bordered 'border(1, file(expected.npy), 3, n \/\/ 9, 3)' 27 "0 0 0 0 0 0 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0 0 0 0 0 0 0"
    exits 0
    bordered 'border(0, constant(1))' 2 "1 1"
    exits 0
    bordered 'border(1, constant(1), 5, 3)' 12 0
    exits 2
    has err "odd.ini:" "cannot evaluate '5': the border's shape is not that of a buffer of 12 elements"
    bordered 'border(0 - 1, constant(1))' 12 0
    exits 2
    has err "a border's width must be 0 or more"
}

@test "verifiers and kernels that fill may have C++ names" {
    printf '[march]\nsteps = 1, 2\npad = 0, 1\nmode = good, fixed\n' | sweep
    cat >>templates/march.cu <<'CUDA'
namespace cpp
{
template <typename T, int PERIOD> __global__ void march_fill(T *state, const float *weights, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        state[i] = weights[0] * (T)(i % PERIOD) - 1;
}
template <typename T, int BLOCK> __global__ void march_count(const float *state, const T *reference, u64 *wrong, u64 n,
                                                                  double limit)
{
    for (u64 i = FIRST; i < n; i += STEP)
        if (!(fabs(state[i] - reference[i]) <= limit))
            atomicAdd(wrong, 1ull);
}
} // namespace cpp
CUDA
    sed -i 's/kernel(march_fill, /kernel(cpp::march_fill<float, (8 > 7 ? 7 : 8)>, /' templates/march.ini
    verifier "cpp::march_count<double, BLOCK_SIZE>"
    expect 0 check --config sweep.ini --compile
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode steps outcome)" "fixed:1:measured fixed:1:measured fixed:2:wrong_result fixed:2:wrong_result \
good:1:measured good:1:measured good:2:measured good:2:measured "
    reasons "verifier 'cpp::march_count<double, BLOCK_SIZE>' counts 878 wrong elements of state"
    sed -i 's/^entry = cpp::march_count/entry = cpp::march_cuont/' templates/march.ini
    expect 2 check --config sweep.ini --compile
    has err "march.ini:46: entry 'cpp::march_cuont<double, BLOCK_SIZE>': namespace \"cpp\" has no member \"march_cuont\""
    sed -i 's/^entry = cpp::march_cuont/entry = cpp::march_count/;s/cpp::march_fill/cpp::march_fil/' templates/march.ini
    expect 2 check --config sweep.ini --compile
    has err "march.ini:25: entry 'cpp::march_fil<float, (8 > 7 ? 7 : 8)>': namespace \"cpp\" has no member \"march_fil\""
}
