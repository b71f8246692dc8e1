#!/usr/bin/env bats
# What a user is told if the record, the cache or the locks are on a network file system.
shared_cubins=yes
load ../cli/helper

# on_network PART:TYPE COMMAND…: statfs() says TYPE of paths with PART in them
on_network() {
    local network=$1
    shift
    code=0
    FAULTFS_NETWORK=$network LD_PRELOAD=$BUILD_DIR/tests/libfaultfs.so "$AUTOTUNE" "$@" >out 2>err </dev/null || code=$?
}

@test "the record is not put on a network file system, unless the user allows it" {
    mkdir results
    on_network results:6969 --config "$sweeps/scale.ini"
    exits 2
    has err "the record would be in 'results', which is on a network file system (NFS)" "--results" "--record-on-network"
    sweep <<'INI'
[scale]
cover = n = 2^13..2^17
cover_configurations = 2
block_size = 256, 512
INI
    on_network results:6969 cover --config sweep.ini
    exits 2
    has err "(NFS)" "--record-on-network"
    cat >other.json <<'JSON'
{"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": [
 {"timestamp": "2025-03-04 05:06:07+00:00", "configuration": {"block_size": 64}, "objectives": ["time"],
  "times": {"runtimes": [0.25]}, "invalidity": "correct", "correctness": 1,
  "measurements": [{"name": "time", "value": 0.25, "unit": "ms"}]}]}
JSON
    on_network results:6969 import other.json --kernel scale --tool other --gpu "NVIDIA H200"
    exits 2
    has err "(NFS)" "--record-on-network"
    equal "$(ls results)" ""
    on_network results:6969 --config "$sweeps/scale.ini" --record-on-network
    exits 0
    equal "$(grep -c "the record is in 'results', which is on a network file system (NFS): " err)" 1
    lacks err "cache" "locks"
    on_network results:6969 report --results results
    exits 0
    [ ! -s err ]
    on_network elsewhere:6969 --config "$sweeps/scale.ini" --quiet
    exits 0
    lacks err network
}

@test "a run is told once what a cache or locks on a network file system cost" {
    on_network "$scratch/cache:ff534d42" --config "$sweeps/scale.ini"
    exits 0
    equal "$(grep -c "the cubin cache is in '$scratch/cache', which is on a network file system (SMB): .*AUTOTUNE_CACHE" err)" 1
    lacks err "locks" "record"
    on_network "$scratch/locks:0bd00bd0" --config "$sweeps/scale.ini"
    exits 0
    equal "$(grep -c "the locks of GPUs are in '$scratch/locks', which is on a network file system (Lustre): .*AUTOTUNE_LOCK_FOLDER" err)" 1
}

@test "a damaged record is set aside on a file system without locks, too" {
    mkdir results
    echo "no database" >results/record.sqlite
    export FAULTFS_NO_LOCKS=1 LD_PRELOAD=$BUILD_DIR/tests/libfaultfs.so
    code=0
    timeout 20 "$AUTOTUNE" --config "$sweeps/scale.ini" --results results >out 2>err </dev/null || code=$?
    exits 0
    [ -e results/record.sqlite.damaged-1 ]
}
