#!/usr/bin/env bats
# Budgets and evaluations: a run that cannot try every variant searches, and ends in time with a verdict.
load helper
shared_cubins=yes

# 512 variants, each of which compiles for itself.
large_sweep() {
    sweep <<INI
[scale]
n = ${1:-2^14}
block_size = 32..1024 step 32
num_load = 1..16
INI
}

# timed CODE MOST ARGUMENTS: autotune ends with CODE, within MOST tenths of a second; they are in $tenths
timed() {
    local begin
    begin=$(date +%s%N)
    expect "$1" "${@:3}"
    tenths=$((($(date +%s%N) - begin) / 100000000))
    [ "$tenths" -le "$2" ]
}

# tried: how many variants the record has
tried() {
    "$AUTOTUNE" report --format csv >tried.csv
    column outcome tried.csv | grep -c .
}

@test "a budget is kept, and ends with finals and a winner" {
    stand_in "fault = cuModuleLoadData:*:sleep100"
    large_sweep
    timed 0 100 --config sweep.ini --budget 4s # a busy machine is given time
    [ "$tenths" -ge 25 ]
    has out "winner: "
    has results/tuned.ini "parameter.block_size"
    lacks results/tuned.ini incomplete
    [ "$(tried)" -ge 1 ]
    [ "$(tried)" -lt 512 ]
    none_alive
}

@test "where the budget lets everything be tried, everything is tried, with the usual result" {
    expect 0 --config "$sweeps/scale.ini" --results all --tuned all.ini
    timed 0 600 --config "$sweeps/scale.ini" --budget 10m
    has out "9 variants of 9 points"
    equal "$(grep ^parameter results/tuned.ini)" "$(grep ^parameter all.ini)"
    nothing_to_do --config "$sweeps/scale.ini" --budget 10m
    nothing_to_do --config "$sweeps/scale.ini"
}

@test "evaluations: so many variants, and with more of them the run goes on" {
    stand_in "log = $scratch/calls"
    large_sweep
    expect 0 --config sweep.ini --evaluations 12
    equal "$(tried)" 12
    has out "12 variants of "
    nothing_to_do --config sweep.ini --evaluations 12
    cp tried.csv before.csv
    : >calls
    expect 0 --config sweep.ini --evaluations 20
    equal "$(tried)" 20
    tried >/dev/null
    # the finalists alone are measured again
    unchanged() { paste <(column block_size "$1") <(column num_load "$1") <(column median_us "$1") <(column finalist "$1"); }
    unchanged before.csv | grep -P '\t0$' | sort >before
    unchanged tried.csv | sort >after
    equal "$(comm -23 before after | grep -vxFf <(grep -P '\t1$' after))" ""
}

@test "a budget spent again goes on, and measures nothing twice" {
    stand_in "fault = cuModuleLoadData:*:sleep50"
    large_sweep
    expect 0 --config sweep.ini --budget 4s
    before=$(tried)
    expect 0 --config sweep.ini --budget 4s
    after=$(tried)
    [ "$after" -gt "$before" ]
    lacks results/tuned.ini incomplete
}

@test "a sweep widened later starts from what is known" {
    printf '[scale]\nblock_size = 64, 128\nnum_load = 1, 2, 4\n' | sweep
    expect 0 --config sweep.ini
    equal "$(tried)" 6
    printf '[scale]\nblock_size = 64..640 step 64\nnum_load = 1..6\n' | sweep
    expect 0 --config sweep.ini --evaluations 9
    equal "$(tried)" 9
    has out "9 variants of 60 points"
}

@test "what another tool measured on another GPU is tried first" {
    large_sweep
    awk 'BEGIN {
        printf "{\"metadata\": {\"timeunit\": \"milliseconds\"}, \"results\": ["
        for (i = 1; i <= 16; i++) {
            printf "%s{\"configuration\": {\"block_size\": 96, \"num_load\": %d}, \"invalidity\": \"correct\", ", i - 1 ? ",\n" : "", i
            printf "\"times\": {\"runtimes\": [%d]}, \"correctness\": 1, \"measurements\": []}", i < 9 ? 9 - i : i - 8
        }
        print "]}"
    }' >other.t4.json # fastest with 8 and 9
    expect 0 import other.t4.json --kernel scale --tool "Kernel Tuner" --gpu "NVIDIA A100"
    expect 0 --config sweep.ini --evaluations 4 --format csv
    equal "$(column block_size out | sort -u)" 96
    equal "$(column num_load out | sort -n | paste -s)" "$(printf '7\t8\t9\t10')"
    expect 0 --config sweep.ini --evaluations 4 --format csv --remeasure
    lacks out ",96,"
}

@test "limits in the sweep file: of the run and of a kernel; options replace them" {
    sweep <<'INI'
[scale]
evaluations = 3
block_size = 64..640 step 64
[other]
template = scale
block_size = 64..640 step 64
INI
    sed -i 's/^results = .*/&\nevaluations = 5/' sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(count kernel scale)" 3
    equal "$(count kernel other)" 5
    expect 0 --config sweep.ini --format csv --evaluations 7
    equal "$(count kernel scale)" 7
    equal "$(count kernel other)" 7
    sed -i 's/^results = .*/&\nbudget = 0.01s/' sweep.ini
    expect 1 --config sweep.ini --remeasure
    has err "the budget ended before a valid variant of 'scale' was found"
}

@test "several problems share the budget" {
    stand_in "fault = cuModuleLoadData:*:sleep50"
    large_sweep "2^12, 2^13, 2^14"
    timed 0 180 --config sweep.ini --budget 9s
    equal "$(grep -c "^parameter.block_size" results/tuned.ini)" 3
}

@test "a budget that is too small for one variant: what to do, and what there is" {
    stand_in "fault = cuModuleLoadData:*:sleep200"
    large_sweep
    timed 1 100 --config sweep.ini --budget 0.05s
    has err "the budget ended before a valid variant of 'scale' was found for n=16384" "give it more time"
    [ ! -e results/tuned.ini ]
    expect 0 report
    none_alive
    expect 0 --config sweep.ini --evaluations 2
}

@test "failures everywhere: the search ends, and says why" {
    sweep "[scale]" "mode = wrong, overrun, fault, constrained" "block_size = 64, 128, 256"
    expect 1 --config sweep.ini --evaluations 5
    has err "none of the 5 variants of 'scale' that were tried was valid" "more evaluations"
    expect 1 --config sweep.ini --budget 10m
    has err "no variant of 'scale' was valid"
    equal "$(tried)" 12
}

@test "some fail: they are not the winner, and count as tried" {
    sweep "[scale]" "mode = good, wrong, fault" "block_size = 64, 128, 256"
    expect 0 --config sweep.ini --budget 10m
    has out "3 measured" "3 wrong_result" "3 fault"
    has results/tuned.ini "parameter.mode = good"
}

@test "a space of one point, and one of none" {
    printf '[scale]\nblock_size = 128\n' | sweep
    expect 0 --config sweep.ini --budget 10m
    has results/tuned.ini "parameter.block_size = 128"
    printf '[scale]\nblock_size = 128\nconstraint = block_size > 128\n' | sweep
    expect 1 --config sweep.ini --budget 10m
    has err "no variant of 'scale' was valid"
    expect 1 --config sweep.ini --evaluations 5
}

@test "a problem for which nothing can be launched" {
    template bad <<'INI'
[parameters]
block_size = 64
[problem]
n = 0
[buffer.out]
type = float
length = 8 // n
access = write
[launch.main]
entry = scale_good
grid = 1
block = block_size
arguments = out
[expect.out]
reference = constant(0)
compare = exact
INI
    printf '[sweep]\ntemplates = .\n[bad]\nblock_size = 32..1024 step 32\n' >sweep.ini
    expect 1 --config sweep.ini --budget 10m
    has err "no variant of 'bad' was valid"
    has out "1 invalid"
}

@test "a billion points are searched without being enumerated" {
    sweep <<'INI'
[scale]
block_size = 32..1024 step 32
num_load = 1, 2
waves = 1..4096
depth = 1..4096
constraint = waves != depth
constraint = (block_size + waves) % 7 != 0
INI
    sed -i '/^constraint/d; s/^num_load = 1$/num_load = 1\nwaves = 1\ndepth = 1/' templates/scale.ini
    sed -i '1i #define UNUSED (WAVES + DEPTH)' templates/scale.cu
    expect 2 --config sweep.ini
    has err "more than 10^7 variants" "--budget" "--evaluations"
    if ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE"; then
        ulimit -v 1500000
    fi
    expect 0 --config sweep.ini --evaluations 6
    has out "6 variants of 1073741824 points"
}

@test "an interrupted search keeps what it has, and goes on" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:10:hang"
    large_sweep
    interrupt --config sweep.ini --evaluations 30
    has err "variants are in the record; run the same command to go on"
    has results/tuned.ini "incomplete = yes"
    [ "$(tried)" -lt 30 ]
    stand_in
    expect 0 --config sweep.ini --evaluations 30
    equal "$(tried)" 30
    lacks results/tuned.ini incomplete
}

@test "what a budget makes no sense with" {
    large_sweep
    expect 2 --config sweep.ini --budget soon
    has err "--budget 'soon' is not a duration; write it as 90s, 10m or 2h"
    expect 2 --config sweep.ini --evaluations 0
    has err "--evaluations must be at least 1"
    expect 2 --config sweep.ini --budget 5s --arch sm_90
    has err "static mode times nothing"
    expect 2 --config sweep.ini --evaluations 5 --exhaustive 3
    has err "--exhaustive measures every variant"
}

@test "static mode compiles everything, whatever the sweep's budget" {
    printf '[scale]\nbudget = 0.01s\nblock_size = 64, 128\n' | sweep
    expect 0 --config sweep.ini --arch sm_90
    has out "2 variants of 2 points"
}

@test "a long run says what it will cost, once it is known" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:*:sleep150"
    large_sweep
    start --config sweep.ini
    for _ in $(seq 300); do
        ! grep -q 'variants at' err || break
        sleep 0.1
    done
    kill -INT "$run"
    wait "$run" || true
    grep -qE "^autotune: about [0-9.]+ (s|minutes) left: [0-9]+ variants at [0-9.]+ m?s each$" err
    equal "$(grep -c 'variants at' err)" 1
}

@test "--progress shows how the best time improved" {
    large_sweep
    expect 0 --config sweep.ini --evaluations 10 --progress
    grep -qE "^scale: [0-9]+: .*; best [0-9.]+ µs at [0-9.]+ s, [0-9.]+ at [0-9.]+ s" err
}

@test "reports and the tuned INI say how much of the space was tried, and how the best improved" {
    large_sweep
    expect 0 --config sweep.ini --evaluations 16
    has out "16 variants of 512 points" "searched: 3.1 % of the space's variants were tried" "improved: " "it is too early to say how near the fastest is"
    has results/tuned.ini "variants_tried = 16" "variants_in_space = 512"
    autotune report
    has out "searched: 3.1 %"
    autotune report --format json
    has out '"improvements"' '"seen_s"' '"estimate": null'
    autotune report --format html
    has out "Best so far" "3.1 % of the space"
    expect 0 --config "$sweeps/scale.ini" --remeasure # in the same record, but everything is tried
    lacks out "searched:"
    lacks results/tuned.ini variants_tried
}

# long_constraint CONSTRAINT: a sweep of 10^20 points
long_constraint() {
    {
        printf '[launch_parameters]\n'
        printf 'p%s = 1\n' a b c d e f g h i j
        sed -n '/^\[problem\]/,/^arguments/{/^when/d;s/block_size \* num_load/256/;s/= block_size/= 256/;p}' \
            "$sweeps/templates/scale.ini"
        printf '[expect.out]\nreference = scale_reference\narguments = in, reference, float factor, uint64 n\n'
        printf 'compare = relative(1e-6)\n'
    } | template long
    {
        printf '[sweep]\ntuned = results/tuned.ini\n[long]\nn = 2^10\nconstraint = %s\n' "$1"
        printf 'p%s = 1..100\n' a b c d e f g h i j
    } >sweep.ini
}

@test "a constraint of several conditions is searched as quickly as several constraints" {
    long_constraint "pa * pb == 4000 and pb * pc == 4000 and pc * pd == 4000 and pd * pe == 4000 and pe * pf == 4000 and pf * pg == 4000 and pg * ph == 4000 and ph * pi == 4000 and pi * pj == 4000"
    expect 0 --config sweep.ini --evaluations 3
    equal "$(tried)" 3
}

@test "a budget is kept where hardly any point is allowed" {
    long_constraint "pa + pb + pc + pd + pe + pf + pg + ph + pi + pj == 1000"
    timed 1 100 --config sweep.ini --budget 2s
    has err "the budget ended before a valid variant of 'long' was found for n=1024 factor=1.5; 0 were tried"
}

# 97^9 is no double, and its nearest one is larger; 100^10 is more than 2^63
@test "of a huge space from which nothing is ruled out, nothing is reported as ruled out" {
    for values in 97 100; do
        long_constraint "n > 0"
        sed -i "s/1\.\.100/1..$values/" sweep.ini
        [ "$values" != 97 ] || sed -i 's/^pj = .*/pj = 1/' sweep.ini
        expect 0 --config sweep.ini --evaluations 1 --format json
        has out '"rejected": 0,'
        [ "$values" != 97 ] || has out '"points": 760231058654565217,'
        lacks out '"points": -'
    done
}

@test "a budget that ends before the finals leaves no verdict, though everything is known" {
    rm -rf cache
    printf '[scale]\nn = 2^10\nblock_size = 64, 128, 256\n' | sweep
    expect 0 --config sweep.ini
    rm -rf cache # so that the reference is still being compiled when time is over
    printf '[scale]\nn = 2^10\nblock_size = 64, 128\n' | sweep
    expect 1 --config sweep.ini --budget 0.01s
    has err "the budget ended before"
    expect 0 --config sweep.ini
    has out "winner: "
}
