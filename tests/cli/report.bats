#!/usr/bin/env bats
# `report` prints what is stored, without a GPU.
shared_cubins=yes
load helper

@test "prints the stored results as the run did" {
    autotune --config "$sweeps/scale.ini"
    exits 0
    mv out tuned_output
    export LD_LIBRARY_PATH=$scratch/nothing AUTOTUNE_NVRTC=$scratch/nothing/libnvrtc.so
    autotune report
    exits 0
    has out scale "Stand-in H200" measured
    # the rows of the table are the same
    grep -E '^ *[0-9]+ .*\b256\b' tuned_output >rows || grep -E '\b256\b' tuned_output >rows
    while read -r row; do
        has out "$row"
    done <rows
}

@test "csv has every variant and a header" {
    autotune --config "$sweeps/scale.ini"
    exits 0
    autotune report --format csv
    exits 0
    equal "$(wc -l <out)" 10
    equal "$(count outcome measured)" 9
    equal "$(column block_size | sort -n | uniq -c | tr -s ' ' | tr '\n' ';')" " 3 64; 3 256; 3 1024;"
}

@test "json is well-formed and has the raw samples" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    autotune --config "$sweeps/scale.ini"
    exits 0
    autotune report --format json
    exits 0
    python3 - <<'PYTHON'
import json
text = open("out").read()
document = json.loads(text)
assert '"samples_ns"' in text
assert text.count('"measured"') >= 9
PYTHON
}

@test "--results names the folder" {
    autotune --config "$sweeps/scale.ini" --results there
    exits 0
    autotune report --results there
    exits 0
    has out scale
}

@test "--kernel narrows it down" {
    autotune --config "$sweeps/shapes.ini" --kernel tile --kernel sum
    exits 0
    autotune report --kernel sum
    exits 0
    has out sum
    lacks out tile
}

@test "several GPUs and static runs stand side by side" {
    autotune --config "$sweeps/scale.ini"
    exits 0
    stand_in "name=Stand-in B"
    autotune --config "$sweeps/scale.ini"
    exits 0
    autotune --config "$sweeps/scale.ini" --arch sm_80
    exits 0
    autotune report
    exits 0
    has out "Stand-in H200" "Stand-in B" sm_80
}

@test "cards of one name with different numbers of SMs are different GPUs" {
    autotune --config "$sweeps/scale.ini" --results before
    exits 0
    stand_in "sm_count = 66"
    autotune --config "$sweeps/scale.ini" --results before
    exits 0
    autotune report --results before
    exits 0
    has out "sm_90, 132 SMs" "sm_90, 66 SMs"
    autotune compare before before
    exits 0
    has out "2 within noise"
}

@test "without a record: an error that says what to do" {
    autotune report
    [ "$code" -eq 4 ] || exits 2
    has err results
}

@test "a record that an interruption left without a study: the same, not a report of nothing" {
    command -v python3 >/dev/null || skip "no python3 to empty it"
    autotune --config "$sweeps/scale.ini"
    exits 0
    python3 -c 'import sqlite3; sqlite3.connect("results/record.sqlite").executescript("DELETE FROM variant; DELETE FROM study")'
    for arguments in "report" "report --format csv" "report --kernel scale"; do
        # shellcheck disable=SC2086 # one word each
        autotune $arguments
        exits 4
        has err "the record is empty; run \`autotune --config FILE\` first"
    done
}

@test "a damaged record is refused and left alone" {
    autotune --config "$sweeps/scale.ini"
    exits 0
    record=$(find results -maxdepth 1 -type f ! -name '*.ini' ! -name '*.csv' ! -name '*-wal' ! -name '*-shm')
    rm -f "$record"-wal "$record"-shm
    printf 'this is no database, and long enough to be told from an empty one' >"$record"
    cp "$record" before
    autotune report
    exits 4
    cmp before "$record"
}
