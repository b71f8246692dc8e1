#!/usr/bin/env bash
# What several GPUs of one model gain, and whether their winners are as good:
#     tests/gpu_fleet.sh BUILD RESULTS
# Speed: tunes tests/bench/fleet.ini on one GPU and on all (at most four), from the start of the process to its end. Its time
# is measuring: thousands of launches of four binaries. The number of variants is such that one GPU takes ONE_S (130) seconds.
# Winners: SWEEPS (20) sweeps of configs/bench_num_load.ini (504 variants) on all GPUs, against the truth on the first GPU:
# TRUTHS (2) exhaustive measurements of 23 rounds, pooled.
# Writes RESULTS/gpu_fleet.csv (seconds by GPUs), gpu_fleet_regret.csv and gpu_fleet.txt (how far apart the GPUs were). Ends
# with a table; exit status 77 if there are fewer than two GPUs, 1 if a target was missed. Takes about four minutes.
set -euo pipefail

build=$(realpath "${1:?usage: tests/gpu_fleet.sh BUILD RESULTS}")
results=${2:?usage: tests/gpu_fleet.sh BUILD RESULTS}
here=$(realpath "$(dirname "$0")")
autotune=$build/autotune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=$scratch/cache
cd "$here/.."

# the numbers of the first GPU and of those with the same name, four at most, separated by commas
gpus=$("$autotune" devices 2>/dev/null | awk -F', ' '/^device [0-9]+: / {
    number = $1; sub(/^device /, "", number); sub(/:.*/, "", number)
    name = $1; sub(/^[^:]*: /, "", name)
    if (first == "") first = name
    if (name == first && count < 4) { printf "%s%s", (count ? "," : ""), number; count++ }
}') || true
count=$(tr ',' '\n' <<<"$gpus" | grep -c . || true)
if [ "$count" -lt 2 ]; then
    echo "skipped: needs two GPUs of one model; there are $count"
    exit 77
fi
echo "GPUs $gpus"

# tuned FOLDER DEVICES OPTION…: how many seconds it took
tuned() {
    local begin end
    begin=$(date +%s%N)
    timeout 300 "$autotune" "${@:3}" --device "$2" --results "$1" --tuned "$1/tuned.ini" --quiet --top 3 >"$scratch/out"
    end=$(date +%s%N)
    awk "BEGIN { printf \"%.2f\", ($end - $begin) * 1e-9 }"
}

# copies DEVICES BLOCKS: tunes with so many grids
copies() {
    rm -rf "$scratch/copies"
    tuned "$scratch/copies" "$1" --template tests/bench/fleet.ini --set "block_size=128,256,512,1024" \
        --set "blocks=264..$((263 + $2))"
}

# --- speed ---
copies "${gpus%%,*}" 4 >"$scratch/compiled" # all that is compiled
few=$(copies "${gpus%%,*}" 25)
many=$(copies "${gpus%%,*}" 225)
blocks=$(awk "BEGIN { each = ($many - $few) / 200; n = int(${ONE_S:-130} / (each > 0 ? each : 1)); print (n < 8 ? 8 : (n > 9000 ? 9000 : n)) }")
all_s=$(copies "$gpus" "$blocks")
grep -A 4 '^screened on' "$scratch/out" | grep -e '^screened' -e '^  GPU' >"$results/gpu_fleet.txt" || true
one_s=$(copies "${gpus%%,*}" "$blocks")
{
    echo "gpus,variants,seconds"
    echo "1,$((4 * blocks)),$one_s"
    echo "$count,$((4 * blocks)),$all_s"
} >"$results/gpu_fleet.csv"

# --- winners ---
studies=()
for i in $(seq "${SWEEPS:-20}"); do
    tuned "$scratch/sweep-$i" "$gpus" --config configs/bench_num_load.ini >>"$scratch/sweeps"
    echo >>"$scratch/sweeps"
    "$autotune" report --results "$scratch/sweep-$i" --format json >"$scratch/sweep-$i.json"
    studies+=("$scratch/sweep-$i.json")
done
truths=()
for i in $(seq "${TRUTHS:-2}"); do
    tuned "$scratch/truth-$i" "${gpus%%,*}" --config configs/bench_num_load.ini --exhaustive 23 >"$scratch/truth"
    "$autotune" report --results "$scratch/truth-$i" --format json >"$scratch/truth-$i.json"
    truths+=("$scratch/truth-$i.json")
done
python3 tests/bench/tuner_bench.py pool "${truths[@]}" >"$scratch/truth.json"
python3 tests/bench/tuner_bench.py regret "$scratch/truth.json" "${studies[@]}" >"$results/gpu_fleet_regret.csv"
grep -A 4 '^screened on' "$scratch/out" >>"$results/gpu_fleet.txt" || true
median_s=$(grep . "$scratch/sweeps" | sort -n | sed -n "$(((${SWEEPS:-20} + 1) / 2))p")
good=$(awk -F, 'NR > 1 && $5 <= 1' "$results/gpu_fleet_regret.csv" | grep -c . || true)

# --- the end ---
echo
cat "$results/gpu_fleet.txt"
echo
awk -v one="$one_s" -v all="$all_s" -v gpus="$count" -v variants=$((4 * blocks)) -v good="$good" \
    -v sweeps="${SWEEPS:-20}" -v median="$median_s" 'BEGIN {
    gain = one / all; target = 0.9 * gpus; enough = (good >= int(0.95 * sweeps))
    printf "%-44s %10s %10s\n", "what", "target", "measured"
    printf "%-44s %10s %8.1f s\n", variants " variants on one GPU", "", one
    printf "%-44s %10s %8.1f s\n", variants " variants on " gpus " GPUs", "", all
    printf "%-44s %10s %10s  %s\n", "times as fast", sprintf(">= %.2f", target), sprintf("%.2f", gain),
        (gain >= target ? "reached" : "MISSED")
    printf "%-44s %10s %10s  %s\n", "504 variants: winners with regret <= 1 %", sprintf(">= %d/%d", int(0.95 * sweeps), sweeps),
        sprintf("%d/%d", good, sweeps), (enough ? "reached" : "MISSED")
    printf "%-44s %10s %8.2f s\n", "504 variants on " gpus " GPUs, median", "", median
    exit !(gain >= target && enough)
}'
