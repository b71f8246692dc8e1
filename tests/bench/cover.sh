#!/usr/bin/env bash
# Makes the covers of configs/cover.ini on this machine's GPU, and measures what they are worth at sizes that nobody has
# measured (cover.py, which says what it writes):
#     tests/bench/cover.sh BUILD RESULTS [SEED [KERNEL…]]
# RESULTS/cover_times.csv gets how long each cover took. SEED is cover.py's. With KERNELs, only theirs are made; what the
# files have of other kernels stays.
#
# COVER_CONFIG  the sweep (configs/cover.ini)
# COVER_COUNT   sizes drawn for each cover (12)
# COVER_BUDGET  for tuning each of them (6s): spaces that take longer are searched
set -euo pipefail

usage="usage: tests/bench/cover.sh BUILD RESULTS [SEED [KERNEL…]]"
build=$(realpath "${1:?$usage}")
results=$(realpath "${2:?$usage}")
seed=${3:-$(date +%s)}
kernels=("${@:4}")
here=$(realpath "$(dirname "$0")")
config=${COVER_CONFIG:-$here/../../configs/cover.ini}

[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <(sed -n 's/^\[\(.*\)\]$/\1/p' "$config" | grep -vx sweep)
times=$results/cover_times.csv
touch "$times"
for kernel in "${kernels[@]}"; do
    begin=$(date +%s%N)
    # relative paths, because the tuned INI keeps the command
    "$build/autotune" cover --config "$(realpath --relative-to=. "$config")" --kernel "$kernel" \
        --results "$(realpath --relative-to=. "$results")" --tuned "$(realpath --relative-to=. "$results/tuned.ini")" --quiet
    end=$(date +%s%N)
    others=$(grep -v -e "^$kernel," -e '^kernel,' "$times" || true)
    {
        echo "kernel,seconds"
        [ -z "$others" ] || echo "$others"
        awk -v kernel="$kernel" -v ns=$((end - begin)) 'BEGIN { printf "%s,%.1f\n", kernel, ns * 1e-9 }'
    } >"$times"
    # at once, so that a run that is cut short has measured whole kernels
    python3 "$here/cover.py" --autotune "$build/autotune" --config "$config" --tuned "$results/tuned.ini" --results "$results" \
        --count "${COVER_COUNT:-12}" --seed "$seed" --budget "${COVER_BUDGET:-6s}" --kernel "$kernel"
done
cat "$times"
