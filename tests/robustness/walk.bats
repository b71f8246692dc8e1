#!/usr/bin/env bats
# The Nth call of the driver, or of the file system, fails, for N over a whole small sweep: either the right outcomes
# or a clear error; the record readable, the tuned INI whole, no process left; the next run finds everything.
# AUTOTUNE_WALK says how many N of each kind (8), evenly spread; `all`: every one.
load ../cli/helper

# Lines of a tuned INI in which two runs differ: a timer's ticks fall otherwise on an interrupted run.
unlike='^(date|command|samples|runs|sm_clock_mhz|dropped_samples|throttled_samples|other_processes|[a-z_]+_ns|g[a-z]+_per_s) ='

# begin: the sweep, undisturbed; cubins are cached from then on
begin() {
    printf 'launch_timeout_s = 0.3\n[scale]\nn = 2^10\nnum_load = 1, 4\n' | sweep
    stand_in "noise = 0" "base_ns = 4000" "log = $scratch/calls"
    autotune --config sweep.ini --format csv
    exits 0
    equal "$(count outcome measured)" 2
    grep -vE "$unlike" results/tuned.ini >undisturbed.ini
    export AUTOTUNE_WORKER_TIMEOUT_S=2
}

# steps TOTAL: the N of the walk, the first and the last among them
steps() {
    local wanted=${AUTOTUNE_WALK:-8} i
    [ "$wanted" != all ] && [ "$wanted" -lt "$1" ] || wanted=$1
    for i in $(seq "$wanted"); do
        echo $((wanted > 1 ? 1 + (i - 1) * ($1 - 1) / (wanted - 1) : $1))
    done
}

same_as_undisturbed() {
    grep -vE "$unlike" results/tuned.ini | diff undisturbed.ini - || return 1
}

# after WHAT: what must hold after a run that something happened to, and after the next one
after() {
    echo "$1: exit code $code"
    cat err
    case $code in
    0)
        equal "$(column outcome | wc -l)" 2
        [ "$(count outcome measured)" -lt 2 ] || same_as_undisturbed
        ;;
    1 | 2 | 3 | 4) [ -s err ] ;;
    *) exits 0 ;;
    esac
    none_alive
    stand_in "noise = 0" "base_ns = 4000"
    # a variant keeps an outcome that it got from the driver's error
    autotune --config sweep.ini --format csv
    [ "$code" -eq 0 ] || [ "$code" -eq 1 ] || exits 0
    equal "$(column outcome | wc -l)" 2
    [ "$(count outcome measured)" -lt 2 ] || same_as_undisturbed
}

# walk_driver ACTION
walk_driver() {
    begin
    rm -rf results calls
    autotune --config sweep.ini
    total=$(wc -l <calls)
    [ "$total" -gt 100 ]
    for call in $(steps "$total"); do
        rm -rf results
        stand_in "noise = 0" "base_ns = 4000" "fault=any:$call:$1"
        autotune --config sweep.ini --format csv
        [ "$1" != kill ] || [ "$code" -ne 0 ] || equal "$(count outcome measured)" 2
        after "driver call $call of $total, $1"
    done
}

@test "every driver call fails once" {
    walk_driver CUDA_ERROR_UNKNOWN
}

@test "every driver call breaks the context once" {
    walk_driver CUDA_ERROR_ILLEGAL_ADDRESS
}

@test "every driver call kills its process once, and nothing is the worse for it" {
    walk_driver kill
}

@test "every driver call hangs once" {
    walk_driver hang
}

@test "every driver call of a spare worker fails, kills or hangs, and another takes over" {
    printf 'launch_timeout_s = 1\n[scale]\nn = 2^10\nmode = good, hang\n' | sweep
    stand_in "noise = 0" "base_ns = 20000" "log = $scratch/calls"
    autotune --config sweep.ini
    exits 0
    rm -rf results calls
    autotune --config sweep.ini
    exits 0
    # from its first call to the one that says what memory is left when the problem is open
    read -r first last < <(awk '!seen[$1]++ { workers++ } workers == 2 && !spare { spare = $1; first = NR }
        $1 == spare && $2 == "cuMemGetInfo" && ++asked == 2 { print first, NR }' calls)
    [ $((last - first)) -gt 50 ]
    export AUTOTUNE_WORKER_TIMEOUT_S=2
    actions=(CUDA_ERROR_UNKNOWN kill hang CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_ILLEGAL_ADDRESS)
    which=0
    for call in $(steps $((last - first + 1))); do
        rm -rf results
        action=${actions[which++ % ${#actions[@]}]}
        stand_in "noise = 0" "base_ns = 20000" "fault=any:$((first + call - 1)):$action"
        autotune --config sweep.ini --format csv
        echo "call $call of the spare, $action: exit code $code"
        exits 0
        equal "$(count outcome measured)" 1
        equal "$(count outcome timeout)" 1
        none_alive
    done
}

# walk_files ERRNO [+]: + for this call and all after it
walk_files() {
    ! ldd "$AUTOTUNE" | grep -q libasan || skip "the address sanitizer wants to be what is loaded first"
    begin
    mkdir run
    cp -r sweep.ini templates run
    cd run || return
    export AUTOTUNE_CACHE=$scratch/run/cache
    export FAULTFS_FOLDER=$scratch/run FAULTFS_STATE=$scratch/faultfs.state
    preload=$BUILD_DIR/tests/libfaultfs.so
    FAULTFS='' LD_PRELOAD=$preload "$AUTOTUNE" --config sweep.ini >out 2>err </dev/null
    cp results/tuned.ini old.ini
    total=$(od -An -tu8 "$FAULTFS_STATE" | tr -d ' ')
    [ "$total" -gt 50 ]
    for call in $(steps "$total"); do
        rm -rf results "$FAULTFS_STATE" cache
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
