#!/usr/bin/env bash
# Broken copies of the shipped kernels (mutants/) on the GPU of the machine it stands on: verification must
# reject every one of them, and none of the kernels as they are.
#     tests/gpu/mutants.sh BUILD [RESULTS]
# BUILD is a build folder. RESULTS gets the table (default: a folder that is removed again).
# Ends with "N passed, N failed"; exit status 77 where there is no GPU.
set -u

build=$(realpath "${1:?usage: tests/gpu/mutants.sh BUILD [RESULTS]}")
source=$(realpath "$(dirname "$0")/../..")
autotune=$build/autotune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=${2:-$scratch/results}
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=${AUTOTUNE_CACHE:-$scratch/cache}

if ! "$autotune" devices >"$scratch/devices" 2>"$scratch/devices.err"; then
    echo "skipped: $(cat "$scratch/devices.err")"
    exit 77
fi
head -n 1 "$scratch/devices"

"$source/tests/mutants/prepare.sh" "$scratch/mutants" || exit 1
begin=$SECONDS
cd "$scratch" || exit 1
# status 1: the mutants have no valid variant, which is what they are for
timeout 300 "$autotune" --config mutants/sweep.ini --results stored --tuned stored/tuned.ini --quiet --top 1 \
    >"$scratch/output" 2>"$scratch/errors"
status=$?
if [ $status -gt 1 ]; then
    echo "the sweep ended with status $status:"
    tail -n 20 "$scratch/errors"
fi
python3 "$source/tests/gpu/mutants.py" "$autotune" stored "$source/tests/mutants" >"$results/mutants.txt"
judged=$?
cat "$results/mutants.txt"
echo "in $((SECONDS - begin)) s"
[ $status -le 1 ] && [ $judged -eq 0 ]
