#!/usr/bin/env bats
# Values from the command line, and tuples of values.
shared_cubins=yes
load helper

@test "--set takes the place of the sweep's values, for tune and check" {
    expect 0 check --config "$sweeps/scale.ini" --set n=2^10,2^12 --set block_size=128,256 --set num_load=2
    has out "block_size          128, 256" "num_load            2" "n=1024 factor=1.5: 2 variants of 2" "n=4096"
    expect 0 --config "$sweeps/scale.ini" --set n=2^10 -s block_size=128,256 -s num_load=2 --format csv
    equal "$(column block_size | tr '\n' ' ')" "128 256 "
    equal "$(count n 1024)" 2
    has results/tuned.ini "problem.n = 1024" "parameter.num_load = 2"
}

@test "--template needs no sweep: defaults, and --set" {
    cp "$sweeps"/templates/scale.* .
    expect 0 --template scale.ini --set block_size=128,256 --format csv
    equal "$(column block_size | tr '\n' ' ')" "128 256 "
    has results/tuned.ini "kernel = scale" "problem.n = 16384"
    expect 0 check --template scale.ini
    has out "1 variant of 1"
    expect 2 --template nowhere.ini
    has err nowhere.ini
    expect 2 --template scale.ini --config sweep.ini
    has err "--template names the only kernel"
}

@test "--set of what no kernel has, with the nearest" {
    expect 2 check --config "$sweeps/scale.ini" --set blok_size=1
    has err "--set: unknown parameter or problem value 'blok_size'; did you mean 'block_size'?"
    expect 2 check --config "$sweeps/scale.ini" --set block_size
    has err "--set 'block_size' has no value"
    expect 2 check --config "$sweeps/scale.ini" --set block_size=12x
    has err "--set: " 12x
    expect 2 check --config "$sweeps/scale.ini" --set mode=wronk
    has err "--set: unknown value of mode 'wronk'; did you mean 'wrong'?"
    expect 2 check --config "$sweeps/scale.ini" --set n=1 --set n=2
    has err "--set: 'n' is given twice"
}

@test "of several kernels, those that have the name are set" {
    expect 0 check --config "$sweeps/shapes.ini" --kernel sum --kernel tree --set blocks=2
    has out "blocks              2"
}

@test "tuples of problem values and of parameters are these combinations alone" {
    sweep "[scale]" "(n, factor) = (2^10, 0.5), (2^12, 2.5)" "(num_load, block_size) = (1, 64), (4, 64), (2, 256)"
    expect 0 check --config sweep.ini
    has out "n=1024 factor=0.5: 3 variants" "n=4096 factor=2.5: 3 variants"
    lacks out "n=1024 factor=2.5"
    expect 0 --config sweep.ini --arch sm_90 --format csv
    equal "$(rows n factor block_size num_load)" \
        "1024:0.5:256:2 1024:0.5:64:1 1024:0.5:64:4 4096:2.5:256:2 4096:2.5:64:1 4096:2.5:64:4 "
}

@test "tuples beside lists, with words, from the command line, and of more than two" {
    sweep "[scale]" "block_size = 64, 128" "num_load = 1, 2"
    expect 0 check --config sweep.ini --set '(mode, block_size, num_load) = (good, 64, 1), (wrong, 128, 2)' --set n=1024,2048
    has out "n=1024 factor=1.5: 2 variants" "n=2048 factor=1.5: 2 variants"
}

@test "as many tuples as anyone lists" {
    {
        printf '[scale]\n(block_size, num_load, mode) ='
        for i in $(seq 32 3031); do
            printf ' (%d, %d, good),\n' "$i" $((i % 4 + 1))
        done
        echo ' (4000, 4, good)'
    } | sweep
    expect 0 check --config sweep.ini
    has out ": 3001 variants" "(block_size, num_load, mode) is one of 3001 tuples"
}

@test "tuples that are none" {
    for line in '(n, block_size) = (1, 2)' '(n, factor) = (1, 2, 3)' '(n, factor) = 1, 2' '(n, factr) = (1, 2)' \
        '(n, n) = (1, 2)' '(n, factor) = (1, x)' '(n, factor) =' '(n, factor) = (1, 2), (1, 2)' '(mode, num_load) = (wronk, 1)' \
        '() = (1)'; do
        printf '[scale]\n%s\n' "$line" | sweep
        refused 6
    done
    printf '[scale]\nn = 1\n(n, factor) = (1, 2)\n' | sweep
    refused 7 "'n' is given twice"
    printf '[scale]\n(n, factor) = (1, 2)\n' | sweep
    expect 2 check --config sweep.ini --set n=3
    has err "the sweep has tuples of '(n, factor)'; set all of their names"
}
