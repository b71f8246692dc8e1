#!/usr/bin/env bats
# Several GPUs of one machine: who does what, and what the user is told.
shared_cubins=yes
load ../cli/helper

# processes_of COMMAND: so many processes made that call
processes_of() {
    grep " $1\$" calls | cut -d ' ' -f 1 | sort -u | grep -c .
}

# devices_of PROCESS: whether it has device workers
devices_of() {
    local children child
    read -ra children < <(cat "/proc/$1/task/$1/children" && echo)
    for child in "${children[@]}"; do
        tr '\0' ' ' <"/proc/$child/cmdline" | grep -q ' device ' && return
    done
    return 1
}

@test "--device all: every GPU runs variants, and the result is that of one" {
    stand_in "devices=3"
    expect 0 --config "$sweeps/many.ini"
    mv results one
    # everything is compiled; the others begin during the first trials of GPUs 0 and 1
    stand_in "devices=3" "note = scale_good" "log = $scratch/calls" 0.fault=cuModuleLoadData:3:sleep400 \
        1.fault=cuModuleLoadData:3:sleep400
    expect 0 --config "$sweeps/many.ini" --device all
    equal "$(processes_of 'launch scale_good')" 3
    equal "$(grep '^parameter' results/tuned.ini)" "$(grep '^parameter' one/tuned.ini)"
    # which GPU measured what
    autotune report --results results --format csv
    equal "$(column finalist | paste -d' ' - <(column gpu_uuid) | grep '^1 GPU-' | sort -u | grep -c .)" 1
    equal "$(count gpu_uuid "")" 0
}

@test "the report says how far GPUs were apart, and who held the finals" {
    stand_in "devices=2" 1.base_ns=10800 0.fault=cuModuleLoadData:3:sleep300
    expect 0 --config "$sweeps/scale.ini" --device all
    has out "screened on 2 GPUs; finals on GPU-000102" "GPU-01020304" "% slower (3 variants compared"
    cp out first
    autotune report --results results
    equal "$(grep GPU- out)" "$(grep GPU- first)"
}

@test "--device 0,2 and a sweep's device key choose GPUs; the option goes before the key" {
    stand_in "devices=3" "log = $scratch/calls"
    sweep <<'INI'
device = 0, 2
[scale]
n = 2^14
block_size = 64, 256
num_load = 1, 4
INI
    expect 0 --config sweep.ini
    equal "$(processes_of cuDevicePrimaryCtxRetain)" 2
    rm -rf calls results
    expect 0 --config sweep.ini --device 1
    equal "$(processes_of cuDevicePrimaryCtxRetain)" 1
}

@test "a list of GPUs that cannot be read is refused at its line" {
    sweep <<'INI'
device = 0-2
[scale]
INI
    autotune --config sweep.ini
    refuses 5 "device '0-2'" "nor 'all'"
    expect 2 --config "$sweeps/scale.ini" --device 0,
    has err "--device '0,'"
}

@test "a GPU that is not there: exit 3, naming it" {
    stand_in "devices=2"
    expect 3 --config "$sweeps/scale.ini" --device 0,5
    has err 5
    [ ! -e results/tuned.ini ]
}

@test "every GPU has a lock of its own" {
    stand_in "devices=2"
    mkdir locks
    uuid=$("$AUTOTUNE" devices | sed -n 's/^device 1:.*\(GPU-[0-9a-f-]*\),.*/\1/p')
    exec 9>"locks/autotune-$uuid.lock"
    flock 9
    expect 3 --config "$sweeps/scale.ini" --device all --no-wait
    has err "is being used by another run"
    expect 0 --config "$sweeps/scale.ini" --device 0 --no-wait
}

@test "a run that waits for a GPU has nothing on any, so that the other run does not see it there" {
    stand_in "devices=2" "log = $scratch/calls"
    mkdir locks
    uuid=$("$AUTOTUNE" devices | sed -n 's/^device 1:.*\(GPU-[0-9a-f-]*\),.*/\1/p')
    exec 9>"locks/autotune-$uuid.lock"
    flock 9
    "$AUTOTUNE" --config "$sweeps/scale.ini" --device all >out 2>err 9>&- &
    run=$!
    waits=
    for ((i = 0; i < 200; i++)); do
        waits=$(grep "waiting for process" err) && ! devices_of "$run" && break
        sleep 0.02
    done
    [ -n "$waits" ]
    fails devices_of "$run"
    exec 9>&-
    ends 0
    lacks err "another process is using it"
}

@test "different models: each has a study and a section of its own, at the same time" {
    stand_in "devices=3" "1.name=Stand-in B200" 1.compute_capability=100 1.best_block=1024 \
        1.best_grid=16
    expect 0 --config "$sweeps/scale.ini" --device all
    equal "$(grep -c '^kernel = scale' results/tuned.ini)" 2
    equal "$(sed -n 's/^gpu = //p' results/tuned.ini | sort | tr '\n' ' ')" "Stand-in B200 Stand-in H200 "
    has out "on Stand-in B200" "on Stand-in H200" "screened on 2 GPUs"
    equal "$(sed -n '/B200/,/^$/s/^parameter.block_size = //p' results/tuned.ini)" 1024
    equal "$(sed -n '/H200/,/^$/s/^parameter.block_size = //p' results/tuned.ini)" 256
    ls results/stand-in-b200/scale/*.csv results/stand-in-h200/scale/*.csv
    nothing_to_do --config "$sweeps/scale.ini" --device all
}

@test "with a budget, two architectures are searched at once, each with its own cubins and winner" {
    stand_in "devices=2" "1.name=Stand-in B200" 1.compute_capability=100 1.best_block=1024 1.best_grid=16
    export AUTOTUNE_CACHE=$scratch/own
    expect 0 --config "$sweeps/scale.ini" --arch sm_90 --results static # of the other architecture, nothing is compiled
    expect 0 --config "$sweeps/scale.ini" --device all --budget 30s --format csv
    equal "$(count winner 1)" 2
    equal "$(column outcome | grep -cvxE 'outcome|measured|constraint|wrong_result')" 0
    equal "$(sed -n '/B200/,/^$/s/^parameter.block_size = //p' results/tuned.ini)" 1024
    equal "$(sed -n '/H200/,/^$/s/^parameter.block_size = //p' results/tuned.ini)" 256
}

@test "models of one architecture share what is compiled" {
    stand_in "devices=2" "1.name=Stand-in GH200"
    expect 0 --config "$sweeps/scale.ini"
    find cache/cubin -type f >one
    expect 0 --config "$sweeps/scale.ini" --device all
    equal "$(grep -c '^kernel = scale' results/tuned.ini)" 2
    equal "$(find cache/cubin -type f | sort)" "$(sort one)"
}

@test "GPUs with one name that differ otherwise are refused" {
    stand_in "devices=2" 1.memory_bytes=2147483648
    expect 2 --config "$sweeps/scale.ini" --device all
    has err "GPU 1 is a 'Stand-in H200' like GPU 0, but with other memory"
}

@test "a GPU that fails leaves its work to the others; the run ends well" {
    stand_in "devices=2" 0.fault=cuModuleLoadData:3:sleep400 1.fault=cuLaunchKernel:50+:CUDA_ERROR_ECC_UNCORRECTABLE
    measures 9 --config "$sweeps/scale.ini" --device all
    has err "GPU 1 (GPU-01020304-0506-0708-090a-0b0c0d0e0f10) failed: " "the others take over its work"
    has out GPU-00010203
}

@test "if the first GPU fails, another one holds the finals" {
    stand_in "devices=2" 1.fault=cuModuleLoadData:3:sleep300 0.fault=cuLaunchKernel:50+:CUDA_ERROR_ECC_UNCORRECTABLE
    measures 9 --config "$sweeps/scale.ini" --device all
    has err "GPU 0 (GPU-00010203-0405-0607-0809-0a0b0c0d0e0f) failed: "
    equal "$(column winner | paste -d' ' - <(column gpu_uuid) | grep '^1')" \
        "1 GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
}

@test "a GPU on which nothing runs is never taken for the fault of another one" {
    stand_in "devices=2" 1.fault=cuLaunchKernel:20+:CUDA_ERROR_ILLEGAL_ADDRESS
    code=0
    timeout 20 "$AUTOTUNE" --config "$sweeps/scale.ini" --device all >out 2>err </dev/null || code=$?
    exits 0
    lacks err "GPU 0"
    rm -r results
    stand_in "devices=2" 0.fault=cuLaunchKernel:200+:CUDA_ERROR_LAUNCH_FAILED # while it holds the finals
    expect 0 --config "$sweeps/scale.ini" --device all
}

@test "a GPU that fails in a comparison when the others are done costs nothing" {
    for calls in 55 60 65 65 65 65 70; do
        rm -rf results
        stand_in "devices=2" "1.fault=cuLaunchKernel:$calls+:CUDA_ERROR_ILLEGAL_ADDRESS"
        code=0
        timeout 20 "$AUTOTUNE" --config "$sweeps/scale.ini" --device all >out 2>err </dev/null || code=$?
        exits 0
        lacks err "GPU 0"
    done
}

@test "a GPU that somebody else uses pauses, and its times do not count" {
    stand_in "devices=2" 0.fault=cuModuleLoadData:3:sleep400 1.processes=1
    expect 0 --config "$sweeps/scale.ini" --device all --format csv
    has err "GPU 1 (GPU-01020304-0506-0708-090a-0b0c0d0e0f10) pauses: another process is using it"
    equal "$(column gpu_uuid | sort -u)" GPU-00010203-0405-0607-0809-0a0b0c0d0e0f
}

@test "Ctrl-C ends a run on several GPUs, and the next one goes on" {
    stand_in "devices=3" "2.name=Stand-in other" "fault=cuModuleLoadData:20+:hang"
    "$AUTOTUNE" --config "$sweeps/scale.ini" --device all >out 2>err &
    run=$!
    for ((i = 0; i < 200; i++)); do
        [ -s standin.control.state ] && [ -e results/record.sqlite-wal ] && break
        sleep 0.05
    done
    sleep 0.5
    kill -INT "$run"
    ends 130
    has err "interrupted; " "run the same command to go on"
    stand_in "devices=3" "2.name=Stand-in other"
    expect 0 --config "$sweeps/scale.ini" --device all --quiet
    equal "$(grep -c '^kernel = scale' results/tuned.ini)" 2
}

@test "what needs several GPUs is skipped visibly if there is one; its template compiles" {
    code=0
    "$SOURCE_DIR/tests/gpu_fleet.sh" "$BUILD_DIR" results >out 2>err || code=$?
    exits 77
    has out "skipped: needs two GPUs of one model; there are 1"
    fails "$SOURCE_DIR/tests/gpu_fleet.sh" nowhere results >out 2>err
    has err "there is no program '$scratch/nowhere/autotune'"
    expect 0 check --template "$SOURCE_DIR/tests/bench/fleet.ini" --compile --arch sm_90
}

@test "gpu_fleet.sh ends with its table, also if some of it fails" {
    stand_in "devices=2"
    export TEMPLATE=$SOURCE_DIR/tests/fleet/copies.ini CONFIG=$sweeps/scale.ini COMPILING=$sweeps/scale.ini
    export QUARTER=block_size=64
    export ONE_S=0 SWEEPS=1 TRUTHS=1
    export REHEARSAL_CACHE=$scratch/cache
    code=0
    "$SOURCE_DIR/tests/gpu_fleet.sh" "$BUILD_DIR" results >out 2>err || code=$?
    exits 1 # nothing is gained with so few variants
    lacks out FAILED
    has out "32 variants on one GPU" "times as fast" "1/1  reached" "screened on 2 GPUs"
    equal "$(wc -l <results/gpu_fleet.csv) $(wc -l <results/gpu_fleet_regret.csv)" "3 2"
    if command -v mpirun && [ -x "$BUILD_DIR/autotune-mpi" ]; then
        has out "compiling on 2 ranks of "
        equal "$(cut -d, -f1,2 results/gpu_fleet_ranks.csv | tr "\n" " ")" "ranks,other_cores 1,idle 2,idle 1,busy "
    else
        has out "skipped: ranks"
    fi
    [ ! -s err ]
    code=0
    export PARTS="speed winners"
    DEVICES=0,9 TEMPLATE=nowhere.ini "$SOURCE_DIR/tests/gpu_fleet.sh" "$BUILD_DIR" results >out 2>err || code=$?
    exits 1
    has out "times as fast                                   >= 1.80          -  FAILED" \
        "winners with regret <= 1 %         >= 0/1          -  FAILED" \
        "FAILED: exit status 2" nowhere.ini "FAILED: exit status 3" "device 9"
    [ ! -s err ]
}

@test "a search proposes for all GPUs at once, and tries as many variants as it may" {
    stand_in "devices=3" "2.name=Stand-in other" "fault=cuModuleLoadData:*:sleep5"
    measures 24 --config "$sweeps/many.ini" --device all --evaluations 12
    equal "$(count winner 1)" 2
}

@test "a run on another GPU of the model takes those times of earlier runs again that could be the best" {
    stand_in "devices=2" "noise=0" 1.base_ns=15000 "log = $scratch/calls"
    printf '[scale]\nn = 2^14\nblock_size = 64, 1024\nnum_load = 1, 4\n' | sweep
    expect 0 --config sweep.ini --device 0
    printf '[scale]\nn = 2^14\nblock_size = 64, 256, 1024\nnum_load = 1, 4\n' | sweep
    expect 0 --config sweep.ini --device 1
    has results/tuned.ini "parameter.block_size = 256" "parameter.num_load = 1"
    autotune report --results results --format csv
    equal "$(column finalist | paste -d' ' - <(column gpu_uuid) | grep '^1' | cut -c1-12 | sort -u)" "1 GPU-010203"
}
