#!/usr/bin/env bats
# tests/bench/flush.c runs where there is no GPU, too: what it writes is complete. What its figures say needs a GPU.
shared_cubins=yes
load helper

@test "the demonstration of the flush writes a row for each way" {
    stand_in l2_bytes=1048576
    timeout 60 "$BUILD_DIR/tests/flush" bench "$sweeps/templates/scale.ini" block_size=128 \
        "$sweeps/templates/tile.ini" >out
    has bench/flush.csv "kernel,flush,samples,median_us,low_us,high_us,ratio,ratio_low,ratio_high"
    equal "$(count kernel scale bench/flush.csv) $(count kernel tile bench/flush.csv)" "8 8"
    # with the stand-in no cache is modelled: whatever came before, a sample is the same
    run awk -F, 'NR > 1 && ($3 != 201 || $4 <= 0 || $7 < 0.99 || $7 > 1.01)' bench/flush.csv
    equal "$output" ""
}

@test "the copy kernel of the demonstration compiles" {
    expect 0 emit --kernel copy --templates "$SOURCE_DIR/tests/bench" --cubin --output copy.cubin
    [ -s copy.cubin ]
}
