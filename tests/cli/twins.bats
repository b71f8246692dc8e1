#!/usr/bin/env bats
# Variants with the same machine code and launches are one measurement, and the reports say so.
shared_cubins=yes
load helper

# with_pad VALUES [LINE...]: a sweep of `odd`, with a parameter `pad` that changes nothing after preprocessing
with_pad() {
    sed 's/^num_load = 1$/&\npad = 0/' "$sweeps/templates/scale.ini" | template odd
    sed -i '1i #ifndef PAD\n#define PAD 0\n#endif' odd.cu
    printf '%s\n' "[odd]" "n = 2^14" "block_size = 64, 256" "pad = $1" "${@:2}" >sweep.ini
}

# outcomes: PAD:OUTCOME of each variant, counted
outcomes() {
    paste -d: <(column pad) <(column outcome) | sort | uniq -c | awk '{ printf "%s %s  ", $1, $2 }'
}

# loads: how many modules the driver has loaded since the last call
loads() {
    grep -c cuModuleLoadData calls || true
    : >calls
}

@test "a parameter that changes nothing costs nothing: one of each pair of twins is measured" {
    stand_in "log = $scratch/calls"
    with_pad 0
    expect 0 --config sweep.ini
    once=$(loads)
    with_pad 0,1,2
    expect 0 --config sweep.ini --format csv --remeasure
    equal "$(outcomes)" "2 0:measured  2 1:duplicate  2 2:duplicate  "
    equal "$(loads)" "$once"
    has results/tuned.ini "parameter.block_size = 256" "parameter.pad = 0"
    equal "$(grep -c '^tie' results/tuned.ini)" 0
}

@test "every report says which variant was measured for a duplicate, and its time" {
    with_pad 0,1
    expect 0 --config sweep.ini
    has out "2 measured, 2 duplicate" "the same machine code and launches as another variant"
    expect 0 report --format csv
    has out ",duplicate,block_size=64 num_load=1 pad=0 mode=good,"
    equal "$(column median_us | sort -u | wc -l)" 2
    expect 0 report --format json
    python3 -c 'import json
variants = json.load(open("out"))[0]["variants"]
for variant in variants:
    if variant["outcome"] == "duplicate":
        twin = variants[variant["twin"]]
        assert twin["outcome"] == "measured" and twin["twin"] is None
        assert variant["time"] == twin["time"] and variant["samples_ns"] == []
        assert {**variant["parameters"], "pad": 0} == twin["parameters"]'
    expect 0 report --format html
    has out "2 measured, 2 duplicate" "Other outcomes and their reasons"
    expect 0 report --format t4
    python3 -c 'import json
results = json.load(open("out"))["results"]
assert len(results) == 4 and all(result["invalidity"] == "correct" for result in results)'
}

@test "what differs in its launches alone is not a duplicate" {
    sed 's/^\[problem\]/[launch_parameters]\npad = 0\n&/; s/^block = block_size$/&\nshared_bytes = 16 * pad/' \
        "$sweeps/templates/scale.ini" | template odd
    printf '[odd]\nn = 2^14\nblock_size = 64\npad = 0, 1\n' >sweep.ini
    measures 2 --config sweep.ini
}

@test "a twin that fails has duplicates, and no second trial" {
    stand_in "log = $scratch/calls"
    with_pad 0,1,2 "mode = good, fault"
    sed -i 's/^block_size = .*/block_size = 64/' sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows mode pad outcome)" \
        "fault:0:fault fault:1:duplicate fault:2:duplicate good:0:measured good:1:duplicate good:2:duplicate "
    expect 0 report --format t4
    python3 -c 'import json
results = json.load(open("out"))["results"]
assert [result["correctness"] for result in results].count(0) == 3
assert sum(result["invalidity"] == "runtime" for result in results) == 3'
}

@test "a second run has nothing to do" {
    with_pad 0,1
    expect 0 --config sweep.ini --format csv
    cp out first
    nothing_to_do --config sweep.ini --format csv
    cmp out first
}

@test "a sweep without the variant that was measured measures a duplicate of it" {
    with_pad 0,1,2
    expect 0 --config sweep.ini
    with_pad 1,2
    expect 0 --config sweep.ini --format csv
    equal "$(outcomes)" "2 1:measured  2 2:duplicate  "
    has results/tuned.ini "parameter.pad = 1"
    with_pad 0,1,2
    expect 0 --config sweep.ini --format csv
    equal "$(outcomes)" "2 0:measured  2 1:measured  2 2:duplicate  "
    has results/tuned.ini "parameter.block_size = 256"
}

@test "a sweep that is widened does not measure what it knows from the twin" {
    stand_in "log = $scratch/calls"
    with_pad 1
    expect 0 --config sweep.ini
    : >calls
    with_pad 0,1,2
    expect 0 --config sweep.ini --format csv
    equal "$(outcomes)" "2 0:measured  2 1:duplicate  2 2:duplicate  "
    has results/tuned.ini "parameter.pad = 0"
    nothing_to_do --config sweep.ini --format csv
}

@test "a run that was interrupted resumes with duplicates" {
    with_pad 0,1,2
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:4:hang"
    start --config sweep.ini
    for _ in $(seq 300); do
        grep -q ' hang' calls 2>/dev/null && break
        sleep 0.02
    done
    kill -INT "$run"
    wait "$run" || true
    stand_in
    expect 0 --config sweep.ini --format csv
    equal "$(outcomes)" "2 0:measured  2 1:duplicate  2 2:duplicate  "
}

@test "a twin whose time limit is raised takes its duplicates along" {
    with_pad 0,1 "mode = good, hang"
    sed -i -e '1i [sweep]\nlaunch_timeout_s = 0.3' -e 's/^block_size = .*/block_size = 64/' sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(count outcome timeout),$(count outcome duplicate)" 1,2
    sed -i 's/^launch_timeout_s = .*/launch_timeout_s = 0.5/' sweep.ini
    expect 0 --config sweep.ini --format csv
    has out "did not end within 0.5 s"
    equal "$(count outcome timeout),$(count outcome duplicate)" 1,2
}

@test "a variant that a constraint ruled out is nobody's twin: others with its code and launches are run" {
    printf '[scale]\nn = 2^12\nblock_size = 64\nmode = constrained\n' | sweep
    expect 1 --config sweep.ini
    sed -i 's/^mode = .*/mode = good, constrained/' sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(column mode | paste -sd' ') $(column outcome | paste -sd' ')" "good constrained measured constraint"
}
