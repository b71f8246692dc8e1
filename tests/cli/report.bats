#!/usr/bin/env bats
# `report` prints what is stored, without a GPU.
shared_cubins=yes
load helper

@test "prints the stored results as the run did" {
    expect 0 --config "$sweeps/scale.ini"
    mv out tuned_output
    export LD_LIBRARY_PATH=$scratch/nothing AUTOTUNE_NVRTC=$scratch/nothing/libnvrtc.so
    expect 0 report
    has out scale "Stand-in H200" measured
    # the rows of the table are the same
    grep -E '^ *[0-9]+ .*\b256\b' tuned_output >rows || grep -E '\b256\b' tuned_output >rows
    while read -r row; do
        has out "$row"
    done <rows
}

@test "csv has every variant and a header" {
    expect 0 --config "$sweeps/scale.ini"
    expect 0 report --format csv
    equal "$(wc -l <out)" 10
    equal "$(count outcome measured)" 9
    equal "$(column block_size | sort -n | uniq -c | tr -s ' ' | tr '\n' ';')" " 3 64; 3 256; 3 1024;"
}

@test "json is well-formed and has the raw samples" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    expect 0 --config "$sweeps/scale.ini"
    expect 0 report --format json
    python3 - <<'PYTHON'
import json
text = open("out").read()
document = json.loads(text)
assert '"samples_ns"' in text
assert text.count('"measured"') >= 9
PYTHON
}

@test "--results names the folder" {
    expect 0 --config "$sweeps/scale.ini" --results there
    [ -s there/tuned.ini ] # it moves the tuned INI, too, unless --tuned says otherwise
    expect 0 --config "$sweeps/scale.ini" --results there --tuned here.ini --remeasure
    [ -s here.ini ]
    [ ! -e results ]
    expect 0 report --results there
    has out scale
}

@test "--kernel narrows it down" {
    expect 0 --config "$sweeps/shapes.ini" --kernel tile --kernel sum
    expect 0 report --kernel sum
    has out sum
    lacks out tile
}

@test "several GPUs and static runs stand side by side" {
    expect 0 --config "$sweeps/scale.ini"
    stand_in "name=Stand-in B"
    expect 0 --config "$sweeps/scale.ini"
    expect 0 --config "$sweeps/scale.ini" --arch sm_80
    expect 0 report
    has out "Stand-in H200" "Stand-in B" sm_80
}

@test "cards of one name with different numbers of SMs are different GPUs" {
    expect 0 --config "$sweeps/scale.ini" --results before
    stand_in "sm_count = 66"
    expect 0 --config "$sweeps/scale.ini" --results before
    expect 0 report --results before
    has out "sm_90, 132 SMs" "sm_90, 66 SMs"
    expect 0 compare before before
    has out "2 within noise"
}

@test "without a record: an error that says what to do" {
    autotune report
    [ "$code" -eq 4 ] || exits 2
    has err results
}

@test "a record that an interruption left without a study: the same, not a report of nothing" {
    command -v python3 >/dev/null || skip "no python3 to empty it"
    expect 0 --config "$sweeps/scale.ini"
    python3 -c 'import sqlite3; sqlite3.connect("results/record.sqlite").executescript("DELETE FROM variant; DELETE FROM study")'
    for arguments in "report" "report --format csv" "report --kernel scale"; do
        # shellcheck disable=SC2086 # one word each
        expect 4 $arguments
        has err "the record is empty; run \`autotune --config FILE\` first"
    done
}

@test "a damaged record is refused and left alone" {
    expect 0 --config "$sweeps/scale.ini"
    record=$(find results -maxdepth 1 -type f ! -name '*.ini' ! -name '*.csv' ! -name '*-wal' ! -name '*-shm')
    rm -f "$record"-wal "$record"-shm
    printf 'this is no database, and long enough to be told from an empty one' >"$record"
    cp "$record" before
    expect 4 report
    cmp before "$record"
}
