#!/usr/bin/env bats
# `run`: one variant without a sweep, verified and timed, with the first elements that differ.
shared_cubins=yes
load helper

@test "a variant that is right: its figures and its time, and nothing is stored" {
    cp "$sweeps"/templates/scale.* .
    expect 0 run --template scale.ini --set block_size=128 --set n=2^12
    has out "scale n=4096 factor=1.5 on Stand-in H200" "block_size=128 num_load=1 mode=good" "14 registers" "result   correct" \
        " us, 95 % " " 30 samples, " " GB/s, " " GFLOP/s; an empty kernel takes 2."
    [ ! -s err ]
    [ ! -e results ]
    [ ! -e kernel_templates ]
}

@test "by name, with the values as options of their own" {
    expect 0 run --kernel scale --templates "$sweeps/templates" --n 2^12 --mode good
    has out "scale n=4096" "mode=good"
    expect 2 run --kernel scael --templates "$sweeps/templates"
    has err "no template 'scael'; did you mean 'scale'?"
    echo "[scale]" >scale.ini # a sweep is no template, nor the name that was meant
    expect 2 run --kernel scale
    has err "no template 'scale'; './scale.ini' is not one" "name its folder with --templates"
    expect 2 run
    has err "no kernel; name a sweep file"
}

@test "--dump writes the variant's arrays and what is expected, as NumPy reads them" {
    sed 's/^reference = .*/reference = scale_good\nreference_type = float/' "$sweeps/templates/scale.ini" | template odd
    expect 0 run --template odd.ini --set n=1000 --dump some/folder
    has out "arrays   in $PWD/some/folder"
    equal "$(ls some/folder)" "in.npy
out.expected.npy
out.npy"
    head -c 128 some/folder/out.npy | tail -c 118 | grep -q "^{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), } *$"
    cmp some/folder/out.npy some/folder/out.expected.npy
    sed "s/^fill = .*/fill = file(some\/folder\/in.npy)/;/^\[expect/,\$s/^reference = .*/reference = file(some\/folder\/out.npy)/
        /^arguments = in, reference/d" "$sweeps/templates/scale.ini" | template again
    expect 0 run --template again.ini --set n=1000
    expect 1 run --template odd.ini --set n=1000 --set mode=wrong --dump wrong
    has out "1 of 1000 elements differ"
    equal "$(cmp -l wrong/out.npy wrong/out.expected.npy | awk '{ print int(($1 - 129) / 4) }' | sort -u)" 500
    expect 1 run --template odd.ini --set n=1000 --set mode=fault --dump none
    has out "arrays   none"
    expect 4 run --template odd.ini --set n=1000 --dump odd.ini
}

@test "the first elements that differ, with their index, what is there and what is expected" {
    sed 's/^reference = .*/reference = constant(0.25)/;/^reference/{n;d}' "$sweeps/templates/scale.ini" | template odd
    expect 1 run --template odd.ini --set mode=partial --set n=12 --set factor=0
    has out "wrong_result: out[0] is " "expected 0.25; 12 of 12 elements differ"
    equal "$(grep -c '^  out\[' out)" 10
    grep -qE '^  out\[0\] +-?0 +0.25$' out
    autotune run --template odd.ini --set mode=partial --set n=12 --set factor=0 --differences 11
    equal "$(grep -c '^  out\[' out)" 11
    autotune run --template odd.ini --set mode=partial --set n=3 --set factor=0
    grep -qE '^  out\[2\] +not written +0.25$' out
    expect 1 run --template odd.ini --set mode=partial --set n=3 --differences 0
    lacks out "element "
}

@test "elements that lie apart, and none that are right" {
    cp "$sweeps"/templates/scale.* .
    expect 1 run --template scale.ini --set mode=wrong --set n=2^12
    equal "$(grep -c '^  out\[' out)" 1
    grep -qE '^  out\[2048\] +-0.337301165 +-0.336964197$' out
    has err "verification failed"
}

@test "every way to fail ends with exit status 1 and its outcome" {
    cp "$sweeps"/templates/scale.* .
    local mode outcome
    while read -r mode outcome; do
        expect 1 run --template scale.ini --set mode="$mode" --set n=2^12
        has out "result   $outcome: "
    done <<'END'
broken compile_error
overrun wrong_result
modify_input wrong_result
fault fault
too_large launch_error
too_many not_resident
hang timeout
END
    none_alive
}

@test "the compiler's whole message, with the source's lines" {
    cp "$sweeps"/templates/scale.* .
    echo 'extern "C" __global__ void more(int *out) { out[0] = undefined_one; }' >>scale.cu
    expect 1 run --template scale.ini
    has err 'identifier "undefined_one" is undefined' "out[0] = undefined_one;"
    has out "compile_error: scale.cu("
}

@test "a template that is wrong: exit status 2, at its line" {
    sed '/^reference/{n;s/^arguments = .*/arguments = in, reference/}' "$sweeps/templates/scale.ini" | template odd
    expect 2 run --template odd.ini
    has err "odd.ini:" "kernel 'scale_reference' has 4 parameters"
    expect 2 run --template odd.ini --set blok_size=1
    has err "'blok_size'" "'block_size'"
    expect 2 run --template odd.ini --set block_size=1,2
}

@test "an option that cannot be computed makes a variant invalid, as in a sweep" {
    sed '2a options = -Xptxas=--opt-level={3 // (block_size - 128)}' "$sweeps/templates/scale.ini" | template odd
    expect 1 run --template odd.ini --set block_size=128
    has out "result   invalid: " "odd.ini:3: cannot evaluate '3 // (block_size - 128)'"
    expect 0 run --template odd.ini
}

@test "a template that cannot be opened is not taken for a name misspelt" {
    ln -s loop.ini loop.ini
    expect 2 run --kernel loop --templates .
    has err "loop.ini: cannot open the file: Too many levels of symbolic links"
    printf '[sweep]\ntemplates = .\n[loop]\n' >sweep.ini
    expect 2 check --config sweep.ini
    has err "loop.ini: cannot open the file: Too many levels of symbolic links"
}

@test "without a GPU: exit status 3" {
    cp "$sweeps"/templates/scale.* .
    stand_in devices=0
    expect 3 run --template scale.ini
    none_alive
}

@test "a signal ends it at once, and its workers" {
    cp "$sweeps"/templates/scale.* .
    "$AUTOTUNE" run --template scale.ini --set mode=hang >out 2>err </dev/null &
    local process=$! code=0
    sleep 1.5
    kill -TERM "$process"
    wait "$process" || code=$?
    equal "$code" 143
    none_alive
}

@test "it waits for a run that uses the GPU, or fails with --no-wait" {
    hold
    expect 3 run --template templates/scale.ini --no-wait
    has err "is being used by another run, process $holder"
    kill "$holder"
}

@test "16-bit elements are shown as numbers" {
    sed '/^\[expect.out\]/,/^compare/{s/^reference = .*/reference = constant(-2)/;/^arguments/d}' "$sweeps/templates/types.ini" | template odd
    cp "$sweeps/templates/types.cu" odd.cu
    expect 1 run --template odd.ini --set value_type=half
    lacks out "bits 0x"
    grep -qE '^  out\[0\] +-1 +-2$' out
    grep -qE '^  out\[2\] +-3 +-2$' out
}
