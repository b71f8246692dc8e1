#!/usr/bin/env bats
# autotune-mpi: several ranks, of which each has its own files, its own GPUs and its own cache.
load ../cli/helper
load cluster

@test "three ranks, one of them without a GPU: all compile, two measure, and the result is that of one machine" {
    rank_environment 2 <<<'AUTOTUNE_STANDIN_HERE=devices=0'
    expect 0 --config "$sweeps/scale.ini"
    mv results one
    rm -rf cache
    cluster 3 --config "$sweeps/scale.ini" --timings
    exits 0
    has err "3 nodes, 2 GPUs"
    has out "screened on 2 GPUs"
    equal "$(grep '^parameter' results/tuned.ini)" "$(grep '^parameter' one/tuned.ini)"
    equal "$(grep -c "busy with [1-9]" err)" 3
    equal "$(find "$hosts" -name 'autotune-mpi-*')" ""
}

@test "what only rank 0 has reaches the others: headers, arrays, folders behind links; and messages name its paths" {
    rank_environment 0 <<<'export AUTOTUNE_STANDIN=devices=0'
    mkdir -p real/include
    (echo '#include "factor.h"' && cat "$sweeps/templates/scale.cu") >elsewhere.cu
    ln -s ../elsewhere.cu real/scale.cu
    ln -s "$PWD/real/small.h" real/include/factor.h
    printf '#if defined BLOCK_SIZE && BLOCK_SIZE == 64\n#error small blocks\n#endif\n' >real/small.h
    sed -e 's/^\[kernel\]/&\ninclude = real\/include/' -e '/^\[buffer.in\]/,/^fill/s/^fill = .*/fill = file(in.npy)/' \
        "$sweeps/templates/scale.ini" >real/scale.ini
    (printf '\x93NUMPY\x01\x00\x76\x00' &&
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (16384,), }" && head -c 65536 /dev/zero) >real/in.npy
    ln -s real templates
    cat >sweep.ini <<'INI'
[sweep]
templates = templates
tuned = results/tuned.ini
results = results
[scale]
n = 2^14
block_size = 64, 256, 512
num_load = 1, 2
INI
    cluster 2 --config sweep.ini --timings
    exits 0
    has err "2 nodes, 1 GPU,"
    fails grep -rq 'autotune-mpi-' cache results out err
    autotune report --results results --format csv
    equal "$(count outcome compile_error)" 2
    equal "$(count outcome measured)" 4
    has out "factor.h(2): "
}

@test "an array's file that changes on rank 0: a node goes on with what it has, and what it still lacks must be what was hashed" {
    rank_environment 0 <<<'export AUTOTUNE_STANDIN=devices=0'
    rank_environment 1 <<<"AUTOTUNE_STANDIN_HERE='log=$hosts/calls,fault=cuModuleLoadData:1:sleep800'"
    local name
    for name in own other; do
        sed "s/^fill = .*/fill = file($name.npy)/" "$sweeps/templates/scale.ini" >$name.ini
        cp "$sweeps/templates/scale.cu" $name.cu
        npy $name.npy '<f4' False 1024 4096
        printf %s $name | dd of=$name.npy bs=1 seek=300 conv=notrunc 2>/dev/null
    done
    printf '[own]\nn = 2^10\nfactor = 1.5, 2.5\nblock_size = 64\n[other]\nn = 2^10\nblock_size = 64\n' >sweep.ini
    (await ' sleep' "$hosts/calls" && for name in own other; do
        printf 1 | dd of=$name.npy bs=1 seek=200 conv=notrunc 2>/dev/null
    done) &
    cluster 2 --config sweep.ini
    exits 2
    has err "other.npy: 'other' with n=1024 factor=1.5 is left out: the file has changed since the run started"
    autotune report --format csv
    equal "$(grep -c "^own,.*,measured," out)" 2
    cluster 2 --config sweep.ini
    exits 0
}

@test "an array of which only the size and the date are hashed, because it is so large, is the same on both nodes" {
    cp "$sweeps/templates/scale.cu" "$sweeps/templates/scale.ini" .
    npy big.npy '|u1' False 270000000 270000000
    printf '\n[buffer.big]\ntype = uint8\nlength = 270000000\naccess = scratch\nfill = file(big.npy)\n' >>scale.ini
    printf '[scale]\nn = 2^12\nblock_size = 64, 128\nnum_load = 1, 2, 4\n' >sweep.ini
    cluster 2 --config sweep.ini --jobs 1 --format csv
    exits 0
    lacks out invalid
}

@test "two GPU models: each has its own winner" {
    rank_environment 1 <<<'AUTOTUNE_STANDIN_HERE="name=Other GPU,sm_count=64,first_uuid=16"'
    cluster 2 --config "$sweeps/scale.ini"
    exits 0
    equal "$(grep -c '^\[' results/tuned.ini)" 2
    has results/tuned.ini "Other GPU" "Stand-in H200"
}

@test "another autotune on a rank is refused by the name of its host" {
    mkdir other
    cp "$BUILD_DIR/autotune-mpi" "$AUTOTUNE" other/
    echo >>other/autotune
    hide=:
    rank_environment 1 <<<"program=$scratch/other/autotune-mpi"
    cluster 2 --config "$sweeps/scale.ini"
    exits 3
    has err "node '$(hostname)' has autotune" "install the same on all nodes"
    rm other/autotune
    cluster 2 --config "$sweeps/scale.ini"
    exits 3
    has err "node '$(hostname)': cannot read" "other/autotune"
    none_alive
}

@test "another driver is refused where the GPU is the same model" {
    rank_environment 1 <<<'AUTOTUNE_STANDIN_HERE="driver_version=12090,first_uuid=16"'
    cluster 2 --config "$sweeps/scale.ini"
    exits 3
    has err "has driver 12.9" "for the same GPU"
    rank_environment 1 <<<'AUTOTUNE_STANDIN_HERE="driver_version=12090,first_uuid=16,name=Other"'
    cluster 2 --config "$sweeps/scale.ini"
    exits 0
}

@test "a GPU that a run on its own machine is using is waited for, or refused with --no-wait" {
    mkdir -p "$hosts/1/locks"
    exec 9>"$hosts/1/locks/autotune-GPU-10111213-1415-1617-1819-1a1b1c1d1e1f.lock"
    flock 9
    cluster 2 --config "$sweeps/scale.ini" --no-wait
    exits 3
    has err "of node '$(hostname)' is being used by another run"
    (await "waiting for process" err; flock -u 9) &
    cluster 2 --config "$sweeps/scale.ini" 9>&-
    exits 0
    has err "waiting for process"
    has out "screened on 2 GPUs"
}

@test "exit codes are those of one machine, and nothing is left running" {
    cluster 2 --config nowhere.ini
    exits 2
    cluster 2 --config "$sweeps/wrong.ini"
    exits 1
    none_alive
}

@test "programs that their launcher does not connect are refused, instead of tuning side by side" {
    code=0
    PMI_SIZE=3 timeout 20 "$BUILD_DIR/autotune-mpi" --config "$sweeps/many.ini" >out 2>err </dev/null || code=$?
    exits 2
    has err "3 programs were started together, but MPI does not connect them" "--mpi=pmix"
    lacks out winner
}

# full_disk RANK: its TMPDIR has room for folders, but for no file
full_disk() {
    unshare -m true 2>/dev/null || skip "a file system cannot be mounted here"
    mkdir -p "$hosts/full"
    rank_environment "$1" <<SH
exec() {
    command exec unshare -m bash -c 'mount -t tmpfs -o size=4k none $hosts/full && TMPDIR=$hosts/full exec "\$@"' - "\$@"
}
SH
}

@test "a rank whose disk is full says so, and is not taken for one whose files are missing" {
    full_disk 1
    rank_environment 0 <<<'export AUTOTUNE_STANDIN=devices=0'
    cp -r "$sweeps/templates" .
    echo '#include "big.h"' | cat - "$sweeps/templates/scale.cu" >templates/scale.cu
    printf '// %9000s\n' . >templates/big.h
    printf '[sweep]\ntemplates = templates\n[scale]\nblock_size = 64, 128, 256, 512\n' >sweep.ini
    cluster 2 --config sweep.ini --jobs 1
    exits 4
    has err "No space left on device" "of node '"
    lacks err "No such file"
    autotune report --format csv
    equal "$(count outcome compile_error)" 0
}

@test "a rank that has no room for an array ends the run with that, and no variant is blamed" {
    full_disk 1
    rank_environment 0 <<<'export AUTOTUNE_STANDIN=devices=0'
    sed "s/^fill = .*/fill = file(in.npy)/" "$sweeps/templates/scale.ini" >scale.ini
    cp "$sweeps/templates/scale.cu" .
    npy in.npy '<f4' False 4096 16384
    printf '[scale]\nn = 2^12\nblock_size = 64, 128\n' >sweep.ini
    cluster 2 --config sweep.ini --jobs 1
    exits 4
    has err "cannot write a file into '" "No space left on device"
    autotune report --format csv
    equal "$(grep -c ',measured,' out)" 0
    equal "$(grep -c 'has changed' err)" 0
}
