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
