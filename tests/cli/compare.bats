#!/usr/bin/env bats
# `compare A B` says what changed between two results and whether it is more than noise.
shared_cubins=yes
load helper

# tune FOLDER [KEY=VALUE...]: the sweep on a stand-in of these settings, its results in FOLDER
tune() {
    local folder=$1
    shift
    stand_in "$@"
    expect 0 --config "$sweeps/scale.ini" --results "$folder" --tuned "$folder/tuned.ini"
}

@test "two runs of the same are within the noise" {
    tune before seed=1
    tune after seed=2
    expect 0 compare before after
    has out "within noise" "same" "1 within noise, 0 faster, 0 slower, 0 only in A, 0 only in B"
    equal "$(cat err)" ""
}

@test "slower outside the noise: exit code 1; the other way round it is faster" {
    tune before
    tune after base_ns=10500
    expect 1 compare before after
    has out slower "1 slower"
    equal "$(cat err)" ""
    expect 0 compare after before
    has out "1 faster"
}

@test "says which parameters of the winner changed" {
    tune before
    tune after best_block=1024 best_grid=16
    autotune compare before after
    has out "differs" "block_size 256 -> 1024"
}

@test "folders, records and tuned INIs go together" {
    tune before
    tune after base_ns=10500
    rm -r cache
    for a in before before/record.sqlite before/tuned.ini; do
        for b in after after/record.sqlite after/tuned.ini; do
            expect 1 compare $a $b --format csv
            equal "$(column status)" slower
        done
    done
    equal "$(column ratio_from)" intervals
    expect 1 compare --format csv before after
    equal "$(column ratio_from)" samples
    awk -v ratio="$(column ratio)" 'BEGIN { exit !(ratio > 1.04 && ratio < 1.06) }'
}

@test "what only one has is listed" {
    tune before
    cp -r before after
    stand_in "name=Stand-in B"
    expect 0 --config "$sweeps/scale.ini" --results after --tuned after/tuned.ini
    expect 0 compare before after
    has out "only in B" "Stand-in B" "1 within noise, 0 faster, 0 slower, 0 only in A, 1 only in B"
    expect 0 compare after before
    has out "1 only in A, 0 only in B"
}

@test "json is well-formed" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    tune before
    tune after base_ns=10500
    expect 1 compare before after --format json
    python3 - <<'PYTHON'
import json
(one,) = json.load(open("out"))
assert one["status"] == "slower" and one["kernel"] == "scale" and one["problem"]["n"] == 16384
assert one["ratio"]["low"] <= one["ratio"]["estimate"] <= one["ratio"]["high"]
assert one["a"]["parameters"]["block_size"] == 256 and one["b"]["median_ns"] > one["a"]["median_ns"]
PYTHON
}

@test "nothing in common is no success" {
    tune before
    tune after "name=Stand-in B"
    expect 2 compare before after
    has out "only in A" "only in B"
    has err "in common"
}

@test "wrong arguments are refused" {
    mkdir empty
    printf 'no tuned INI\n' >text
    expect 2 compare
    has err "not 0"
    expect 2 compare a b c
    expect 2 compare nothing empty
    has err "'nothing' cannot be opened"
    expect 2 compare empty empty
    has err "'empty'" "record.sqlite"
    expect 2 compare text text
    has err "text:1:"
    expect 2 compare empty empty --format html
    expect 0 compare --help
    has out "Example: autotune compare"
}
