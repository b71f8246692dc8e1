#!/usr/bin/env bash
# What several GPUs of one model gain, and whether their winners are as good:
#     tests/gpu_fleet.sh BUILD RESULTS
# Speed: tunes tests/bench/fleet.ini on one GPU and on all (at most four), from the start of the process to its end. Its time
# is measuring: thousands of launches of four binaries. The number of variants is such that one GPU takes ONE_S (130) seconds.
# Winners: SWEEPS (20) sweeps of configs/bench_num_load.ini (504 variants) on all GPUs, against the truth on the first GPU:
# TRUTHS (2) exhaustive measurements of 23 rounds, pooled.
# Ranks: if there are mpirun and BUILD/autotune-mpi, tunes tests/bench/compiling.ini, whose time is compiling, on one rank and
# on RANKS (as many as there are GPUs). Each rank has an empty cache of its own and runs on its part of the cores; the first
# ones have a GPU each. Cores of one host slow each other down; ranks on hosts of their own do not. Two more measurements tell
# that apart: one rank again, while the other parts of the cores compile the same sweep without MPI, each for itself; and a
# quarter of the sweep without MPI, on one part of the cores, and on all parts at once.
# Writes RESULTS/gpu_fleet.csv (seconds by GPUs), gpu_fleet_ranks.csv (seconds by ranks, and by what the other cores did),
# gpu_fleet_host.csv (seconds by parts of the cores), gpu_fleet_regret.csv and gpu_fleet.txt (how far apart the GPUs were, where
# the time goes on ranks). PARTS (speed winners ranks) is what of it is wanted. Always ends with the table: what failed is
# missing there and listed below it, with what autotune said. Exit status 77 if there are fewer than two GPUs, 1 if something
# failed or a target was missed. Takes about eight minutes.
# For a rehearsal with the stand-in driver, TEMPLATE, CONFIG, COMPILING, QUARTER (what --set takes to leave a quarter of it),
# DEVICES (0,1,…) and REHEARSAL_CACHE replace what it uses.
set -uo pipefail

build=$(realpath "${1:?usage: tests/gpu_fleet.sh BUILD RESULTS}")
results=${2:?usage: tests/gpu_fleet.sh BUILD RESULTS}
here=$(realpath "$(dirname "$0")")
autotune=$build/autotune
one_s=${ONE_S:-130}
sweeps=${SWEEPS:-20}
truths=${TRUTHS:-2}
parts=${PARTS:-speed winners ranks}
template=$(realpath "${TEMPLATE:-$here/bench/fleet.ini}")
config=$(realpath "${CONFIG:-$here/../configs/bench_num_load.ini}")
compiling=$(realpath "${COMPILING:-$here/bench/compiling.ini}")
[ -x "$autotune" ] || {
    echo "there is no program '$autotune'; BUILD must be the folder that autotune was built in" >&2
    exit 2
}
scratch=$(mktemp -d)
neighbours=() # processes that keep the other cores busy
trap 'stop_neighbours; rm -rf "$scratch"' EXIT
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=${REHEARSAL_CACHE:-$scratch/cache}
rm -f "$results"/gpu_fleet{.csv,_ranks.csv,_host.csv,_regret.csv,.txt}

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

# --- ranks ---
quarter=${QUARTER:-min_blocks=1}
ranks_wanted=${RANKS:-$count}
cores=$(($(nproc) / ranks_wanted > 0 ? $(nproc) / ranks_wanted : 1))

# What a rank begins with: its cores, its GPU if there is one left, and a cache that the others do not share. Reads gpus,
# scratch and cores; and RANK if no MPI has started it.
write_rank_script() {
    cat >"$scratch/rank.sh" <<'END'
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-${RANK:-0}}}}
export CUDA_VISIBLE_DEVICES=$(cut -d, -f$((rank + 1)) <<<"$gpus,")
export AUTOTUNE_CACHE=${REHEARSAL_CACHE:-$scratch/cache-of-$rank}
first=$((rank * cores % $(nproc)))
exec taskset -c $first-$((first + cores - 1)) "$@"
END
}

# start_neighbours: the parts of the cores that rank 0 does not have compile $compiling, each for itself, until
# stop_neighbours; one that is done begins anew
start_neighbours() {
    local rank
    cat >"$scratch/neighbour.sh" <<'END'
while rm -rf "$scratch/cache-of-$RANK"; do
    timeout --foreground -k 5 300 bash "$scratch/rank.sh" "$@" --results "$scratch/cache-of-$RANK" || exit
done
END
    for ((rank = 1; rank < ranks_wanted; rank++)); do
        RANK=$rank setsid bash "$scratch/neighbour.sh" "$autotune" --config "$compiling" --arch sm_90 --jobs "$cores" --top 1 \
            >"$scratch/out-$rank" 2>"$scratch/err-$rank" </dev/null &
        neighbours+=($!)
    done
}

stop_neighbours() {
    local pid stopped=0
    for pid in "${neighbours[@]}"; do
        kill -KILL -- "-$pid" 2>/dev/null || stopped=1
        wait "$pid" 2>/dev/null
    done
    neighbours=()
    return $stopped
}

# host_compiles PARTS: seconds in which so many parts of the cores, without MPI, compile a quarter of $compiling each
host_compiles() {
    local rank begin end failed=0 pids=()
    rm -rf "$scratch"/cache-of-*
    begin=$(date +%s%N)
    for ((rank = 0; rank < $1; rank++)); do
        RANK=$rank timeout -k 5 300 bash "$scratch/rank.sh" "$autotune" --config "$compiling" --set "$quarter" \
            --arch sm_90 --jobs "$cores" --results "$scratch/cache-of-$rank" --top 1 >"$scratch/out-$rank" 2>"$scratch/err-$rank" </dev/null &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[rank]}" || failed=$rank
    done
    end=$(date +%s%N)
    if [ "$failed" != 0 ]; then
        problem "autotune --arch on $1 parts of the cores" "$scratch/err-$failed"
        return 1
    fi
    awk -v parts="$1" -v ns=$((end - begin)) 'BEGIN { printf "%d,%.3f\n", parts, ns * 1e-9 }' >>"$results/gpu_fleet_host.csv"
}

# on_ranks RANKS idle|busy: tunes $compiling on so many; what the other cores do is for the table
on_ranks() {
    local begin end code=0
    rm -rf "$scratch/cache-of-0" "$scratch/ranks"
    [ "$2" = busy ] || rm -rf "$scratch"/cache-of-*
    begin=$(date +%s%N)
    timeout -k 5 300 mpirun --bind-to none --oversubscribe -n "$1" bash "$scratch/rank.sh" \
        "$build/autotune-mpi" --config "$compiling" --jobs "$cores" --results "$scratch/ranks" \
        --tuned "$scratch/ranks/tuned.ini" --top 1 --timings >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    end=$(date +%s%N)
    if [ $code -ne 0 ]; then
        problem "exit status $code: autotune-mpi on $1 ranks" "$scratch/err"
        return 1
    fi
    awk -v ranks="$1,$2" -v ns=$((end - begin)) 'BEGIN { printf "%s,%.3f\n", ranks, ns * 1e-9 }' >>"$results/gpu_fleet_ranks.csv"
    {
        echo "where the time goes on $1 ranks, other cores $2:"
        grep -E '^ +[0-9.]+ s  |busy' "$scratch/err"
    } >>"$results/gpu_fleet.txt"
}

ranks() {
    write_rank_script
    export gpus scratch cores
    [ "$EUID" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container, for example
    echo "ranks,other_cores,seconds" >"$results/gpu_fleet_ranks.csv"
    on_ranks 1 idle && on_ranks "$ranks_wanted" idle || return
    start_neighbours
    on_ranks 1 busy
    stop_neighbours || problem "autotune --arch on another part of the cores" "$scratch/err-1"
    echo "parts_of_the_cores,seconds" >"$results/gpu_fleet_host.csv"
    host_compiles 1 && host_compiles "$ranks_wanted"
}

with_ranks=
for part in $parts; do
    case $part in
    speed | winners) $part ;;
    ranks)
        if command -v mpirun >/dev/null && [ -x "$build/autotune-mpi" ]; then
            with_ranks=1
            ranks
        else
            echo "skipped: ranks; there is no mpirun or no $build/autotune-mpi"
        fi
        ;;
    esac
done

# --- the end ---
# seconds_on ROW TABLE: what the table says in the row that begins so; nothing if that run failed
seconds_on() {
    [ -e "$results/$2" ] && awk -F, -v row="$1," 'index($0, row) == 1 { print $NF }' "$results/$2"
}

median_s=$([ -e "$scratch/sweeps" ] && sort -n "$scratch/sweeps" | awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }')
good=$([ -s "$results/gpu_fleet_regret.csv" ] && awk -F, 'NR > 1 && $5 <= 1 { n++ } END { print n + 0 }' "$results/gpu_fleet_regret.csv")
echo
[ -e "$results/gpu_fleet.txt" ] && cat "$results/gpu_fleet.txt" && echo
awk -v one="$(seconds_on 1 gpu_fleet.csv)" -v all="$(seconds_on "$count" gpu_fleet.csv)" -v gpus="$count" \
    -v variants="${blocks:+$((4 * blocks))}" -v good="$good" -v sweeps="$sweeps" -v median="$median_s" -v parts=" $parts " \
    -v ranks="$with_ranks" -v rank="$(seconds_on 1,idle gpu_fleet_ranks.csv)" -v cores="$cores" \
    -v busy="$(seconds_on 1,busy gpu_fleet_ranks.csv)" \
    -v wanted="$ranks_wanted" -v every="$(seconds_on "$ranks_wanted" gpu_fleet_ranks.csv)" \
    -v host_one="$(seconds_on 1 gpu_fleet_host.csv)" -v host_all="$(seconds_on "$ranks_wanted" gpu_fleet_host.csv)" '
function figure(value, format) { return value == "" ? "-" : sprintf(format, value) }
function line(what, target, measured, word) { printf "%-44s %10s %10s  %s\n", what, target, measured, word }
function ratio(one, other) { return one != "" && other != "" ? one / other : "" }
# times_as_fast ONE ALL COUNT: a line, and whether the target was reached
function times_as_fast(one, all, count,   gain, word) {
    gain = ratio(one, all)
    word = gain == "" ? "FAILED" : gain >= 0.9 * count ? "reached" : "MISSED"
    line("times as fast", sprintf(">= %.2f", 0.9 * count), figure(gain, "%.2f"), word)
    return word == "reached"
}
BEGIN {
    line("what", "target", "measured", "")
    if (index(parts, " speed ")) {
        line(variants " variants on one GPU", "", figure(one, "%.1f s"), "")
        line(variants " variants on " gpus " GPUs", "", figure(all, "%.1f s"), "")
        missed += !times_as_fast(one, all, gpus)
    }
    if (index(parts, " winners ")) {
        least = int(0.95 * sweeps)
        word = good == "" ? "FAILED" : good + 0 >= least ? "reached" : "MISSED"
        line("504 variants: winners with regret <= 1 %", ">= " least "/" sweeps, figure(good, "%d/" sweeps), word)
        line("504 variants on " gpus " GPUs, median", "", figure(median, "%.2f s"), "")
        missed += word != "reached"
    }
    if (ranks) {
        line("compiling on one rank of " cores " cores", "", figure(rank, "%.1f s"), "")
        line("compiling on " wanted " ranks of " cores " cores", "", figure(every, "%.1f s"), "")
        missed += !times_as_fast(rank, every, wanted)
        line("compiling on one rank, the other cores busy", "", figure(busy, "%.1f s"), "")
        line("times as fast as that", "", figure(ratio(busy, every), "%.2f"), "")
        line("what " wanted " parts of the host do without MPI", "", figure(host_one == "" ? "" : ratio(wanted * host_one, host_all), "%.2f"), "")
    }
    exit missed > 0
}'
reached=$?
for text in "${problems[@]}"; do
    printf '\n%s\n' "$text"
done
[ $reached -eq 0 ] && [ ${#problems[@]} -eq 0 ]
