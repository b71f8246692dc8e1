#!/usr/bin/env bats
# `simulate`: how good the search is on spaces in which every point was measured.
shared_cubins=yes
load helper

# measured NAME: a T4 file of 480 points, an eighth of which fail; 1 ms is the fastest
measured() {
    awk 'BEGIN {
        printf "{\"metadata\": {\"timeunit\": \"milliseconds\"}, \"results\": ["
        for (i = 0; i < 480; i++) {
            x = i % 8; y = int(i / 8) % 6; z = int(i / 48)
            time = 1 + 0.3 * (x > 3 ? x - 3 : 3 - x) + 0.5 * (y > 2 ? y - 2 : 2 - y) + 0.2 * (z > 6 ? z - 6 : 6 - z)
            printf "%s{\"configuration\": {\"block_size\": %d, \"unroll\": %d, \"mode\": \"m%d\"}, ", i ? ",\n" : "", 2 ^ x, y, z
            printf "\"invalidity\": \"%s\", \"times\": {\"runtimes\": []}, \"correctness\": 1, ", i % 8 == 7 ? "runtime" : "correct"
            printf "\"measurements\": [{\"name\": \"time\", \"value\": %s, \"unit\": \"ms\"}]}", i % 8 == 7 ? "\"failed\"" : time
        }
        print "]}"
    }' >"$1"
}

@test "prints a line per file and number of evaluations" {
    measured a.t4.json
    measured b.t4.json
    expect 0 simulate a.t4.json b.t4.json --evaluations 20,60 --repeat 3
    equal "$(grep -c json out)" 4
    has out "a.t4.json  model  " "b.t4.json  model  "
    [ ! -s err ]
}

@test "the same seed gives the same output, in CSV" {
    measured a.t4.json
    expect 0 simulate a.t4.json --evaluations 10,30,480 --repeat 4 --seed 7 --format csv
    equal "$(head -n 1 out)" "file,strategy,evaluations,repeats,share_mean,share_min,share_p5,gap_mean,cpu_us"
    equal "$(wc -l <out)" 4
    has out "a.t4.json,model,480,4,1.00000,1.00000,1.00000,1.00000,"
    cut -d , -f 1-8 out >first
    autotune simulate a.t4.json --evaluations 10,30,480 --repeat 4 --seed 7 --format csv
    diff first <(cut -d , -f 1-8 out)
    autotune simulate a.t4.json --evaluations 10,30,480 --repeat 4 --seed 8 --format csv
    fails diff first <(cut -d , -f 1-8 out)
}

@test "the search is better than luck, and batches cost little" {
    measured a.t4.json
    expect 0 simulate a.t4.json --evaluations 60 --repeat 10 --strategy random --format csv
    luck=$(tail -n 1 out | cut -d , -f 5)
    for batch in 1 8; do
        expect 0 simulate a.t4.json --evaluations 60 --repeat 10 --batch "$batch" --format csv
        awk -F , -v luck="$luck" 'NR == 2 { exit !($5 > 0.97 && $5 > luck) }' out
    done
}

@test "results of another GPU are a good beginning" {
    measured a.t4.json
    sed 's/"value": \([0-9.]*\),/"value": 3\1,/' a.t4.json >b.t4.json # slower, in the same order or nearly
    expect 0 simulate a.t4.json --evaluations 12 --repeat 5 --known b.t4.json --format csv
    near=$(tail -n 1 out | cut -d , -f 5)
    expect 0 simulate a.t4.json --evaluations 12 --repeat 5 --format csv
    awk -F , -v near="$near" 'NR == 2 { exit !(near > $5) }' out
    expect 2 simulate a.t4.json --known nothing.json --format csv
    has err "nothing.json"
    [ ! -s out ]
}

@test "wrong options and files are refused with one message" {
    measured a.t4.json
    expect 2 simulate
    has err "no T4 results file; name one"
    expect 2 simulate a.t4.json --strategy luck
    has err "unknown strategy 'luck'; choose model or random"
    for list in "50,20" "0" "50,x" "5.5"; do
        expect 2 simulate a.t4.json --evaluations "$list"
        has err "--evaluations $list: give numbers from 1 to 10000000 in ascending order"
    done
    expect 2 simulate a.t4.json --repeat 0
    has err "--repeat 0: give a number from 1 to 100000"
    expect 2 simulate a.t4.json --format html
    has err "unknown format 'html'; choose table or csv"
    expect 2 simulate nothing.json
    has err "nothing.json"
    head -c 1000 a.t4.json >cut.json
    expect 2 simulate cut.json
    has err "cut.json:5: not JSON"
    equal "$(wc -l <err)" 1
    [ ! -s out ]
    echo '{"results": []}' >empty.json
    expect 2 simulate empty.json
    has err "empty.json: no result is correct"
}
