#!/usr/bin/env bats
# Ranks that die, hang or are slow, and runs that are interrupted.
shared_cubins=yes
load ../cli/helper
load cluster

# slow_rank RANK MS: each variant takes so long to load on its GPU
slow_rank() {
    rank_environment "$1" <<<"AUTOTUNE_STANDIN_HERE=fault=cuModuleLoadData:*:sleep$2,first_uuid=$((16 * $1)),log=$hosts/calls.$1"
}

# slow_ranks RANKS: rank 1 is slow, but the others are not done before it has begun to measure. All is compiled, or
# rank 0 alone might measure what comes from the compilers one by one.
slow_ranks() {
    local rank
    expect 0 --config "$sweeps/many.ini" --arch sm_90 --results compiled --tuned compiled.ini
    stand_in "fault = cuModuleLoadData:*:sleep100"
    slow_rank 1 300
    for ((rank = 2; rank < $1; rank++)); do
        slow_rank "$rank" 100
    done
}

# start RANKS ARGUMENTS: cluster() in the background, as $run
start() {
    (cluster "$@" && echo "$code" >code) &
    run=$!
}

# finish: waits for its end
finish() {
    wait "$run" || true
    code=$(cat code)
}

# rank_is_measuring RANK
rank_is_measuring() {
    await ' cuLaunchKernel' "$hosts/calls.$1"
}

@test "kill -9 of an agent: with --enable-recovery the others take over its work, and the run ends as usual" {
    export AUTOTUNE_WORKER_TIMEOUT_S=2
    needs_recovery
    slow_ranks 3
    start 3 --config "$sweeps/many.ini" --timings
    rank_is_measuring 1
    kill -9 "$(cat "$hosts/pid.1")"
    finish
    exits 0
    has err "the others take over its work" "; lost"
    none_alive
}

@test "kill -9 of a rank before it has started: the others do not wait for it without end" {
    export AUTOTUNE_WORKER_TIMEOUT_S=0.5
    needs_recovery
    rank_environment 1 <<<'kill -9 $$'
    cluster 3 --config "$sweeps/many.ini"
    has err "the ranks did not all start; has one of them died?"
    fails [ "$code" -eq 124 ] # mpirun, too
    none_alive
}

@test "an agent that falls silent: the others take over its work" {
    export AUTOTUNE_WORKER_TIMEOUT_S=2
    options=("${recovery[@]}")
    slow_ranks 3
    start 3 --config "$sweeps/many.ini" --timings
    rank_is_measuring 1
    kill -STOP "$(cat "$hosts/pid.1")"
    finish
    kill -9 "$(cat "$hosts/pid.1")" || true
    exits 0
    has err "the others take over its work" "; lost"
    autotune report --results results --format csv
    equal "$(count outcome timeout)" 0
}

@test "a job that is stopped for longer than a rank may be silent, and goes on rank by rank, loses no rank" {
    local first stopped
    export AUTOTUNE_WORKER_TIMEOUT_S=2 HOSTS=$hosts
    for first in 1 0; do
        rm -rf results "$hosts"/calls.*
        stand_in "fault = cuModuleLoadData:4:sleep1500"
        rank_environment 1 <<<"AUTOTUNE_STANDIN_HERE=first_uuid=16,log=$hosts/calls.1,fault=cuModuleLoadData:4:sleep1500"
        start 2 --config "$sweeps/many.ini"
        await ' sleep' "$hosts/calls.1"
        stopped=$(processes)
        # shellcheck disable=SC2086 # one word each
        kill -STOP $stopped
        sleep 3
        kill -CONT "$(cat "$hosts/pid.$first")"
        sleep 0.2
        # shellcheck disable=SC2086
        kill -CONT $stopped
        finish
        exits 0
        lacks err " is lost" silent
        recorded 20
    done
}

@test "kill -9 of an agent where MPI ends the job: the next run goes on from the record" {
    slow_ranks 2
    start 2 --config "$sweeps/many.ini"
    rank_is_measuring 1
    sleep 0.5
    kill -9 "$(cat "$hosts/pid.1")"
    finish
    fails [ "$code" -eq 0 ]
    none_alive
    rm rank.1
    stand_in
    cluster 2 --config "$sweeps/many.ini"
    exits 0
}

@test "kill -9 of rank 0 ends everything, and the next run goes on from the record" {
    slow_ranks 2
    start 2 --config "$sweeps/many.ini"
    rank_is_measuring 1
    kill -9 "$(cat "$hosts/pid.0")"
    finish
    fails [ "$code" -eq 0 ]
    none_alive
    # MPICH kills the other ranks, which then leave files
    [ ${#recovery[@]} -eq 0 ] || equal "$(find "$hosts" -name 'autotune-mpi-*')" ""
    rm rank.1
    stand_in
    cluster 2 --config "$sweeps/many.ini"
    exits 0
}

@test "Ctrl-C: what was measured is kept, and nothing is left running" {
    slow_ranks 2
    start 2 --config "$sweeps/many.ini"
    rank_is_measuring 1
    kill -INT "$(pgrep -f "^$MPIRUN .*$scratch/rank.sh")"
    finish
    has err "interrupted; "
    # MPICH's launcher sometimes exits with 0, though rank 0 has not
    [ ${#recovery[@]} -eq 0 ] || fails [ "$code" -eq 0 ]
    none_alive
}

@test "a slow node holds nobody up" {
    slow_rank 1 150
    cluster 2 --config "$sweeps/many.ini"
    exits 0
    autotune report --results results --format csv
    [ "$(count gpu_uuid GPU-00010203-0405-0607-0809-0a0b0c0d0e0f)" -gt 15 ]
}

@test "a node whose compilers hang holds nobody up: an idle node compiles what they have" {
    rm -rf cache
    rank_environment 1 <<<'AUTOTUNE_STANDIN_HERE=devices=0'
    start 2 --config "$sweeps/many.ini"
    for ((i = 0; i < 600; i++)); do
        [ -z "$(find cache/cubin -path '*/??/*' 2>/dev/null)" ] || break
        sleep 0.02
    done
    pkill -STOP -P "$(cat "$hosts/pid.1")"
    finish
    exits 0
    recorded 20
    none_alive
}
