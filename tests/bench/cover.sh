#!/usr/bin/env bash
# Makes the covers of configs/cover.ini on this machine's GPU, and measures what they are worth at sizes that nobody has
# measured (cover.py, which says what it writes):
#     tests/bench/cover.sh BUILD RESULTS [SEED]
# RESULTS/cover_times.csv gets how long each cover took. SEED is cover.py's.
set -euo pipefail

build=$(realpath "${1:?usage: tests/bench/cover.sh BUILD RESULTS [SEED]}")
results=$(realpath "${2:?usage: tests/bench/cover.sh BUILD RESULTS [SEED]}")
seed=${3:-$(date +%s)}
here=$(realpath "$(dirname "$0")")
config=${COVER_CONFIG:-$here/../../configs/cover.ini}
count=${COVER_COUNT:-20}

echo "kernel,seconds" >"$results/cover_times.csv"
mapfile -t kernels < <(sed -n 's/^\[\(.*\)\]$/\1/p' "$config" | grep -vx sweep)
for kernel in "${kernels[@]}"; do
    begin=$(date +%s%N)
    "$build/autotune" cover --config "$config" --kernel "$kernel" --results "$results" --tuned "$results/tuned.ini" --quiet
    end=$(date +%s%N)
    awk -v kernel="$kernel" -v ns=$((end - begin)) 'BEGIN { printf "%s,%.1f\n", kernel, ns * 1e-9 }' >>"$results/cover_times.csv"
done
cat "$results/cover_times.csv"
# spaces that take minutes a size are searched
python3 "$here/cover.py" --autotune "$build/autotune" --config "$config" --tuned "$results/tuned.ini" --results "$results" \
    --count "$count" --seed "$seed" --budget "${COVER_BUDGET:-60s}"
