#!/usr/bin/env bats
# `autotune cover`: a few configurations for a range of problems. On the stand-in, 256 threads and 64 blocks are the
# fastest, so the best num_load grows with n.
load helper
shared_cubins=yes

# range LOW..HIGH [KEY=VALUE...]: a sweep of four variants, of which num_load = 1 is the best at 2^13, 4 at 2^17; and
# settings of the stand-in
range() {
    local bounds=$1
    shift
    stand_in "l2_bytes = 1048576" "$@" # quickly flushed
    sweep <<INI
[scale]
cover = n = $bounds
cover_configurations = 2
block_size = 256, 512
num_load = 1, 4
INI
}

launches() {
    grep -cs cuLaunchKernel calls || true
}

@test "a range gets two configurations, the measured sizes that decide between them, and the expected loss" {
    range 2^13..2^17 "log = $scratch/calls"
    expect 0 cover --config sweep.ini --output pages
    equal "$(grep -c cuDevicePrimaryCtxRetain calls)" 1 # one context for the tuning and for the rounds
    has pages/scale.html "scale on Stand-in H200" "n = 8192 .. 131072" ", chosen</title>" \
        "What is chosen" "<title>configuration 2</title>" "n = 131072" "</html>"
    has out "scale on Stand-in H200: n = 8192 .. 131072" "configuration 1: block_size=256" \
        "configuration 2: block_size=256" "expected loss at sizes that were not measured"
    has results/tuned.ini "cover = 3" "range.n = 8192 .. 131072" "problem.factor = 1.5" "mean_loss_percent = " \
        "command = autotune cover --config sweep.ini"
    equal "$(grep -c '^kernel' results/tuned.ini)" 1 # and no entries of single sizes
    # the best num_load grows with n
    first=$(sed -n 's/^measured.1 = n=8192: \(.*\) us/\1/p' results/tuned.ini | awk '{ print $1 < $2 ? 1 : 2 }')
    last=$(sed -n 's/^measured.* = n=131072: \(.*\) us/\1/p' results/tuned.ini | awk '{ print $1 < $2 ? 1 : 2 }')
    has results/tuned.ini "configuration.$first.num_load = 1" "configuration.$last.num_load = 4"
    none_alive
}

@test "the same command again measures nothing, and prints the same" {
    range 2^13..2^14
    expect 0 cover --config sweep.ini --quiet
    mv out before
    range 2^13..2^14 "log = $scratch/calls"
    expect 0 cover --config sweep.ini --quiet
    equal "$(launches)" 0
    diff before out
    [ ! -s err ]
}

@test "an interrupted cover goes on where it was" {
    range 2^13..2^14 "log = $scratch/calls" "fault = cuModuleLoadData:12:hang"
    interrupt cover --config sweep.ini
    has err "run the same command to go on"
    none_alive
    expect 0 report --format csv
    known=$(count outcome measured)
    [ "$known" -ge 1 ]
    range 2^13..2^14
    expect 0 cover --config sweep.ini
    has out "configuration 1: block_size=256"
}

@test "sizes of two versions of a template do not make one cover" {
    range 2^13..2^14 "log = $scratch/calls" "fault = cuModuleLoadData:12:sleep400"
    start cover --config sweep.ini
    await ' sleep' calls
    sed -i 's/^operations = n/operations = 2 * n/' templates/scale.ini
    ends 2
    has err "the template has changed since the run started; run again"
    [ ! -e results/tuned.ini ]
}

@test "a sweep that is edited meanwhile does not make one cover with what it was" {
    range 2^13..2^14 "log = $scratch/calls" "fault = cuModuleLoadData:4:sleep900"
    start cover --config sweep.ini
    await ' sleep' calls
    echo 'cache = warm' >>sweep.ini
    ends 2
    has err "sweep.ini: the sweep has changed since the run started; run again"
    [ ! -e results/tuned.ini ]
}

@test "of fewer than three sizes, none is left out: what is lost elsewhere is not known" {
    range 2^13..2^14
    echo 'constraint = n % 8192 == 0' >>sweep.ini
    expect 0 cover --config sweep.ini --output pages
    has out "expected loss at sizes that were not measured: not known, because fewer than 3 sizes were measured"
    has pages/scale.html "not measured: not known, because"
    lacks results/tuned.ini loss_percent held_out_sizes
    expect 0 explain -k scale -g "Stand-in H200" --n 16384
    has out "expected loss in the range: not known"
}

@test "a cover that is made again has the command that made it, though nothing had to be measured" {
    range 2^13..2^14
    expect 0 cover --config sweep.ini --quiet
    sed -i 's/^cover_configurations = 2/cover_configurations = 1/' sweep.ini
    expect 0 cover --config sweep.ini --jobs 1
    has results/tuned.ini "command = autotune cover --config sweep.ini --jobs 1"
}

@test "a page that cannot be written is refused before anything is measured" {
    range 2^13..2^14
    mkdir -p pages/scale.html
    expect 4 cover --config sweep.ini --output pages
    has err "pages/scale.html"
    [ ! -e results ]
}

@test "a budget that is too small: what to do" {
    range 2^13..2^17
    expect 1 cover --config sweep.ini --budget 0.001s
    has err "the budget ended before a valid variant of 'scale' was found at any of 9 sizes; give it more time"
}

@test "what is wrong with a range is said with its line" {
    range 2^14..2^13
    autotune cover --config sweep.ini
    refuses 6 "cover '2^14..2^13' ends below its start"
    range many
    refused 6 "cover 'many' is not a range; write it as n = 2^10 .. 2^30"
    sed -i '/^cover/d' sweep.ini
    expect 2 cover --config sweep.ini
    has err "no kernel has a range to cover"
}

@test "a constraint on the problem limits the range" {
    range 2^13..2^14
    echo "constraint = n % 1024 == 0" >>sweep.ini
    expect 0 cover --config sweep.ini --evaluations 4 # a search knows of it, too
    sizes=$(awk '$1 ~ /^[0-9]+$/ && $1 >= 8192 { print $1 }' out)
    [ -n "$sizes" ]
    for size in $sizes; do
        [ $((size % 1024)) -eq 0 ]
    done
}

@test "a range may be changed again and again: it has no more sizes than a new one, and none that a constraint rules out" {
    for bounds in 8192..16384 8199..16001 8209..15013; do
        range $bounds
        expect 0 cover --config sweep.ini --quiet
    done
    [ "$(grep -c '^measured' results/tuned.ini)" -le 12 ] # four per octave, and eight
    cp results/tuned.ini before
    expect 0 cover --config sweep.ini --quiet
    diff <(grep '^measured' before) <(grep '^measured' results/tuned.ini)
    echo "constraint = n < 12000" >>sweep.ini
    expect 0 cover --config sweep.ini --quiet
    lacks results/tuned.ini "n=15013:"
}

@test "a configuration is never chosen at a size at which a constraint rules it out, measured or not" {
    range 2^13..2^17
    sed -i 's/^block_size = .*/block_size = 256/' sweep.ini
    echo "constraint = n ~= 120008 or num_load == 1" >>sweep.ini
    expect 0 cover --config sweep.ini
    has results/tuned.ini "allowed.1 = n ~= 120008 or num_load == 1"
    for n in 120000 120008; do # for both, num_load = 4 is the faster one
        expect 0 explain --kernel scale --n $n --factor 1.5
        equal "$(awk '$1 == "num_load" { print $2 }' out)" "$((n == 120008 ? 1 : 4))"
    done
}

@test "a constraint on parameters and the number of SMs holds on the card at hand" {
    range 2^13..2^17
    sed -i 's/^block_size = .*/block_size = 256/' sweep.ini
    echo "constraint = sm_count >= 100 or num_load == 1" >>sweep.ini
    expect 0 cover --config sweep.ini --quiet
    has results/tuned.ini "allowed.1 = sm_count >= 100 or num_load == 1" "configuration.2.num_load = 4"
    for sms in 132 60; do
        stand_in "sm_count=$sms"
        expect 0 explain --kernel scale --n 2^17 --factor 1.5
        equal "$(awk '$1 == "num_load" { print $2 }' out)" "$((sms == 132 ? 4 : 1))"
    done
}

@test "constraints that name figures of the template hold in the cover, too" {
    range 2^13..2^14
    cp -r "$sweeps/templates" mine
    sed -i "s/^templates = .*/templates = mine/" sweep.ini
    sed -i -e 's/^constraint = block_size .*/constraint = tile <= 256 or n % tile ~= 4\nconstraint = rows >= 8192\n/' \
        -e 's/^\[buffer.in\]/[figures]\ntile = block_size * num_load\nrows = n + 1 - 1\n\n&/' mine/scale.ini
    expect 0 cover --config sweep.ini --quiet
    has results/tuned.ini "constraint = ((n + 1 - 1) >= 8192)" "allowed.1 = (block_size * num_load) <= 256 or n % (block_size * num_load) ~= 4"
}

@test "problems at which every configuration is ruled out get none" {
    range 2^13..2^14
    sed -i -e 's/^block_size = .*/block_size = 256/' -e 's/^num_load = .*/num_load = 1/' sweep.ini
    echo "constraint = n % 64 == 0 or num_load == 4" >>sweep.ini
    autotune cover --config sweep.ini --quiet
    has results/tuned.ini "allowed.1 = n % 64 == 0 or num_load == 4"
    autotune explain --kernel scale --n 8256 --factor 1.5
    has out "in the range of"
    autotune explain --kernel scale --n 16448 --factor 1.5
    has out "outside the range"
    expect 1 explain --kernel scale --n 8257 --factor 1.5
    has err "not for this problem"
}

@test "a cover has no answer where its constraint does not hold, in or beyond its ranges" {
    range 2^13..2^14
    echo "constraint = n <= 100000" >>sweep.ini
    autotune cover --config sweep.ini --quiet
    has results/tuned.ini "constraint = (n <= 100000)"
    expect 0 explain --kernel scale --n 100000 --factor 1.5
    has out "outside the range"
    expect 1 explain --kernel scale --n 100001 --factor 1.5
    has err "not for this problem"
    # an entry for a single problem, however far, answers
    sed -e '/^cover/d' -e '/^constraint/d' -e 's/^\[scale\]/&\nn = 2^20/' sweep.ini >once.ini
    autotune --config once.ini --quiet
    expect 0 explain --kernel scale --n 100001 --factor 1.5
    lacks out "of a cover"
}

@test "where the constraints leave one configuration, the cover has it, though it is slower elsewhere" {
    range 2^13..2^14
    sed -i 's/^num_load = .*/num_load = 1/' sweep.ini
    echo "constraint = block_size == 512 or n < 10000" >>sweep.ini
    expect 0 cover --config sweep.ini --quiet
    for n in 9000 12000; do
        expect 0 explain --kernel scale --n $n --factor 1.5
        has out "in the range of a cover"
        equal "$(awk '$1 == "block_size" { print $2 }' out)" "$((n < 10000 ? 256 : 512))"
    done
}

@test "a constraint on sizes and parameters that a tuned INI cannot express is refused likewise" {
    range 2^13..2^14
    echo "constraint = n % num_load == 0 and occupancy > 0" >>sweep.ini
    autotune cover --config sweep.ini
    refuses 6 "the cover of 'scale' cannot be written: 'n % num_load == 0 and occupancy > 0' of key 'allowed.1': unknown name 'occupancy'"
    [ ! -e results ]
}

@test "a constraint that a tuned INI cannot express is refused before anything is measured" {
    range 2^13..2^14
    printf 'constraint = n %% 2 == 0%s\n' "$(printf ' and n > %s' {1000..1012})" "$(printf ' and n > %s' {1000..1012})" >>sweep.ini
    autotune cover --config sweep.ini
    refuses 6 "'constraint = (n % 2 == 0 and n > 1000" "has more than 196 bytes; make it shorter"
    [ ! -e results ]
}

@test "sizes at which nothing can be measured are named, and the exit status says so" {
    range 2^13..2^14
    sed -i 's/^grid = ceil_div(n, block_size \* num_load)/grid = n > 10000 ? -1 : ceil_div(n, block_size)/' templates/scale.ini
    expect 1 cover --config sweep.ini --quiet
    has out "nothing could be measured at" "  n=16384" "configuration 1: "
    has err "the cover of 'scale' leaves out " " sizes of its range: no variant of 'scale' was valid for n="
    grep -q '^measured.1 = n=8192' results/tuned.ini
    lacks results/tuned.ini "n=16384:"
}

@test "a cover has its kernel's name, also if the smallest size was not tuned" {
    range 8200..131072
    sed -i 's/^block_size = .*/block_size = 256/' sweep.ini
    echo "constraint = n % (num_load * 16) == 0" >>sweep.ini # the first sizes are seldom multiples
    expect 1 cover --config sweep.ini --quiet
    equal "$(grep '^kernel = ' results/tuned.ini)" "kernel = scale"
    expect 0 explain --kernel scale --n 65536 --limit cover
}

@test "sizes that do not fit in memory are left out, also if they did once" {
    range 2^13..2^15 memory_bytes=6720000
    sed -i 's/^num_load = .*/num_load = 1/' sweep.ini
    sed 's/^cover = .*/n = 2^15/;/^cover_conf/d' sweep.ini >point.ini
    expect 3 cover --config sweep.ini --quiet
    has out "nothing could be measured at" "  n=32768"
    lacks out failed
    has err "problem 'n=32768 factor=1.5' needs" "the cover of 'scale' leaves out "
    has results/tuned.ini "measured.1 = n=8192: "
    lacks results/tuned.ini "n=32768:"
    rm -r results
    stand_in l2_bytes=1048576
    expect 0 --config point.ini --quiet
    stand_in l2_bytes=1048576 memory_bytes=6720000
    expect 3 cover --config sweep.ini --quiet
    has out "  n=32768"
    lacks out failed
    lacks results/tuned.ini "n=32768:"
}

# wrong_if CONDITION: under this condition, one element of the result is wrong.
wrong_if() {
    sed -i 's/^#if HAS(MODE_WRONG) .*/#if 1/' templates/scale.cu
    sed -i -e "s/^when = mode == \"wrong\" or .*/& or ($1)/" -e "s/^when = mode == \"good\".*/when = (mode == \"good\") and not ($1)/" \
        templates/scale.ini
}

@test "a configuration with a wrong result anywhere in the range is not shipped, and the output names it" {
    range 2^13..2^17
    sed -i 's/^block_size = .*/block_size = 256/' sweep.ini
    wrong_if "num_load == 4 and n > 100000"
    expect 0 cover --config sweep.ini --quiet
    has out "not shipped, because they were wrong, crashed or hung in the range:" \
        "  block_size=256 num_load=4 mode=good: wrong_result for n=1"
    lacks out "configuration 2: " "nothing could be measured at"
    has results/tuned.ini "configuration.1.num_load = 1"
    lacks results/tuned.ini "num_load = 4"
    grep -q '^measured.* = n=131072: ' results/tuned.ini
    # a later run knows it from the record
    mv out before
    stand_in "l2_bytes = 1048576" "log = $scratch/calls"
    expect 0 cover --config sweep.ini --quiet
    equal "$(launches)" 0
    diff before out
    # a constraint that rules these sizes out makes it fit to ship
    echo "constraint = n <= 100000 or num_load == 1" >>sweep.ini
    expect 0 cover --config sweep.ini --quiet
    lacks out "not shipped"
    has results/tuned.ini "num_load = 4"
}

@test "a nominee that repeats what it computed from other data is not shipped, though tuning gave it up before it showed" {
    stand_in l2_bytes=1048576 noise=0.002 base_ns=40000 time.repeat_module=42500 time.repeat_module_done=10 time.repeat_count=10
    sweep <<INI
[repeat]
cover = n = 2^12..2^12
block_size = 256
mode = good, module
INI
    expect 0 cover --config sweep.ini --quiet
    has out "not shipped" "  block_size=256 mode=module" "with other random numbers, out[0] is"
    has results/tuned.ini "configuration.1.mode = good"
    lacks results/tuned.ini "mode = module"
}

@test "nor is one that was wrong when a size of the range was tuned alone, by whatever sweep" {
    range 2^13..2^14
    wrong_if "num_load == 1 and n == 9001"
    sed -e '/^cover/d' -e 's/^\[scale\]/[once]\ntemplate = scale\nn = 9001/' sweep.ini >once.ini
    expect 0 --config once.ini --quiet
    sed -i 's/^num_load = .*/num_load = 4/' once.ini # the verdict of the last run is not on it
    expect 0 --config once.ini --quiet
    expect 0 cover --config sweep.ini --quiet
    has out "  block_size=256 num_load=1 mode=good: wrong_result for n=9001 factor=1.5: "
    lacks results/tuned.ini "num_load = 1"
    # outside the range, it says nothing
    sed -i 's/^cover = .*/cover = n = 9002 .. 2^14/' sweep.ini
    expect 0 cover --config sweep.ini --quiet
    lacks out "not shipped"
    has results/tuned.ini "num_load = 1"
}

# once CODE [N]: the sweep once.ini tunes one size of the range, 9001, alone, and ends with CODE
once() {
    sed -e '/^cover/d' -e "s/^\\[scale\\]/&\\nn = ${2:-9001}/" sweep.ini >once.ini
    expect "$1" --config once.ini --quiet
}

@test "nor on a card that reports other memory, or if the numbers of the problem were of another kind" {
    range 2^13..2^14 "memory_bytes = 4294000000"
    wrong_if "num_load == 1 and n == 9001"
    echo 'factor = 2.0' >>sweep.ini
    once 0 9.001e3
    stand_in "l2_bytes = 1048576"
    sed -i 's/^factor = .*/factor = 2/' sweep.ini
    expect 0 cover --config sweep.ini --quiet
    has out "  block_size=256 num_load=1 mode=good: wrong_result for n=9001.0 factor=2.0: "
    lacks results/tuned.ini "configuration.1.num_load = 1"
}

@test "nor is one that runs the code of a wrong one under another name" {
    range 2^13..2^14
    wrong_if "mode == \"good\" and n == 9001"
    sed -i -e '/registers < 2/d' -e 's/^when = (mode == "good")/when = (mode == "good" or mode == "constrained")/' \
        templates/scale.ini
    sed -i 's/^block_size = .*/block_size = 256/;s/^num_load = .*/num_load = 1/' sweep.ini
    echo 'mode = good' >>sweep.ini
    once 1
    sed -i 's/^mode = .*/mode = constrained, good/;s/^num_load = .*/num_load = 1, 4/' sweep.ini
    expect 0 cover --config sweep.ini --quiet
    has out "  block_size=256 num_load=1 mode=good: wrong_result for n=9001" \
        "  block_size=256 num_load=1 mode=constrained: runs the same code as block_size=256 num_load=1 mode=good"
    lacks results/tuned.ini "configuration.1.num_load = 1"
}

@test "a cover is dropped when tuning finds one of its configurations wrong in its range" {
    range 2^13..2^14
    wrong_if "num_load == 1 and (n == 9001 or n == 20000)"
    expect 0 cover --config sweep.ini --quiet
    once 0 20000
    lacks err "no longer"
    has results/tuned.ini "configuration.1.num_load = 1"
    once 0 9001
    has err "'results/tuned.ini' no longer has the cover of 'scale' for n=9001 factor=1.5: block_size=256 num_load=1" \
        "wrong_result" '; `autotune cover` makes another'
    lacks results/tuned.ini "cover = 3"
    has results/tuned.ini "problem.n = 9001" "problem.n = 20000"
}

@test "if every configuration is wrong somewhere in the range, there is no cover" {
    range 2^13..2^14
    wrong_if "n == 2^(12 + min(num_load, 2))"
    expect 1 cover --config sweep.ini --quiet
    has err "no variant of 'scale' works in the whole range: block_size=" "wrong_result for n=" \
        "state a constraint that excludes such sizes"
    [ ! -e results/tuned.ini ]
}

@test "an older cover does not outlive a session that finds nothing that works in the whole range" {
    range 2^13..2^14
    sed -i 's/^num_load = .*/num_load = 1/' sweep.ini
    wrong_if "n == 9001"
    expect 0 cover --config sweep.ini --quiet
    cp -r results kept
    once 1 9001
    cp kept/tuned.ini results # as if once.ini had another tuned INI
    expect 1 cover --config sweep.ini --quiet
    has err "no longer has the cover of 'scale' for n=9001" "no variant of 'scale' works in the whole range"
    lacks results/tuned.ini "cover = 3"
}

@test "a configuration that turns out wrong leaves the tuned INI: for none, and for the best so far of a run that is interrupted" {
    range 2^13..2^14
    wrong_if "num_load == 1"
    sed -i 's/^num_load = .*/num_load = 4/' sweep.ini
    once 0
    changed() { sed -i 's/^parameter.num_load = .*/parameter.num_load = 1/' results/tuned.ini; } # as if it had passed
    changed
    sed -i 's/^num_load = .*/num_load = 1/' sweep.ini
    once 1
    has err "'results/tuned.ini' no longer has the configuration of 'scale' for n=9001 factor=1.5: block_size=256 num_load=1"
    lacks results/tuned.ini "parameter.num_load"
    sed -i 's/^num_load = .*/num_load = 4/' sweep.ini
    once 0
    changed
    sed -i 's/^num_load = .*/num_load = 1, 2, 4, 8/' once.ini
    stand_in "l2_bytes = 1048576" "log = $scratch/calls" "fault = cuModuleLoadData:2:hang"
    interrupt --config once.ini
    has results/tuned.ini "incomplete = yes" "parameter.num_load = 4"
}

@test "real values of parameters and problems stay real" {
    range 2^13..2^14
    sed -i '/^num_load/d' sweep.ini
    printf 'factor = 2.0\nbias = 1.0, 2.5\n' >>sweep.ini
    sed -i 's/^num_load = 1/&\nbias = 1.0/;s/ceil_div(n, block_size \* num_load)/ceil_div(n, floor(block_size * bias))/' templates/scale.ini
    sed -i '1i #define UNUSED BIAS' templates/scale.cu
    expect 0 cover --config sweep.ini --quiet
    has results/tuned.ini "problem.factor = 2.0" "configuration.1.bias = 1.0"
    autotune report --format csv
    lacks out "failed"
}

@test "on another GPU, a search begins with the configurations of the cover that there is" {
    range 2^13..2^14
    expect 0 cover --config sweep.ini
    shipped=$(grep '^configuration 1:' out)
    range 2^13..2^14 "name = Another GPU"
    expect 0 cover --config sweep.ini --results other --tuned results/tuned.ini --evaluations 1
    has out "scale on Another GPU" "1 candidate measured" "$shipped"
    equal "$(grep -c '^cover = 3' results/tuned.ini)" 2
}

@test "the variants of a range may be searched" {
    range 2^13..2^14
    expect 0 cover --config sweep.ini --evaluations 2
    has out "configuration 1:"
    expect 2 cover --config sweep.ini --evaluations 0
    has err "--evaluations must be at least 1"
}

@test "the benchmark draws sizes, and compares the cover's choice with the best of the space" {
    range 2^13..2^17
    # a condition of the tuned INI that only the look-up can evaluate
    echo "constraint = n ~= 8193 or num_load == 3" >>sweep.ini
    expect 0 cover --config sweep.ini
    python3 "$SOURCE_DIR/tests/bench/cover.py" --autotune "$AUTOTUNE" --config sweep.ini --count 2 --seed 3 --work . >summary
    has results/tuned.ini "allowed.1 = n ~= 8193 or num_load == 3"
    has summary "scale: 2 sizes, q " "(seed 3)" "lost by the "
    csv=results/stand-in-h200/cover.csv
    equal "$(column kernel $csv | sort -u)" scale
    paste <(column q $csv) <(column q_chosen $csv) <(column q_candidates $csv) | while read -r rule chosen candidates; do
        awk "BEGIN { exit !($rule > 0.5 && $rule <= $chosen && $chosen <= $candidates && $candidates <= 1) }"
    done
    # the same seed draws the same sizes, none of which was measured
    for size in $(column problem $csv); do
        lacks results/tuned.ini " $size:"
    done
    python3 -B -c "
import sys
sys.path.insert(0, '$SOURCE_DIR/tests/bench')
import cover
assert cover.summarise([1.0, 1.0])[0] == 1.0
mean, low, worst = cover.summarise([0.5, 1.0, 1.0, 2.0 / 3, 0.75])
assert abs(mean - 0.25 ** 0.2) < 1e-12 and worst == 0.5 and abs(low - (0.5 + 0.2 / 6)) < 1e-12
assert cover.quality({'a': 2.0, 'b': 1.0}, 'a') == 0.5 and cover.quality({'a': 2.0}, 'c') == 0
# of what is lost, a quarter by the candidates, a fifth of the rest by the choice, and nothing by the rule
assert [round(part) for part in cover.losses([(0.75, 0.6, 0.6)] * 2)] == [25, 20, 0]
"
}
