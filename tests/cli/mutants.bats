#!/usr/bin/env bats
# The broken copies of the shipped kernels that gpu/mutants.sh runs on a GPU, and the faults that gpu.sh plants there:
# what can be said of them without one.
load helper

# settings NAME: the values a mutant is tried with, as options of emit
settings() {
    sed -n 's/^#: //p' "$SOURCE_DIR/tests/mutants/$1.sed" | grep -vE '^(template|file) = ' | sed 's/^/--set /; s/ = /=/'
}

# emit FOLDER NAME OUTPUT: the binary of mutant NAME's configuration from the templates of a folder
emit() {
    local template
    template=$(sed -n 's/^#: template = //p' "$SOURCE_DIR/tests/mutants/$2.sed")
    # shellcheck disable=SC2046
    expect 0 emit --templates "$1" --kernel "$template" $(settings "$2") --cubin --output "$3"
}

@test "43 mutants change their sources and compile, and so do the configurations they are tried with" {
    export LD_LIBRARY_PATH=$scratch/nothing
    "$SOURCE_DIR/tests/mutants/prepare.sh" mutants
    equal "$(find "$SOURCE_DIR/tests/mutants" -name '*.sed' | wc -l)" 43
    expect 0 check --config mutants/sweep.ini
    equal "$(grep -c '^\[.*_right\]' mutants/sweep.ini)" 43
    equal "$(cat "$SOURCE_DIR"/tests/mutants/*.sed | grep '^#: template = ' | sort -u | wc -l)" 15

    # what is broken is in the code that runs: not in another branch, nor in a comment
    for file in "$SOURCE_DIR"/tests/mutants/*.sed; do
        name=$(basename "$file" .sed)
        right=$(sed -n 's/^#: //p' "$file" | grep -v '^file = ' | cksum).cubin # several mutants share it
        [ -e "$right" ] || emit mutants/right "$name" "$right"
        emit "mutants/$name" "$name" mutant.cubin
        ! cmp -s "$right" mutant.cubin || { echo "$name is the same code" && return 1; }
    done
    cp -r mutants/right mutants/same
    emit mutants/same "$name" mutant.cubin
    cmp "$right" mutant.cubin
}

@test "a mutant that no longer fits its source is told" {
    mkdir -p copy/tests
    cp -r "$SOURCE_DIR/tests/mutants" copy/tests
    cp -r "$SOURCE_DIR/kernel_templates" copy
    sed -i 's/atomicMax(word/atomicMax( word/' copy/kernel_templates/atomic_operations.cu
    run copy/tests/mutants/prepare.sh prepared
    [ "$status" -ne 0 ]
    [[ "$output" == *"operations_new_value.sed changes nothing"* ]]
}

@test "planted faults compile, all but the one that is too much for the compiler" {
    export LD_LIBRARY_PATH=$scratch/nothing
    cp -r "$SOURCE_DIR/tests/planted" .
    equal "$("$AUTOTUNE" check --config planted/hangs.ini | grep -o '100 variants')" "100 variants"
    equal "$("$AUTOTUNE" check --config planted/faults.ini | grep -o '220 variants')" "220 variants"
    sed -i '/^compile_timeout_s/d; s/, unroll//' planted/every.ini
    expect 0 --config planted/every.ini --arch sm_90 --format csv
    equal "$(count outcome compiled)" 16
    equal "$(column outcome | wc -l)" 16
    printf '[sweep]\ncompile_timeout_s = 1\n[planted]\nfault = unroll\n' >planted/unroll.ini
    expect 1 --config planted/unroll.ini --arch sm_90 --format csv
    has out compile_error "did not end within 1 s"
    none_alive
}
