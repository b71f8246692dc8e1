#!/usr/bin/env bash
# The tests that need a GPU, on the machine it stands on:
#     tests/gpu.sh BUILD [RESULTS [PART…]]
# BUILD is a build folder, wherever it lies. RESULTS gets what the shipped sweep writes (default: a folder that is
# removed again). PART is sweep, foreign or downstream (default: everything).
# Ends with "N passed, N failed"; exit status 77 where there is no GPU.
set -u

build=$(realpath "${1:?usage: tests/gpu.sh BUILD [RESULTS]}")
source=$(realpath "$(dirname "$0")/..")
autotune=$build/autotune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=${2:-$scratch/results}
mkdir -p "$results"
results=$(realpath "$results")
parts=${*:3}
export AUTOTUNE_CACHE=${AUTOTUNE_CACHE:-$scratch/cache}

if ! "$autotune" devices >"$scratch/devices" 2>"$scratch/devices.err"; then
    echo "skipped: $(cat "$scratch/devices.err")"
    exit 77
fi
head -n 1 "$scratch/devices"
arch=$(sed -n '1s/.*, \(sm_[0-9a-z]*\), .*/\1/p' "$scratch/devices")

passed=0
failed=0

# test_case NAME COMMAND…: the command must succeed; its output is shown where it does not.
test_case() {
    local name=$1
    shift
    if "$@" >"$scratch/output" 2>&1; then
        echo "ok     $name"
        passed=$((passed + 1))
    else
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/output" | tail -n 40
        failed=$((failed + 1))
    fi
}

# wanted PART
wanted() {
    [ -z "$parts" ] || [[ " $parts " == *" $1 "* ]]
}

# A sweep, never for longer than it may take; spinning kernels die with their worker.
sweep() {
    timeout 300 "$autotune" --config "$1" --results "$2" --tuned "$2/tuned.ini" "${@:3}"
}

shipped_sweep() {
    # where a sweep has been, all would be known: this one measures
    (cd "$source" && sweep configs/sweep.ini "$results" --remeasure --timings) \
        >"$scratch/sweep.out" 2>"$scratch/sweep.err"
    local status=$?
    cat "$scratch/sweep.out" "$scratch/sweep.err"
    return $status
}

second_run() {
    (cd "$source" && sweep configs/sweep.ini "$results") >"$scratch/second.out" 2>"$scratch/second.err"
    grep "nothing to do" "$scratch/second.err"
}

foreign_kernel() {
    sweep "$source/tests/foreign/sweep.ini" "$scratch/foreign" && grep "^parameter.tile = " "$scratch/foreign/tuned.ini"
}

static_figures() {
    (cd "$source" && sweep configs/sweep.ini "$scratch/static" --arch "$arch")
}

if wanted sweep; then
    test_case "the shipped sweep ends with status 0" shipped_sweep
    cat "$scratch/sweep.out" "$scratch/sweep.err"
    test_case "every variant has one outcome, barrier=none is wrong, every problem has a winner" \
        python3 "$source/tests/gpu_check.py" outcomes "$autotune" "$results"
    test_case "a second run has nothing to do" second_run
    test_case "static figures of the same sweep" static_figures
    test_case "occupancy agrees with the driver for every variant" \
        python3 "$source/tests/gpu_check.py" occupancy "$autotune" "$results" "$scratch/static"
fi
if wanted foreign; then
    test_case "a foreign kernel is tuned" foreign_kernel
fi
if wanted downstream; then
    test_case "an application with a bundle and no compiler sums right, as fast as the tuner said" \
        "$source/tests/downstream/test.sh" "$build" gpu "$results"
    cat "$scratch/output"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
