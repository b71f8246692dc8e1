#!/usr/bin/env bats
# Loops over launches, references of several launches, buffers that swap roles, and allowed mismatches.
shared_cubins=yes
load helper

# swapping [SED EDIT]: a template whose result is in `a` or `b`, and whose reference fills both with a work space of its own
swapping() {
    mkdir -p templates
    for kernel in good overrun modify_input; do
        echo "extern \"C\" __global__ void scale_$kernel(const float *, float *, float, unsigned long long) {}"
    done >templates/swapping.cu
    cat >templates/swapping.ini <<'INI'
[launch_parameters]
rounds = 2
[problem]
n = 1000
[buffer.a]
type = float
length = n
access = read_write
fill = uniform(-1, 1)
[buffer.b]
type = float
length = n
access = read_write
fill = constant(0)
[buffer.work]
type = float
length = n
access = scratch
[launch.step]
entry = scale_good
grid = 4
block = 64
arguments = (iteration % 2 == 0 and a or b), (iteration % 2 == 0 and b or a), float 0.5, uint64 n
[launch.never]
entry = scale_good
when = round > rounds
grid = 1
block = 1
arguments = a, a, float 3, uint64 n
[loop.round]
launches = step, never
from = 0
while = round < rounds
next = round + 1
[reference.begin]
entry = scale_good
arguments = a, expected(a), float 1, uint64 n
[reference.step]
entry = scale_good
arguments = (iteration % 2 == 0 and expected(a) or work), (iteration % 2 == 0 and work or expected(a)), float 0.5, uint64 n
[loop.again]
launches = reference.step
from = 0
while = again < rounds
next = again + 1
[reference.copy]
entry = scale_good
arguments = (rounds % 2 == 0 and expected(a) or work), expected(b), float 1, uint64 n
[reference.back]
entry = scale_good
arguments = expected(b), expected(a), float 1, uint64 n
[expect.a]
reference_type = float
compare = exact
when = rounds % 2 == 0
[expect.b]
reference_type = float
compare = exact
when = rounds % 2 == 1
INI
    sed -i "${1:-}" templates/swapping.ini
}

@test "a result in one buffer or the other, and a reference of several launches and a loop that fills both" {
    printf '[swapping]\nrounds = 1..4\n' | sweep
    swapping
    measures 4 --config sweep.ini
    swapping 's/^when = rounds % 2 == 1/when = rounds == 1/'
    expect 0 --config sweep.ini --format csv
    equal "$(rows rounds outcome)" "1:measured 2:measured 3:invalid 4:measured "
    reasons "no [expect] applies to these values"
    swapping 's/^while = again < rounds/while = again < 2/'
    expect 0 --config sweep.ini --format csv
    equal "$(rows rounds outcome)" "1:measured 2:measured 3:wrong_result 4:wrong_result "
}

@test "each launch of a reference keeps to its results and its scratch" {
    printf '[swapping]\n' | sweep
    swapping '/^\[reference.begin/,/^arg/s/scale_good/scale_modify_input/'
    expect 1 --config sweep.ini # it depends on a parameter
    has err "swapping.ini:35: reference 'scale_modify_input' changes buffer 'a'"
    swapping '/^\[reference.step/,/^arg/s/scale_good/scale_overrun/'
    expect 1 --config sweep.ini
    has err "swapping.ini:38: reference 'scale_overrun' writes outside its results or scratch"
    swapping '/^\[reference.back/,/^arg/s/uint64 n/&, uint64 n/'
    expect 2 check --config sweep.ini --compile
    has err "swapping.ini:51: kernel 'scale_good' has 4 parameters"
    swapping '/^reference_type/d'
    expect 2 check --config sweep.ini --compile
    has err "parameter 2 of kernel 'scale_good' is 'float *', but buffer 'expected(a)' has elements of type double"
    swapping '/^\[reference.copy/,/^arg/s/uint64 n/uint64 0/;/^\[reference.back/,/^arg/s/uint64 n/uint64 0/'
    expect 1 --config sweep.ini
    has err "no reference wrote to expected(b)"
}

@test "a share of mismatches is allowed, but no element that was not written" {
    while IFS='|' read -r mode share outcome; do
        sed "s/^compare = .*/compare = relative(1e-6), mismatches($share)/" "$sweeps/templates/scale.ini" | template odd
        autotune run --template odd.ini --set "mode=$mode" --set n=1000
        cat out >>err
        has err "$outcome"
    done <<'END'
wrong|0.001|correct: 1 of 1000 elements of out differ, mismatches allows 1
wrong|0.0009|1 of 1000 elements differ (mismatches allows 0), 0 were not written
partial|0.5|1 of 1000 elements differ (mismatches allows 500), 1 were not written
wrong|0.51|cannot evaluate
END
    printf '[scale]\nmode = wrong\nn = 1000\n' | sweep
    sed -i 's/^compare = .*/compare = relative(1e-6), mismatches(0.001)/' templates/scale.ini
    measures 1 --config sweep.ini
    reasons "1 of 1000 elements of out differ, mismatches allows 1"
}

# masked TYPE VALUE WRITTEN: a template whose result is VALUE everywhere, which is 1 in 5 places of the reference
masked() {
    mkdir -p templates
    echo "extern \"C\" __global__ void scale_good(const $1_t *, $1_t *, float, unsigned long long) {}" |
        sed '1i #include <cstdint>' >templates/masked.cu
    cat >templates/masked.ini <<INI
[launch_parameters]
threads = 64
[problem]
n = 4000
[buffer.same]
type = $1
length = n
access = read
fill = constant($2)
[buffer.ones]
type = $1
length = n
access = read
fill = constant(1)
[buffer.out]
type = $1
length = n
access = write
[launch.copy]
entry = scale_good
grid = 4
block = threads
arguments = same, out, float 1, uint64 $3
[reference.copy]
entry = scale_good
arguments = same, expected(out), float 1, uint64 n / width
[reference.ones]
entry = scale_good
arguments = ones, expected(out), float 1, uint64 5
[expect.out]
reference_type = $1
compare = exact, mismatches(0.01)
INI
    sed -i "s/ width/ $((${1//[!0-9]/} == 8 ? 4 : 1))/" templates/masked.ini # the stand-in copies words of 4 bytes
}

@test "an allowed difference that equals the poison is one, while an element that is never written is wrong" {
    printf '[masked]\nthreads = 32, 64, 128\n' | sweep
    masked uint32 0 n
    measures 3 --config sweep.ini
    masked uint8 165 'n / 4'
    measures 3 --config sweep.ini
    masked uint32 0 'n - 1'
    expect 1 --config sweep.ini --format csv
    reasons "1 were not written"
    equal "$(count outcome wrong_result)" 3
}
