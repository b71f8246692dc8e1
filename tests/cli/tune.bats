#!/usr/bin/env bats
# Tuning end to end on the stand-in: sweep file to tuned INI.
shared_cubins=yes
find_leaks=1
load helper

# tuned KEY [FILE]: its values, in the order of the file
tuned() {
    sed -n "s/^$1 *= *//p" "${2:-results/tuned.ini}"
}

@test "finds the best of the model, and writes it to the tuned INI" {
    expect 0 --config "$sweeps/scale.ini"
    has out scale "Stand-in H200" measured
    equal "$(tuned kernel)" scale
    equal "$(tuned gpu)" "Stand-in H200"
    equal "$(tuned compute_capability)" 90
    equal "$(tuned sm_count)" 132
    equal "$(tuned problem.n)" 16384
    equal "$(tuned parameter.block_size)" 256
    equal "$(tuned parameter.num_load)" 1
    equal "$(tuned parameter.mode)" good
    # 10 us + 16384 * 0.002 ns, within the noise
    awk -v ns="$(tuned median_ns)" 'BEGIN { exit !(ns > 9900 && ns < 10170) }'
    # 131072 bytes in about 10,033 ns
    awk -v gb="$(tuned gb_per_s)" 'BEGIN { exit !(gb > 12.8 && gb < 13.3) }'
    [ "$(tuned registers)" -ge 8 ]
    [ "$(tuned samples)" -ge 10 ]
    for key in driver nvrtc template_hash date occupancy memory_bytes low_ns high_ns; do
        [ -n "$(tuned $key)" ]
    done
}

@test "every variant is measured, its report lies in the results folder" {
    measures 9 --config "$sweeps/scale.ini"
    equal "$(find results/stand-in-h200 -type f)" results/stand-in-h200/scale/n-16384-factor-1.5.csv
    equal "$(count outcome measured results/stand-in-h200/scale/*.csv)" 9
}

@test "a second run has nothing to do, and changes nothing" {
    expect 0 --config "$sweeps/scale.ini"
    cp results/tuned.ini before
    stand_in "log = $scratch/calls"
    sleep 1 # the date would be another
    nothing_to_do --config "$sweeps/scale.ini"
    lacks calls cuLaunchKernel
    cmp before results/tuned.ini
}

@test "a changed header is noticed, however it is included" {
    sweep "[scale]"
    sed -i '1i %:include "gain.h"\n#inc\\\nlude "spliced.h"' templates/scale.cu
    echo '#define GAIN 1' >templates/gain.h
    echo >templates/spliced.h
    expect 0 --config sweep.ini --quiet
    nothing_to_do --config sweep.ini
    for header in gain.h spliced.h; do
        echo '#error changed' >>templates/$header
        expect 2 --config sweep.ini --remeasure
        has err changed
        sed -i '$d' templates/$header
    done
}

@test "an array's file that has changed is noticed: no verdict on other data is kept" {
    printf '[scale]\nn = 2^12\nblock_size = 64\nnum_load = 1, 4\n' | sweep
    sed -i -e 's/^fill = uniform.*/fill = file(zero.npy)/' -e 's/^reference = scale_r.*/reference = file(expected.npy)/' \
        -e '/^arguments = in, reference/d' templates/scale.ini
    npy templates/zero.npy '<f4' False 4096 16384
    cp templates/zero.npy templates/expected.npy
    printf 'x' | dd of=templates/expected.npy bs=1 seek=9000 conv=notrunc status=none
    expect 1 --config sweep.ini
    cp templates/zero.npy templates/expected.npy
    expect 0 --config sweep.ini
    has results/tuned.ini "kernel = scale"
    nothing_to_do --config sweep.ini
}

@test "an array's file that changes during the run ends it, and nothing is kept of the wrong one" {
    sed 's/^fill = .*/fill = file(in.npy)/' "$sweeps/templates/scale.ini" >own.ini
    cp "$sweeps/templates/scale.cu" own.cu
    npy in.npy '<f4' False 1024 4096
    printf '[own]\nn = 2^10\nblock_size = 64\n' >sweep.ini
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:1:sleep1000"
    start --config sweep.ini
    await ' sleep' calls
    printf 1 | dd of=in.npy bs=1 seek=200 conv=notrunc 2>/dev/null
    ends 2
    has err "in.npy: the file has changed since the run started; run again"
    recorded 0
}

@test "an #include of a macro is refused, with its line, unless the files that it can read are listed" {
    sweep "[scale]" "num_load = 4"
    sed -i '1i #ifndef NUM_LOAD\n#define NUM_LOAD 1\n#endif\n#define PATH <v/NUM_LOAD.h>\n#include PATH' templates/scale.cu
    mkdir templates/v
    touch templates/v/1.h templates/v/4.h
    expect 2 check --config sweep.ini
    has err scale.cu:5 "the #include of 'PATH'" "'depends' in the template's [kernel]"
    sed -i '/^\[kernel\]/a depends = v/1.h, v/2.h, v/4.h, <cuda_fp16.h>' templates/scale.ini
    expect 2 check --config sweep.ini
    has err "cannot find 'v/2.h', which 'depends' names"
    sed -i 's, v/2.h\,,,' templates/scale.ini
    echo '#include "deep.h"' >templates/v/4.h
    touch templates/v/deep.h
    expect 0 --config sweep.ini --quiet
    nothing_to_do --config sweep.ini
    echo '#error changed' >templates/v/deep.h
    expect 1 --config sweep.ini
    has err changed
}

@test "a header that only a macro names, and 'depends' does not, is a compile error that says so" {
    rm -rf cache
    sweep "[scale]" "block_size = 64" "num_load = 1, 4"
    sed -i '1i #ifndef NUM_LOAD\n#define NUM_LOAD 1\n#endif\n#define PATH <v/NUM_LOAD.h>\n#include PATH' templates/scale.cu
    sed -i '/^\[kernel\]/a depends = v/1.h' templates/scale.ini
    mkdir templates/v
    touch templates/v/1.h templates/v/4.h
    measures 1 --config sweep.ini
    equal "$(count outcome compile_error)" 1
    has out v/4.h "name it in 'depends'"
}

@test "3 and 3.0 are two variants to the record, as they are to the compiler" {
    sweep "[scale]" "ratio = 3"
    sed -i 's/^num_load = 1/&\nratio = 3/' templates/scale.ini
    sed -i '1i #ifndef RATIO\n#define RATIO 3\n#endif\n#if RATIO < 2 // which refuses 3.0\n#error never\n#endif' templates/scale.cu
    expect 0 --config sweep.ini --quiet
    sed -i 's/^ratio = 3/&.0/' sweep.ini
    expect 1 --config sweep.ini --format csv
    equal "$(count outcome compile_error)" 1
    sed -i 's/^ratio = .*/ratio = 3/' sweep.ini
    measures 1 --config sweep.ini
    equal "$(tuned parameter.ratio)" 3
}

@test "another seed of the noise finds the same winner" {
    for seed in 1 2 3; do
        stand_in "noise=0.01" "seed=$seed"
        rm -rf results
        expect 0 --config "$sweeps/scale.ini"
        equal "$(tuned parameter.block_size),$(tuned parameter.num_load)" 256,1
    done
}

@test "drift and throttling do not change the winner" {
    stand_in "drift=0.5" "throttle=2:0.4:1.5"
    expect 0 --config "$sweeps/scale.ini"
    equal "$(tuned parameter.block_size),$(tuned parameter.num_load)" 256,1
}

@test "a host that is too slow at first still measures" {
    stand_in "unhidden=3"
    expect 0 --config "$sweeps/scale.ini"
    equal "$(tuned parameter.block_size),$(tuned parameter.num_load)" 256,1
}

@test "each problem is tuned for itself" {
    sweep "[scale]" "n = 2^12, 2^14, 2^16" "num_load = 1, 4" "block_size = 256"
    expect 0 --config sweep.ini
    equal "$(tuned problem.n | sort -n | tr '\n' ' ')" "4096 16384 65536 "
    # 64 blocks are the best: 2^16 elements need four of them a thread
    equal "$(grep -A40 'problem.n = 65536' results/tuned.ini | sed -n 's/^parameter.num_load = //p' | head -n 1)" 4
    equal "$(grep -A40 'problem.n = 16384' results/tuned.ini | sed -n 's/^parameter.num_load = //p' | head -n 1)" 1
}

@test "two dimensions, shared memory above 48 KB, scratch, loops, types, cooperation" {
    expect 0 --config "$sweeps/shapes.ini" --format json
    lacks out wrong_result launch_error fault timeout load_error compile_error
    equal "$(tuned kernel | sort -u | tr '\n' ' ')" "rounds sum tile tree types "
    equal "$(tuned kernel | grep -c types)" 6
    equal "$(tuned problem.value_type | sort | tr '\n' ' ')" "bfloat16 double float half int64 int8 "
}

@test "the cache state is recorded: warm where the template says so" {
    expect 0 --config "$sweeps/shapes.ini" --kernel tree --kernel sum
    equal "$(tuned cache | sort | tr '\n' ' ')" "cold warm "
}

@test "warm results stand beside cold ones: in the tuned INI, the record and the CSV files" {
    expect 0 --config "$sweeps/scale.ini"
    cp results/tuned.ini cold.ini
    printf '[scale]\nn = 2^14\nblock_size = 64, 256, 1024\nnum_load = 1, 4, 16\ncache = warm\n' | sweep
    expect 0 --config sweep.ini
    equal "$(tuned cache | tr '\n' ' ')" "cold warm "
    equal "$(sed '/^$/d' results/tuned.ini | head -n "$(sed '/^$/d' cold.ini | wc -l)")" "$(sed '/^$/d' cold.ini)"
    equal "$(find results -name '*.csv' | wc -l)" 2
    expect 0 report --format json
    equal "$(python3 -c 'import json; print(*[study["cache"] for study in json.load(open("out"))])')" "cold warm"
    expect 0 explain -k scale -g "Stand-in H200" --n 16384
    lacks out warm
    expect 0 explain -k scale -g "Stand-in H200" --n 16384 --cache warm
    lacks out cold
}

@test "--tuned and --results choose where" {
    expect 0 --config "$sweeps/scale.ini" --tuned mine.ini --results there
    equal "$(tuned kernel mine.ini)" scale
    [ ! -e results ]
    ls there/stand-in-h200/scale/*.csv
}

@test "--kernel tunes that one alone" {
    expect 0 --config "$sweeps/shapes.ini" --kernel tile
    equal "$(tuned kernel)" tile
}

@test "--quiet leaves standard error empty" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    [ ! -s err ]
}

@test "results go to standard output, progress to standard error, without control characters" {
    expect 0 --config "$sweeps/scale.ini"
    [ -s out ]
    fails grep -q $'[\r\e]' out err
}

@test "one compile worker finds what many find" {
    expect 0 --config "$sweeps/scale.ini" --jobs 1
    equal "$(tuned parameter.block_size),$(tuned parameter.num_load)" 256,1
}

@test "no worker outlives the run" {
    expect 0 --config "$sweeps/scale.ini"
    equal "$(alive)" ""
}

@test "a template that changed is tuned again, but not for a remark or a description" {
    cp -r "$sweeps/templates" .
    sed 's/^templates = .*/templates = templates/' "$sweeps/scale.ini" >sweep.ini
    expect 0 --config sweep.ini
    first=$(tuned template_hash)
    sed -i '1s/^/\/\/ a remark\n/' templates/scale.cu
    sed -i 's/^description = .*/description = another/; s/^length = n$/length  =  n ; numbers/' templates/scale.ini
    nothing_to_do --config sweep.ini
    equal "$(tuned template_hash)" "$first"
    sed -i '1s/^/__device__ int another;\n/' templates/scale.cu
    expect 0 --config sweep.ini
    [ "$(tuned template_hash)" != "$first" ]
    equal "$(tuned kernel)" scale
}

@test "values that are added later are tuned, the others are not measured again" {
    printf '[scale]\nblock_size = 256\nnum_load = 4, 16\n' | sweep
    expect 0 --config sweep.ini
    equal "$(tuned parameter.num_load)" 4
    printf '[scale]\nblock_size = 256\nnum_load = 1, 4, 16\n' | sweep
    measures 3 --config sweep.ini
    equal "$(tuned parameter.num_load)" 1
}

# whole_again: the whole of scale.ini, which finds its own winner and no other study's marks
whole_again() {
    expect 0 --config "$sweeps/scale.ini" --format json
    equal "$(tuned parameter.block_size),$(tuned parameter.num_load)" 256,1
    python3 -c 'import json
study = json.load(open("out"))[0]
winner = study["variants"][study["winner"]]
assert winner["finalist"] and winner["tied"]
assert len(study["variants"]) == 9
for variant in study["variants"]:
    assert variant["finalist"] or not variant["tied"]
    if variant["tied"]:
        assert variant["time"]["median_ns"] < 1.02 * winner["time"]["median_ns"], variant'
}

@test "a sweep that was narrowed and is widened again finds the winner of the whole" {
    expect 0 --config "$sweeps/scale.ini"
    printf '[scale]\nblock_size = 64\nnum_load = 1\n' | sweep
    sed -i 's/^\[scale\]/&\nn = 2^14/' sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(tuned parameter.block_size)" 64
    equal "$(tuned command)" "autotune --config sweep.ini --format csv"
    equal "$(count outcome measured)" 1
    expect 0 report --format csv # says what that verdict was about
    equal "$(count outcome measured)" 1
    whole_again
}

@test "a constraint that was added and is taken away again leaves no verdict behind" {
    expect 0 --config "$sweeps/scale.ini"
    sed -e "s,^templates = .*,templates = $sweeps/templates," -e '$a constraint = block_size != 256' \
        "$sweeps/scale.ini" >sweep.ini
    expect 0 --config sweep.ini
    [ "$(tuned parameter.block_size)" != 256 ]
    whole_again
    expect 0 --config sweep.ini
    [ "$(tuned parameter.block_size)" != 256 ]
}

# constrained CONSTRAINT: the usual sweep with it
constrained() {
    sed -e "s,^templates = .*,templates = $sweeps/templates," -e "\$a constraint = $1" "$sweeps/scale.ini" >sweep.ini
    expect 0 --config sweep.ini --format csv
}

@test "so does a constraint on the compiled kernel, whose variants are measured or ruled out after all" {
    constrained "registers > 20" # num_load = 1 has fewer
    [ "$(tuned parameter.num_load)" -gt 1 ]
    equal "$(count outcome constraint)" 3
    constrained "registers > 22"
    has out "registers > 22"
    lacks out "registers > 20"
    whole_again
    constrained "registers > 20"
    [ "$(tuned parameter.num_load)" -gt 1 ]
    equal "$(count outcome constraint)" 3
    constrained "registers > 20"
    has err "nothing to do"
    # one that cannot be evaluated for some, too
    constrained "registers // (block_size - 256) > -9"
    equal "$(count outcome invalid)" 3
    [ "$(tuned parameter.block_size)" != 256 ]
    whole_again
}

@test "so does one that cannot be evaluated, in a sweep that has the name of its template" {
    printf '[scale]\nn = 2^10\nblock_size = 64, 256\nconstraint = registers // (block_size - 256) > -9\n' | sweep
    mv sweep.ini scale.ini
    expect 0 --config scale.ini --format csv
    equal "$(count outcome invalid)" 1
    has out "scale.ini:8: constraint: cannot evaluate 'registers // (block_size - 256) > -9'"
    # another one that cannot be evaluated is another decision
    sed -i 's/^constraint = .*/constraint = registers % (block_size - 256) > -999/' scale.ini
    expect 0 --config scale.ini --format csv
    has out "scale.ini:8: constraint: cannot evaluate 'registers % (block_size - 256) > -999'"
    nothing_to_do --config scale.ini --format csv
    sed -i 's/^constraint = .*/constraint = registers > 9/' scale.ini
    measures 2 --config scale.ini
}

@test "a constraint on the compiled kernel that is added rules out what has failed as well" {
    printf '[scale]\nn = 2^10\nblock_size = 64\nmode = good, wrong\n' | sweep
    autotune --config sweep.ini --format csv
    equal "$(count outcome wrong_result)" 1
    echo 'constraint = registers > 200 or mode == "good"' >>sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(count outcome constraint)" 1
}

@test "a sweep of which everything is known and nothing valid has a verdict of its own, and takes none away" {
    local mode
    for mode in wrong good wrong wrong good; do
        printf '[scale]\nn = 2^10\nblock_size = 64, 128\nmode = %s\n' "$mode" | sweep
        autotune --config sweep.ini
        exits "$([ "$mode" = good ]; echo $?)"
        autotune report --format csv
        equal "$(column mode | sort -u)" "$mode"
    done
}

@test "a narrowed sweep that is interrupted does not spoil the verdict of the whole" {
    expect 0 --config "$sweeps/scale.ini"
    printf '[scale]\nblock_size = 64, 1024\nnum_load = 1, 4\n' | sweep
    sed -i 's/^\[scale\]/&\nn = 2^14/' sweep.ini
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:4:hang"
    start --config sweep.ini
    for _ in $(seq 300); do
        grep -q ' hang' calls 2>/dev/null && break
        sleep 0.02
    done
    kill -INT "$run"
    wait "$run" || true
    stand_in "noise=0.001"
    whole_again
}

# of the winner in the JSON report
different_samples() {
    python3 -c 'import json, sys
study = json.load(open("out"))[0]
print(len(set(study["variants"][study["winner"]]["samples_ns"])))'
}

@test "each round of the finals runs in another copy of the code, whose addresses are worth a percent" {
    stand_in "noise=0" "placement=0.01" "base_ns=30000"
    expect 0 --config "$sweeps/scale.ini" --format json
    [ "$(different_samples)" -ge 10 ] # as many as there are rounds; one copy alone would give one
}

@test "each round of the finals has the buffers at another address, which may be worth a percent" {
    stand_in "noise=0" "addresses=0.01" "base_ns=30000"
    expect 0 --config "$sweeps/scale.ini" --format json
    [ "$(different_samples)" -ge 8 ] # places may be alike
    # so do scratch buffers: four finalists each make one place a round, beside the two of `in` and `out`
    stand_in "steepness=0" "base_ns=30000" "log = $scratch/calls"
    printf '%s\n' '[sum]' 'block_size = 64, 128' 'blocks = 8, 16' | sweep
    expect 0 --config sweep.ini --format csv
    [ "$(count finalist 1)" -eq 4 ]
    [ "$(grep -c ' cuMemAlloc' calls)" -ge $(((2 + 4) * 9)) ]
}

@test "with a warm cache, buffers stay where they are" {
    stand_in "noise=0" "addresses=0.01" "base_ns=30000"
    printf '[scale]\ncache = warm\nblock_size = 64, 256\n' | sweep
    expect 0 --config sweep.ini --format json
    [ "$(different_samples)" -le 2 ] # what the timer's step makes of one
}

@test "where memory for further places is short, the finals use those that there are" {
    stand_in "noise=0" "addresses=0.01" "base_ns=30000" "l2_bytes=1000000" "memory_bytes=8500000"
    expect 0 --config "$sweeps/scale.ini" --format json
    [ "$(different_samples)" -ge 2 ]
    [ "$(different_samples)" -lt 10 ]
}

@test "a variant that is fast only where its buffers happen to lie does not win" {
    local seed
    for seed in 8 16 24; do
        stand_in "base_ns=30000" "steepness=0.003" "addresses=0.007" "seed=$seed"
        expect 0 --config "$sweeps/scale.ini" --remeasure --format csv
        equal "$(tuned parameter.block_size) $(tuned parameter.num_load)" "256 1"
    done
}

@test "a header that changes during the run is compiled as it was when the run began" {
    sweep "[scale]" "block_size = 64, 128, 192" "num_load = 1..4"
    sed -i '1i #include "gain.h"' templates/scale.cu
    echo '#define GAIN 1' >templates/gain.h
    rm -rf cache
    start --config sweep.ini --jobs 1 --format csv
    for _ in $(seq 500); do
        [ "$(find cache -type f -not -path 'cache/toolkit/*' 2>/dev/null | wc -l)" -le 3 ] || break
        sleep 0.02
    done
    echo '#error changed' >>templates/gain.h
    ends 0
    equal "$(count outcome measured)" 12
    expect 2 --config sweep.ini
    has err "gain.h(2)"
}
