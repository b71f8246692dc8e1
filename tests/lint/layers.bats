#!/usr/bin/env bats
# layers.sh finds what it is there to find, in a small project made for it.

setup() {
    scratch=$(mktemp -d)
    layers=$BATS_TEST_DIRNAME/layers.sh
    cd "$scratch"
    mkdir -p tuner/base tuner/gpu tuner/tune tuner/record tuner/library tuner/include/autotune tests/unit/base
    echo '#include <stddef.h>' >tuner/base/error.h
    printf '#include "base/error.h"\n' >tuner/base/error.c
    printf '#include "base/error.h"\n#include <cuda.h>\n' >tuner/gpu/driver.h
    printf '#include "base/error.h"\n#include <autotune/tuned.h>\n' >tuner/tune/race.h
    printf '#include "tune/race.h"\n' >tuner/tune/race.c
    printf '#include <cuda_occupancy.h>\n' >tuner/record/gpu.c
    printf '#include "../include/autotune/tuned.h"\n' >tuner/library/lookup.h
    printf '#include "lookup.h"\n' >tuner/library/find.c
    touch tuner/include/autotune/tuned.h tuner/main.c
}

teardown() {
    rm -rf "$scratch"
}

# plant FILE LINE: appends the line to the file
plant() {
    echo "$2" >>"tuner/$1"
}

# finds LINE...: the check fails and prints exactly these
finds() {
    run "$layers" "$scratch"
    [ "$status" -eq 1 ]
    diff <(printf '%s\n' "$@") <(echo "$output")
}

@test "nothing is wrong with the small project" {
    run "$layers" "$scratch"
    [ "$output" = "" ]
    [ "$status" -eq 0 ]
}

@test "an include that points to the right, or sideways" {
    touch tuner/tune/a.h tuner/gpu/b.h tuner/base/c.h
    plant base/error.c '#include "tune/a.h"'
    plant tune/race.c '#  include "gpu/b.h" // as a comment'
    touch tuner/base/literal.h
    plant library/lookup.h '#include "base/literal.h"'
    plant library/find.c '#include "base/c.h"'
    plant gpu/driver.h '#include <tune/a.h>'
    plant main.c '#include "gpu/b.h"'
    finds 'tuner/base/error.c:2: base/ may not include "tune/a.h"; it may include itself and include/autotune' \
        'tuner/gpu/driver.h:3: gpu/ may not include "tune/a.h"; it may include base/, template/, record/ and compile/, itself and include/autotune' \
        'tuner/library/find.c:2: library/ may not include "base/c.h"; it may include base/cover, base/ini_reader, base/literal, base/tuned_reader and base/value, itself and include/autotune' \
        'tuner/main.c:1: main.c may not include "gpu/b.h"; it may include base/ and command/, itself and include/autotune' \
        'tuner/tune/race.c:2: tune/ may not include "gpu/b.h"; it may include base/, template/, search/, record/ and compile/, itself and include/autotune'
}

@test "CUDA's headers outside of their folders" {
    plant tune/race.c '#include <cuda.h>'
    plant record/gpu.c '#include <nvrtc.h>'
    plant gpu/driver.h '#include <cuda_occupancy.h>'
    finds 'tuner/gpu/driver.h:3: cuda_occupancy.h belongs in record/gpu.c alone' \
        'tuner/record/gpu.c:2: nvrtc.h belongs in compile/ alone' \
        'tuner/tune/race.c:2: cuda.h belongs in gpu/ alone'
}

@test "a cycle of modules, through headers and sources" {
    echo '#include "base/c.h"' >tuner/base/b.c
    touch tuner/base/b.h
    echo '#include "base/d.h"' >tuner/base/c.h
    printf '\n#include "base/b.h"\n' >tuner/base/d.c
    touch tuner/base/d.h
    finds 'modules include each other: base/b -> base/c -> base/d -> base/b' \
        '    tuner/base/b.c:1' '    tuner/base/c.h:1' '    tuner/base/d.c:2'
}

@test "an include that is not there, or lacks its folder" {
    plant base/error.c '#include "base/nothing.h"'
    plant tune/race.c '#include "race.h"'
    finds 'tuner/base/error.c:2: there is no "base/nothing.h"' 'tuner/tune/race.c:2: write "tune/race.h"'
}

@test "what does not belong at the top, and a folder of tests without one of the program" {
    touch tuner/helper.c
    mkdir tuner/util tests/unit/helper
    touch tests/unit/test_error.c
    finds "tuner/helper.c: only main.c, README.md and FORMATS.md stand beside the folders of tuner/" \
        "tuner/util: a folder that the table in tests/lint/layers.sh does not have" \
        "tests/unit/helper/: there is no tuner/helper" \
        "tests/unit/test_error.c: belongs in the folder of what it tests"
}
