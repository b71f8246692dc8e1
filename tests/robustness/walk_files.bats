#!/usr/bin/env bats
# The Nth call of the file system fails, for N over a whole small sweep: as in walk_driver.bats.
load ../cli/helper
load walk

# walk_files ERRNO [+]: + for this call and all after it
walk_files() {
    ! ldd "$AUTOTUNE" | grep -q libasan || skip "the address sanitizer wants to be what is loaded first"
    begin
    mkdir run
    cp -r sweep.ini templates run
    cd run || return
    export AUTOTUNE_CACHE=$scratch/run/cache AUTOTUNE_LOCK_FOLDER=$scratch/run/locks
    export FAULTFS_FOLDER=$scratch/run FAULTFS_STATE=$scratch/faultfs.state
    preload=$BUILD_DIR/tests/libfaultfs.so
    FAULTFS='' LD_PRELOAD=$preload "$AUTOTUNE" --config sweep.ini >out 2>err </dev/null
    cp results/tuned.ini old.ini
    total=$(od -An -tu8 "$FAULTFS_STATE" | tr -d ' ')
    [ "$total" -gt 50 ]
    for call in $(steps "$total"); do
        rm -rf results "$FAULTFS_STATE" cache locks
        mkdir results
        sed 's/^gpu = .*/gpu = another/; s/^\[scale .*/[scale 00000000]/' old.ini >results/tuned.ini
        code=0
        FAULTFS=$call$2:$1 LD_PRELOAD=$preload "$AUTOTUNE" --config sweep.ini --format csv >out 2>err </dev/null || code=$?
        echo "call $call$2 of $total, $1: exit code $code"
        cat err
        grep -qx 'gpu = another' results/tuned.ini # what was there is there
        case $code in
        0) [ "$(column outcome | wc -l)" -eq 2 ] ;;
        1 | 2 | 3 | 4) [ -s err ] ;;
        *) exits 0 ;;
        esac
        scratch_here=$scratch/run
        scratch=$scratch_here none_alive
        autotune --config sweep.ini --format csv
        exits 0
        equal "$(column outcome | wc -l)" 2
        grep -qx 'gpu = another' results/tuned.ini
        grep -qx 'gpu = Stand-in H200' results/tuned.ini
    done
}

@test "every file-system call: the disk is full from there on" {
    walk_files ENOSPC +
}

@test "every file-system call: an error of the disk" {
    walk_files EIO ''
}

@test "every file-system call: no permission" {
    walk_files EACCES ''
}
