#!/usr/bin/env bats
# Floating point: tolerances, NaN, infinities, and normal numbers.
shared_cubins=yes
load helper

# array FILE BYTES: an array of four floats, of which the last has these bytes and the others are 0
array() {
    npy "$1" '<f4' False 4 12
    printf %b "$2" >>"$1"
}
nan='\x00\x00\xc0\x7f'
infinity='\x00\x00\x80\x7f'
one='\x00\x00\x80\x3f'

# compared COMPARE [LINE]: the outcome of `scale` with factor 1 of in.npy, against expected.npy
compared() {
    sed "s/^fill = .*/fill = file(in.npy)/;s/^reference = .*/reference = file(expected.npy)/;/^reference/{n;d}
        s/^compare = .*/compare = $1\n${2:-}/" "$sweeps/templates/scale.ini" | template odd
    autotune run --template odd.ini --set n=4 --set factor=1 --set "mode=${3:-good}"
    sed -n 's/^  result   \([a-z_]*\).*/\1/p' out
}

@test "close(absolute, relative): |result - expected| is at most absolute + relative * |expected|" {
    array in.npy "$one"
    array expected.npy '\x00\x00\x00\x40' # 2
    equal "$(compared 'close(0.5, 0.25)')" correct
    equal "$(compared 'close(0.4, 0.25)')" wrong_result
    equal "$(compared 'close(0, 0.5)')" correct
    equal "$(compared 'close(1, 0)')" correct
    equal "$(compared 'absolute(1)')" correct
    equal "$(compared 'absolute(0.99)')" wrong_result
    equal "$(compared 'relative(0.5)')" correct
    equal "$(compared 'relative(0.49)')" wrong_result
}

@test "NaN is equal to NaN on request, but never to what was not written" {
    array in.npy "$nan"
    array expected.npy "$nan"
    for compare in exact 'absolute(1)' 'relative(1)' 'close(1, 1)'; do
        equal "$(compared "$compare")" wrong_result
        equal "$(compared "$compare" 'nan_equal = no')" wrong_result
        equal "$(compared "$compare" 'nan_equal = yes')" correct
    done
    equal "$(compared exact 'nan_equal = yes' partial)" wrong_result
    has out "out[3]                   not written              nan"
    array expected.npy "$one"
    equal "$(compared 'close(1, 1)' 'nan_equal = yes')" wrong_result
}

@test "infinities and NaN are constants that floating-point types can hold" {
    for special in inf -inf nan; do
        sed "s/^fill = .*/fill = constant($special)/;s/^reference = .*/reference = constant($special)/
            /^arguments = in, reference/d;s/^compare.*/compare = exact\nnan_equal = yes/" "$sweeps/templates/scale.ini" |
            template odd
        expect 0 run --template odd.ini --set n=4
        sed -i "s/^reference = .*/reference = constant(0)/" odd.ini
        expect 1 run --template odd.ini --set n=4
        has out "out[0] is $special, expected 0"
    done
    sed -i '0,/^type = float/s//type = int32/' odd.ini
    expect 2 run --template odd.ini --set n=4
    has err "odd.ini:20: elements of type int32 are neither infinite nor NaN"
}

@test "an infinity is equal to itself alone, whatever the tolerance" {
    array in.npy "$infinity"
    array expected.npy "$infinity"
    equal "$(compared 'relative(1e-6)')" correct
    array in.npy "$one"
    for compare in exact 'absolute(1e30)' 'relative(1e-6)' 'close(1, 1)'; do
        equal "$(compared "$compare")" wrong_result
    done
    array in.npy "$infinity"
    array expected.npy "$one"
    equal "$(compared 'relative(1)')" wrong_result
}

@test "a fill of normal numbers" {
    sed '/^\[buffer.in\]/,/^fill/s/^fill = .*/fill = normal(0, 2)/' "$sweeps/templates/scale.ini" | template odd
    expect 0 run --template odd.ini --set n=2^12
    sed -i 's/normal(0, 2)/normal(0)/' odd.ini
    expect 2 run --template odd.ini
    has err "odd.ini:" "wrong number of arguments to fill 'normal'"
}

@test "comparisons that are none" {
    while read -r compare; do
        sed "s/^compare = .*/compare = $compare/" "$sweeps/templates/scale.ini" | template odd
        expect 2 check --template odd.ini
        has err "odd.ini:"
    done <<'END'
close(1)
close(1, 2, 3)
close()
relative(1, 2)
absolute()
near(1)
unordered\nnan_equal = yes
exact\nnan_equal = perhaps
END
}
