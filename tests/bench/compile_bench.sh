#!/usr/bin/env bash
# Measures how fast variants compile with an empty cache. Needs no GPU.
#     tests/bench/compile_bench.sh BUILD [JOBS [ARCH]] >compile_bench.csv
# Compiles the 126 kernels of configs/bench_num_load.ini, which include no toolkit header, and the 252 of cooperative.ini,
# which include cooperative_groups.h. The time is that of the whole process; cpu_ms is the CPU time of all its processes
# per kernel, which depends less on what else the machine does.
# Environment: SOURCE, the project of BUILD (this one), and COMMIT (see commit.sh).
set -eu

build=$(realpath "${1:?usage: tests/bench/compile_bench.sh BUILD [JOBS [ARCH]]}")
jobs=${2:-$(nproc)}
arch=${3:-sm_90}
here=$(realpath "$(dirname "$0")")
source=$(realpath "${SOURCE:-$here/../..}")
commit=$("$here/commit.sh" "$source")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
allow_path=()
if "$build/autotune" tune --help | grep -q -- --allow-path; then # an old version, which otherwise refuses ../../kernel_templates
    allow_path=(--allow-path)
fi

timed() { # HEADERS SWEEP: prints one line of the CSV
    local cpu kernels
    rm -rf "$scratch/cache" "$scratch/results"
    TIMEFORMAT='%R %U %S'
    cpu=$({
        time AUTOTUNE_CACHE=$scratch/cache timeout 300 "$build/autotune" --config "$2" "${allow_path[@]}" \
            --results "$scratch/results" --quiet --arch "$arch" --jobs "$jobs" --format csv >"$scratch/out" 2>"$scratch/err"
    } 2>&1) || { cat "$scratch/err" >&2 && exit 1; }
    kernels=$(find "$scratch/cache/cubin" -type f | wc -l)
    awk -v jobs="$jobs" -v headers="$1" -v kernels="$kernels" -v commit="$commit" \
        '{ printf "%d,%s,%d,%.2f,%.0f,%.1f,%s\n",
               jobs, headers, kernels, $1, kernels / $1, ($2 + $3) * 1000 / kernels, commit }' <<<"$cpu"
}

echo "jobs,headers,kernels,wall_s,kernels_per_s,cpu_ms,commit"
timed none "$source/configs/bench_num_load.ini"
timed cooperative_groups "$source/tests/bench/cooperative.ini"
