#!/usr/bin/env bats
# tests/bench/versions.sh, which compares two commits on a GPU, with the stand-in and small sweeps in place of its own.
load helper

# table COMMIT-FOLDER NAME LINE…: a table that a benchmark has written
table() {
    mkdir -p "runs/$1"
    printf '%s\n' "${@:3}" >"runs/$1/$2.csv"
}

@test "the rows of two commits are neighbours, and medians of several runs" {
    table old/1 tuner_bench jobs,cache,wall_s,tuned_s,commit 16,warm,0.9,0.80,x 1,warm,5.0,4.0,x
    table old/2 tuner_bench jobs,cache,wall_s,tuned_s,commit 16,warm,1.1,0.70,x
    table old/3 tuner_bench jobs,cache,wall_s,tuned_s,commit 16,warm,10.0,0.90,x
    table new/1 tuner_bench jobs,cache,wall_s,tuned_s,commit 1,warm,2.5,2.0,y 16,warm,0.5,0.40,y
    table new/1 compile_bench jobs,headers,wall_s,cpu_ms,commit 16,none,1.0,60.0,y
    table old/peers peers benchmark,type,n,ours_us,peer,peer_us,ratio reduce,float,64,2.000,cub,3.000,1.500 \
        reduce,float,128,4.000,cub,3.000,0.750 sgemm_hidden,float,2048,4.000,roof,2.000,0.500
    table new/peers peers benchmark,type,n,ours_us,peer,peer_us,ratio,commit reduce,float,128,1.000,cub,3.000,3.000,y \
        reduce,float,64,2.000,cub,3.000,1.500,y reduce,float,64,2.000,other,6.000,3.000,y
    table new/peers2 peers benchmark,type,n,ours_us,peer,peer_us,ratio,commit sgemm_hidden,float,262144,3.000,roof,2.000,0.667,y
    mkdir bench
    python3 "$SOURCE_DIR/tests/bench/versions.py" runs bench aaa bbb >out
    equal "$(cat bench/tuner_bench.csv)" "jobs,cache,wall_s,tuned_s,commit
1,warm,5.0,4.0,aaa
1,warm,2.5,2.0,bbb
16,warm,1.1,0.80,aaa
16,warm,0.5,0.40,bbb"
    equal "$(cat bench/compile_bench.csv)" "jobs,headers,wall_s,cpu_ms,commit
16,none,1.0,60.0,bbb"
    equal "$(cat bench/peers.csv)" "benchmark,type,n,ours_us,peer,peer_us,ratio,commit
reduce,float,128,4.000,cub,3.000,0.750,aaa
reduce,float,128,1.000,cub,3.000,3.000,bbb
reduce,float,64,2.000,cub,3.000,1.500,aaa
reduce,float,64,2.000,cub,3.000,1.500,bbb
reduce,float,64,2.000,other,6.000,3.000,bbb
sgemm_hidden,float,262144,3.000,roof,2.000,0.667,bbb
sgemm_hidden,float,8589934592,4.000,roof,2.000,0.500,aaa"
    tr -s ' ' <out >squeezed
    has squeezed "tuner_bench 16 warm, tuned_s 0.800 0.400 0.500" "tuner_bench 1 warm, wall_s 5.000 2.500 0.500" \
        "reduce cub 2 0.500 1.000"
    lacks squeezed "compile_bench" "sgemm" "other"
}

# project FOLDER: one with a sweep of `scale` in place of those that the benchmarks time, and a peers.py that measures nothing
project() {
    mkdir -p "$1/configs" "$1/kernel_templates" "$1/tests/bench"
    cp "$sweeps/templates/scale".* "$1/kernel_templates"
    printf '[sweep]\ntemplates = %s\n[scale]\nn = 2^14\nblock_size = 64, 256\n' ../kernel_templates \
        >"$1/configs/bench_num_load.ini"
    sed 's|= \.\./|= ../../|' "$1/configs/bench_num_load.ini" >"$1/tests/bench/cooperative.ini"
    cat >"$1/tests/bench/peers.py" <<'PYTHON'
import os, sys
results = sys.argv[sys.argv.index("--results") + 1]
os.makedirs(f"{results}/gpu")
with open(f"{results}/gpu/peers.csv", "w") as stream:
    stream.write("benchmark,type,n,ours_us,peer,peer_us,ratio\nreduce,float,64,2.000,cub,3.000,1.500\n")
PYTHON
}

@test "two commits are compared in one run" {
    project old
    project new
    cp "$SOURCE_DIR"/tests/bench/{commit.sh,compile_bench.sh,gpu_folder.sh,tuner_bench.*,versions.*} new/tests/bench
    export GIT_CEILING_DIRECTORIES=$scratch JOBS=1
    run new/tests/bench/versions.sh "$BUILD_DIR" results "$BUILD_DIR" old
    equal "$status" 2
    [[ $output == *"both commits are 'unknown'; set COMMIT and OLD_COMMIT"* ]]

    COMMIT=bbb OLD_COMMIT=aaa new/tests/bench/versions.sh "$BUILD_DIR" results "$BUILD_DIR" old >out 2>err
    bench=results/stand-in-h200/bench
    equal "$(column commit $bench/tuner_bench.csv | tr '\n' ' ')" "aaa bbb aaa bbb aaa bbb "
    equal "$(column cache $bench/tuner_bench.csv | uniq | tr '\n' ' ')" "empty warm unchanged "
    equal "$(column commit $bench/compile_bench.csv | tr '\n' ' ')" "aaa bbb aaa bbb "
    equal "$(column commit $bench/peers.csv | tr '\n' ' ')" "aaa bbb "
    has out "ok tuner, old, 1 workers" "ok peers, new" "compile_bench $(nproc) none, wall_s"

    # what the old commit cannot do fails; the new one is measured
    rm old/tests/bench/peers.py
    code=0
    COMMIT=bbb OLD_COMMIT=aaa new/tests/bench/versions.sh "$BUILD_DIR" results "$BUILD_DIR" old >out 2>err || code=$?
    exits 1
    has out "FAILED peers, old" "ok peers, new"
    equal "$(column commit $bench/peers.csv)" bbb
}
