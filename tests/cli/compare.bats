#!/usr/bin/env bats
# `compare A B` says what changed between two results and whether it is more than noise.
shared_cubins=yes
load helper

# tune FOLDER [KEY=VALUE...]: the sweep on a stand-in of these settings, its results in FOLDER
tune() {
    local folder=$1
    shift
    stand_in "$@"
    autotune --config "$sweeps/scale.ini" --results "$folder" --tuned "$folder/tuned.ini"
    exits 0
}

@test "two runs of the same are within the noise" {
    tune before seed=1
    tune after seed=2
    autotune compare before after
    exits 0
    has out "within noise" "same" "1 within noise, 0 faster, 0 slower, 0 only in A, 0 only in B"
    equal "$(cat err)" ""
}

@test "slower outside the noise: exit code 1; the other way round it is faster" {
    tune before
    tune after base_ns=10500
    autotune compare before after
    exits 1
    has out slower "1 slower"
    equal "$(cat err)" ""
    autotune compare after before
    exits 0
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
            autotune compare $a $b --format csv
            exits 1
            equal "$(column status)" slower
        done
    done
    equal "$(column ratio_from)" intervals
    autotune compare --format csv before after
    exits 1
    equal "$(column ratio_from)" samples
    awk -v ratio="$(column ratio)" 'BEGIN { exit !(ratio > 1.04 && ratio < 1.06) }'
}

@test "what only one has is listed" {
    tune before
    cp -r before after
    stand_in "name=Stand-in B"
    autotune --config "$sweeps/scale.ini" --results after --tuned after/tuned.ini
    exits 0
    autotune compare before after
    exits 0
    has out "only in B" "Stand-in B" "1 within noise, 0 faster, 0 slower, 0 only in A, 1 only in B"
    autotune compare after before
    exits 0
    has out "1 only in A, 0 only in B"
}

@test "json is well-formed" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    tune before
    tune after base_ns=10500
    autotune compare before after --format json
    exits 1
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
    autotune compare before after
    exits 2
    has out "only in A" "only in B"
    has err "in common"
}

@test "wrong arguments are refused" {
    mkdir empty
    printf 'no tuned INI\n' >text
    autotune compare
    exits 2
    has err "not 0"
    autotune compare a b c
    exits 2
    autotune compare nothing empty
    exits 2
    has err "'nothing' cannot be opened"
    autotune compare empty empty
    exits 2
    has err "'empty'" "record.sqlite"
    autotune compare text text
    exits 2
    has err "text:1:"
    autotune compare empty empty --format html
    exits 2
    autotune compare --help
    exits 0
    has out "Example: autotune compare"
}
