#!/usr/bin/env bats
# Static mode: registers and occupancy for an architecture, without a GPU.
shared_cubins=yes
load helper

no_gpu() {
    export LD_LIBRARY_PATH=$scratch/nothing
}

@test "every variant has a row on four architectures" {
    no_gpu
    for arch in sm_80 sm_90 sm_100 sm_120; do
        expect 0 --config "$sweeps/scale.ini" --arch $arch --format csv
        equal "$(count outcome compiled)" 9
        [ "$(column registers | sort -n | head -n 1)" -ge 8 ]
        # 1024 threads: two blocks of 32 warps where an SM holds 64, one where it holds 48
        [ $arch = sm_120 ] || equal "$(column blocks_per_sm | sort -n | head -n 1)" 2
        [ $arch != sm_120 ] || equal "$(column blocks_per_sm | sort -n | head -n 1)" 1
    done
}

@test "says that nothing was timed, and writes no tuned INI" {
    no_gpu
    expect 0 --config "$sweeps/scale.ini" --arch sm_90
    grep -qiE 'static|nothing (was|is) timed|not timed' out
    has out scale sm_90 regs occ.
    [ ! -e results/tuned.ini ]
    ls results/static-sm_90/scale/*.csv
}

@test "the table has a row for each set of figures, with the number of its variants" {
    no_gpu
    expect 0 --config "$sweeps/scale.ini" --arch sm_90 --quiet
    for block_size in 64 256 1024; do
        grep -qE " $block_size +1 +1$" out
        grep -qE " $block_size +4, 16 +2$" out # which have as many registers
    done
    equal "$(grep -cE ' [12]$' out)" 6
    expect 0 --config "$sweeps/scale.ini" --arch sm_90 --quiet --top 2
    has out "2 of 6 rows, highest occupancy first; --top 6 shows all"
    expect 0 report --format html
    fails grep "winner</li>\|other variants" out
}

@test "reports have the registers and the occupancy of every launch" {
    cp -r "$sweeps/templates" .
    cat >>templates/scale.ini <<'INI'
[launch.twice]
entry = scale_good
grid = 1
block = 64
shared_bytes = 120000
arguments = in, out, float factor, uint64 n
[launch.never]
entry = scale_good
grid = 0
block = 32
arguments = in, out, float factor, uint64 n
INI
    expect 0 --template templates/scale.ini --format csv --set block_size=64,128
    equal "$(column other_launches | sort -u | sed 's/ [0-9]* regs/ N regs/')" "twice N regs 3 %"
    registers=$(column registers | sort -u)
    expect 0 report
    has out "its other launches: twice $registers regs 3 %"
    expect 0 report --format json
    has out "\"other_launches\": \"twice $registers regs 3 %\""
    expect 0 report --format html
    has out "twice $registers regs 3 %"
    expect 0 run templates/scale.ini
    has out "others   twice $registers regs 3 %"
}

@test "problems that compile to the same are one table of ten rows; CSV, JSON and HTML have each problem" {
    no_gpu
    sweep "[scale]" "n = 2^14, 2^15, 2^16" "block_size = 64, 128, 256, 512" "num_load = 1, 2, 4"
    expect 0 --config sweep.ini --arch sm_90
    equal "$(grep -c "static mode:" out)" 1
    has out "the same for 3 problems: n=16384 factor=1.5, n=32768 factor=1.5, n=65536 factor=1.5" \
        "10 of 12 variants, highest occupancy first; --top 12 shows all"
    lacks out "try values beyond"
    equal "$(find results/static-sm_90/scale -name '*.csv' | wc -l)" 3
    sed 1d out >first # as the record has it
    expect 0 report
    sed 1d out | cmp first -
    autotune report --format csv
    equal "$(count n 16384)" 12
    equal "$(count n 65536)" 12
    autotune report --format json
    equal "$(grep -o '"variants"' out | wc -l)" 3
    autotune report --format html
    equal "$(grep -o "<section " out | wc -l)" 3
    expect 0 --config sweep.ini --arch sm_90 --top 12
    lacks out "shows all"
    # one with other figures has a table of its own
    sed 's/^block = block_size$/&\nshared_bytes = n > 2^15 ? 1024 : 0/' "$sweeps/templates/scale.ini" | template own
    expect 0 --template own.ini --set n=2^14,2^15,2^16 --arch sm_90
    has out "the same for 2 problems: n=16384 factor=1.5, n=32768 factor=1.5" "own n=65536 factor=1.5"
}

@test "a kernel of 2-D tiles that the host program has never heard of" {
    no_gpu
    expect 0 --config "$SOURCE_DIR/tests/foreign/sweep.ini" --kernel transpose --arch sm_90 --format csv
    equal "$(count outcome compiled)" 14
    # 32 x 33 floats with padding, 32 x 32 without
    column static_shared_bytes >shared 2>&1 || column shared_bytes >shared
    grep -qx 4224 shared
    grep -qx 4096 shared
}

@test "a variant that does not compile has its outcome and its reason" {
    no_gpu
    sweep "[scale]" "mode = good, broken"
    expect 0 --config sweep.ini --arch sm_90 --format csv
    equal "$(count outcome compiled)" 1
    equal "$(count outcome compile_error)" 1
    has out "this variant does not compile"
}

@test "a constraint on kernel statistics is decided after compilation" {
    no_gpu
    sweep "[scale]" "mode = good, constrained"
    expect 0 --config sweep.ini --arch sm_90 --format csv
    equal "$(count outcome compiled)" 1
    equal "$(count outcome constraint)" 1
}

@test "an architecture that is not known, with those that are" {
    no_gpu
    expect 2 --config "$sweeps/scale.ini" --arch sm_9
    has err "'sm_9'" sm_90
    [ ! -s out ]
}

@test "a second run compiles nothing" {
    rm -rf cache
    no_gpu
    expect 0 --config "$sweeps/scale.ini" --arch sm_90
    find cache -type f -newer out >before
    ls -lR --time-style=full-iso cache >first
    expect 0 --config "$sweeps/scale.ini" --arch sm_90
    ls -lR --time-style=full-iso cache >second
    cmp first second
}

@test "without NVRTC: exit 3, saying where it was looked for" {
    no_gpu
    export AUTOTUNE_NVRTC=$scratch/nothing/libnvrtc.so
    expect 3 --config "$sweeps/scale.ini" --arch sm_90
    has err "$scratch/nothing/libnvrtc.so"
}

@test "the shipped sweep: every variant compiles or says why not" {
    no_gpu
    expect 0 --config "$SOURCE_DIR/configs/sweep.ini" --arch sm_90 --kernel grid_barrier --format csv
    [ "$(count outcome compiled)" -gt 0 ]
    equal "$(count outcome compile_error)" 0
}
