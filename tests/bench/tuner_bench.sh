#!/usr/bin/env bash
# Measures how fast the tuner is, and how often its winner is truly the fastest, on this machine's GPU:
#     tests/bench/tuner_bench.sh BUILD RESULTS
# Speed: times configs/bench_num_load.ini (504 variants) with an empty cubin cache, with a warm one, and with nothing to
# do, for 1 to 16 compile workers. Writes RESULTS/<gpu>/bench/tuner_bench.csv: tuned_s is the time from the start of the process
# until the tuned INI is on disk, wall_s until the process ends. Also runs compile_bench.sh.
# Winners: runs 20 sweeps, measures every variant exhaustively, and compares. The exhaustive measurement pools 5
# processes, because what differs between processes, such as the addresses of buffers, may change times. Each process takes 23
# interleaved rounds of 3 cold samples, 345 samples per variant in all. Writes RESULTS/<gpu>/bench/tuner_regret.csv.
# Also times Kernel Tuner if python3 has it (tuner_bench_kernel_tuner.py), and KTT if KTT_BENCH is the path of the program
# that tuner_bench_ktt.sh built.
# Environment: SWEEPS (20; if 0, only the speed is measured), TRUTHS (5), ROUNDS (23), JOBS ("16 8 4 2 1"), KTT_BENCH, KEEP,
# a folder to copy the studies to, SOURCE, the project of BUILD (this one), and COMMIT (see commit.sh).
set -eu

build=$(realpath "${1:?usage: tests/bench/tuner_bench.sh BUILD RESULTS}")
results=${2:?usage: tests/bench/tuner_bench.sh BUILD RESULTS}
here=$(realpath "$(dirname "$0")")
source=$(realpath "${SOURCE:-$here/../..}")
commit=$("$here/commit.sh" "$source")
sweeps=${SWEEPS:-20}
truths=${TRUTHS:-5}
rounds=${ROUNDS:-23}
mkdir -p "$results"
results=$(realpath "$results")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$source"

gpu=$("$here/gpu_folder.sh" "$build")
mkdir -p "$results/$gpu/bench"
export AUTOTUNE_CACHE=$scratch/cache

sweep() { # FOLDER OPTION…
    timeout 300 "$build/autotune" --config configs/bench_num_load.ini --results "$1" --tuned "$1/tuned.ini" \
        --quiet --top 3 "${@:2}" >"$scratch/out"
}

timed() { # JOBS CACHE COMMAND…: prints one line of the CSV
    local start end
    start=$(date +%s%N)
    "${@:3}" 2>"$scratch/timings" || { cat "$scratch/timings" >&2 && return 1; }
    end=$(date +%s%N)
    tuned=$(date -r "$scratch/r/tuned.ini" +%s%N)
    [ "$tuned" -gt "$start" ] || tuned=$end # nothing to do
    python3 "$here/tuner_bench.py" line "$1" "$2" $((end - start)) $((tuned - start)) "$scratch/timings" "$commit"
}

bench=$results/$gpu/bench/tuner_bench.csv
python3 "$here/tuner_bench.py" header >"$bench"
for jobs in ${JOBS:-16 8 4 2 1}; do
    [ "$jobs" -le "$(nproc)" ] || continue
    rm -rf "$AUTOTUNE_CACHE" "$scratch/r"
    timed "$jobs" empty sweep "$scratch/r" --timings --jobs "$jobs" >>"$bench"
    rm -rf "$scratch/r"
    timed "$jobs" warm sweep "$scratch/r" --timings --jobs "$jobs" >>"$bench"
    timed "$jobs" unchanged sweep "$scratch/r" --timings --jobs "$jobs" >>"$bench"
done
column -s, -t "$bench" 2>/dev/null || cat "$bench"

SOURCE=$source COMMIT=$commit "$here/compile_bench.sh" "$build" >"$results/$gpu/bench/compile_bench.csv"
cat "$results/$gpu/bench/compile_bench.csv"

[ "$sweeps" -gt 0 ] || exit 0
for i in $(seq "$sweeps"); do
    sweep "$scratch/sweep-$i"
    "$build/autotune" report --results "$scratch/sweep-$i" --format json >"$scratch/sweep-$i.json"
done
for i in $(seq "$truths"); do
    sweep "$scratch/truth-$i" --exhaustive "$rounds"
    "$build/autotune" report --results "$scratch/truth-$i" --format json >"$scratch/truth-$i.json"
done
if [ -n "${KEEP:-}" ]; then
    cp "$scratch"/truth-*.json "$scratch"/sweep-*.json "$KEEP"
fi
python3 "$here/tuner_bench.py" pool "$scratch"/truth-*.json >"$scratch/truth.json"
python3 "$here/tuner_bench.py" regret "$scratch/truth.json" "$scratch"/sweep-*.json >"$results/$gpu/bench/tuner_regret.csv"
python3 "$here/tuner_bench.py" summary "$results/$gpu/bench/tuner_regret.csv"

if python3 -c 'import kernel_tuner' 2>/dev/null; then
    python3 "$here/tuner_bench_kernel_tuner.py" "$scratch/truth.json" >"$results/$gpu/bench/kernel_tuner.csv"
    cat "$results/$gpu/bench/kernel_tuner.csv"
else
    echo "skipping Kernel Tuner: python3 has no module kernel_tuner (pip install kernel_tuner cupy-cuda13x)"
fi

# Runs KTT with autotune's NVRTC and an empty driver cache.
ktt() { # RUN [verified]
    CUDA_CACHE_PATH=$scratch/cuda-cache-$1 LD_LIBRARY_PATH=$nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        timeout 300 "$KTT_BENCH" "$@" || echo "KTT failed in run $1" >&2
}

if [ -n "${KTT_BENCH:-}" ]; then
    nvrtc=$(dirname "$("$build/autotune" worker compile </dev/null | sed -n 's/.*"path":"\([^"]*\)".*/\1/p')")
    { ktt 1 && ktt 2 && ktt 3 && ktt 4 verified; } | python3 "$here/tuner_bench.py" peer "$scratch/truth.json" >"$results/$gpu/bench/ktt.csv"
    cat "$results/$gpu/bench/ktt.csv"
else
    echo "skipping KTT: build it with tests/bench/tuner_bench_ktt.sh and set KTT_BENCH to the program's path"
fi
