#!/usr/bin/env bash
# What several GPUs of one model gain, and whether their winners are as good:
#     tests/gpu_fleet.sh BUILD RESULTS
# Speed: tunes tests/bench/fleet.ini on one GPU and on all (at most four), from the start of the process to its end. Its time
# is measuring: thousands of launches of four binaries. The number of variants is such that one GPU takes ONE_S (130) seconds.
# Winners: SWEEPS (20) sweeps of configs/bench_num_load.ini (504 variants) on all GPUs, against the truth on the first GPU:
# TRUTHS (2) exhaustive measurements of 23 rounds, pooled.
# Writes RESULTS/gpu_fleet.csv (seconds by GPUs), gpu_fleet_regret.csv and gpu_fleet.txt (how far apart the GPUs were). Always
# ends with the table: what failed is missing there and listed below it, with what autotune said. Exit status 77 if there are
# fewer than two GPUs, 1 if something failed or a target was missed. Takes about four minutes.
# For a rehearsal with the stand-in driver, TEMPLATE, CONFIG, DEVICES (0,1,…) and REHEARSAL_CACHE replace what it uses.
set -uo pipefail

build=$(realpath "${1:?usage: tests/gpu_fleet.sh BUILD RESULTS}")
results=${2:?usage: tests/gpu_fleet.sh BUILD RESULTS}
here=$(realpath "$(dirname "$0")")
autotune=$build/autotune
one_s=${ONE_S:-130}
sweeps=${SWEEPS:-20}
truths=${TRUTHS:-2}
template=$(realpath "${TEMPLATE:-$here/bench/fleet.ini}")
config=$(realpath "${CONFIG:-$here/../configs/bench_num_load.ini}")
[ -x "$autotune" ] || {
    echo "there is no program '$autotune'; BUILD must be the folder that autotune was built in" >&2
    exit 2
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=${REHEARSAL_CACHE:-$scratch/cache}
rm -f "$results"/gpu_fleet{.csv,_regret.csv,.txt}

# the numbers of the first GPU and of those with the same name, four at most, separated by commas
gpus=${DEVICES:-$("$autotune" devices 2>"$scratch/err" | awk -F', ' '/^device [0-9]+: / {
    number = $1; sub(/^device /, "", number); sub(/:.*/, "", number)
    name = $1; sub(/^[^:]*: /, "", name)
    if (first == "") first = name
    if (name == first && count < 4) { printf "%s%s", (count ? "," : ""), number; count++ }
}')}
count=$(tr ',' '\n' <<<"$gpus" | grep -c .)
if [ "$count" -lt 2 ]; then
    cat "$scratch/err"
    echo "skipped: needs two GPUs of one model; there are $count"
    exit 77
fi
echo "GPUs $gpus, of"
"$autotune" devices 2>/dev/null | grep '^device'

problems=()
# problem TEXT FILE: notes it, with the end of FILE
problem() {
    problems+=("FAILED: $1"$'\n'"$(tail -n 5 "$2" | sed 's/^/    /')")
    echo "${problems[-1]}"
}

# tuned LIMIT_S FOLDER DEVICES OPTION…: tunes; sets `seconds`
tuned() {
    local begin end code=0
    begin=$(date +%s%N)
    timeout -k 5 "$1" "$autotune" "${@:4}" --device "$3" --results "$2" --tuned "$2/tuned.ini" --top 3 \
        >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    end=$(date +%s%N)
    seconds=$(awk "BEGIN { printf \"%.3f\", ($end - $begin) * 1e-9 }")
    [ $code -eq 0 ] && return
    problem "exit status $code after $seconds s: autotune ${*:4} --device $3" "$scratch/err"
    return 1
}

# copies DEVICES BLOCKS: tunes with so many grids, in ranges of at most 4096 values, as a list may have
copies() {
    local ranges='' from to last=$((263 + $2))
    for ((from = 264; from <= last; from = to + 1)); do
        to=$((from + 4095 < last ? from + 4095 : last))
        ranges+=${ranges:+, }$from..$to
    done
    rm -rf "$scratch/copies"
    tuned $((2 * one_s + 60)) "$scratch/copies" "$1" --template "$template" --set "block_size=128,256,512,1024" \
        --set "blocks=$ranges"
}

# what the last run says of its GPUs
describe() {
    echo "$1:"
    grep -A 8 '^screened on' "$scratch/out" | grep -e '^screened' -e '^  GPU'
}

# --- speed ---
blocks=
speed() {
    local few many
    copies "${gpus%%,*}" 4 || return # all that is compiled
    copies "${gpus%%,*}" 25 && few=$seconds && copies "${gpus%%,*}" 225 && many=$seconds || return
    blocks=$(awk "BEGIN { each = ($many - $few) / 200; n = int($one_s / (each > 0 ? each : 1)); print (n < 8 ? 8 : (n > 9000 ? 9000 : n)) }")
    echo "gpus,variants,seconds" >"$results/gpu_fleet.csv"
    if copies "$gpus" "$blocks"; then
        echo "$count,$((4 * blocks)),$seconds" >>"$results/gpu_fleet.csv"
        describe "$((4 * blocks)) variants" >>"$results/gpu_fleet.txt"
    fi
    copies "${gpus%%,*}" "$blocks" && echo "1,$((4 * blocks)),$seconds" >>"$results/gpu_fleet.csv"
}

# --- winners ---
# studied LIMIT_S NAME DEVICES OPTION…: tunes $config, and leaves $scratch/NAME.json; `seconds`
studied() {
    tuned "$1" "$scratch/$2" "$3" --config "$config" "${@:4}" || return
    "$autotune" report --results "$scratch/$2" --format json >"$scratch/$2.json" 2>"$scratch/err" && return
    problem "autotune report --results $2" "$scratch/err"
    return 1
}

winners() {
    local i studies=() measured=()
    for ((i = 1; i <= sweeps; i++)); do
        studied 60 "sweep-$i" "$gpus" || break # the next ones would fail in the same way
        studies+=("$scratch/sweep-$i.json")
        echo "$seconds" >>"$scratch/sweeps"
        [ "$i" -gt 1 ] || describe "504 variants" >>"$results/gpu_fleet.txt"
    done
    for ((i = 1; i <= truths; i++)); do
        studied 120 "truth-$i" "${gpus%%,*}" --exhaustive 23 && measured+=("$scratch/truth-$i.json")
    done
    [ ${#studies[@]} -gt 0 ] && [ ${#measured[@]} -gt 0 ] || return
    if ! python3 "$here/bench/tuner_bench.py" pool "${measured[@]}" >"$scratch/truth.json" 2>"$scratch/err" ||
        ! python3 "$here/bench/tuner_bench.py" regret "$scratch/truth.json" "${studies[@]}" >"$scratch/regret" 2>"$scratch/err"; then
        problem "tests/bench/tuner_bench.py" "$scratch/err"
        return
    fi
    cp "$scratch/regret" "$results/gpu_fleet_regret.csv"
}

speed
winners

# --- the end ---
# seconds_on GPUS: what gpu_fleet.csv says; nothing if that run failed
seconds_on() {
    [ -e "$results/gpu_fleet.csv" ] && awk -F, -v gpus="$1" '$1 == gpus { print $3 }' "$results/gpu_fleet.csv"
}

median_s=$([ -e "$scratch/sweeps" ] && sort -n "$scratch/sweeps" | awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }')
good=$([ -s "$results/gpu_fleet_regret.csv" ] && awk -F, 'NR > 1 && $5 <= 1 { n++ } END { print n + 0 }' "$results/gpu_fleet_regret.csv")
echo
[ -e "$results/gpu_fleet.txt" ] && cat "$results/gpu_fleet.txt" && echo
awk -v one="$(seconds_on 1)" -v all="$(seconds_on "$count")" -v gpus="$count" -v variants="${blocks:+$((4 * blocks))}" \
    -v good="$good" -v sweeps="$sweeps" -v median="$median_s" '
function figure(value, format) { return value == "" ? "-" : sprintf(format, value) }
function line(what, target, measured, word) { printf "%-44s %10s %10s  %s\n", what, target, measured, word }
BEGIN {
    target = 0.9 * gpus; least = int(0.95 * sweeps)
    gain = one != "" && all != "" ? one / all : ""
    line("what", "target", "measured", "")
    line(variants " variants on one GPU", "", figure(one, "%.1f s"), "")
    line(variants " variants on " gpus " GPUs", "", figure(all, "%.1f s"), "")
    fast = gain == "" ? "FAILED" : gain + 0 >= target ? "reached" : "MISSED"
    line("times as fast", sprintf(">= %.2f", target), figure(gain, "%.2f"), fast)
    enough = good == "" ? "FAILED" : good + 0 >= least ? "reached" : "MISSED"
    line("504 variants: winners with regret <= 1 %", ">= " least "/" sweeps, figure(good, "%d/" sweeps), enough)
    line("504 variants on " gpus " GPUs, median", "", figure(median, "%.2f s"), "")
    exit !(fast == "reached" && enough == "reached")
}'
reached=$?
for text in "${problems[@]}"; do
    printf '\n%s\n' "$text"
done
[ $reached -eq 0 ] && [ ${#problems[@]} -eq 0 ]
