#!/usr/bin/env bats
# The Nth call of the driver fails, for N over a whole small sweep: either the right outcomes or a clear error; the record
# readable, the tuned INI whole, no process left; the next run finds everything.
# AUTOTUNE_WALK says how many N of each kind (5), evenly spread; `all`: every one.
load ../cli/helper
load walk

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

@test "every driver call of a standby worker fails, kills or hangs, and another takes over" {
    printf 'launch_timeout_s = 1\n[scale]\nn = 2^10\nmode = good, hang\n' | sweep
    stand_in "noise = 0" "base_ns = 20000" "log = $scratch/calls"
    autotune --config sweep.ini
    exits 0
    rm -rf results calls
    autotune --config sweep.ini
    exits 0
    # from its first call to the one that says what memory is left when the problem is open
    read -r first last < <(awk '!seen[$1]++ { workers++ } workers == 2 && !standby { standby = $1; first = NR }
        $1 == standby && $2 == "cuMemGetInfo" && ++asked == 2 { print first, NR }' calls)
    [ $((last - first)) -gt 50 ]
    export AUTOTUNE_WORKER_TIMEOUT_S=2
    actions=(CUDA_ERROR_UNKNOWN kill hang CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_ILLEGAL_ADDRESS)
    which=0
    for call in $(steps $((last - first + 1))); do
        rm -rf results
        action=${actions[which++ % ${#actions[@]}]}
        stand_in "noise = 0" "base_ns = 20000" "fault=any:$((first + call - 1)):$action"
        autotune --config sweep.ini --format csv
        echo "call $call of the standby worker, $action: exit code $code"
        exits 0
        equal "$(count outcome measured)" 1
        equal "$(count outcome timeout)" 1
        none_alive
    done
}
