#!/usr/bin/env bash
# Measures how fast variants compile with an empty cache. Needs no GPU.
#     tests/bench/compile_bench.sh BUILD [JOBS [ARCH]] >compile_bench.csv
# Compiles the 126 kernels of configs/bench_num_load.ini, which include no toolkit header, and the 252 of cooperative.ini,
# which include cooperative_groups.h, with and without a precompiled header. The time is that of the whole process and
# includes precompiling the header in each worker.
set -eu

build=$(realpath "${1:?usage: tests/bench/compile_bench.sh BUILD [JOBS [ARCH]]}")
jobs=${2:-$(nproc)}
arch=${3:-sm_90}
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

timed() { # HEADERS SWEEP: prints one line of the CSV
    local start end kernels
    rm -rf "$scratch/cache" "$scratch/results"
    start=$(date +%s%N)
    AUTOTUNE_CACHE=$scratch/cache "$build/autotune" --config "$2" --results "$scratch/results" --quiet \
        --arch "$arch" --jobs "$jobs" --format csv >"$scratch/out"
    end=$(date +%s%N)
    kernels=$(find "$scratch/cache/cubin" -type f | wc -l)
    awk -v jobs="$jobs" -v headers="$1" -v kernels="$kernels" -v ns=$((end - start)) \
        'BEGIN { printf "%d,%s,%d,%.2f,%.0f\n", jobs, headers, kernels, ns / 1e9, kernels * 1e9 / ns }'
}

cp -r "$here/../../kernel_templates" "$scratch"
sed -i '/^\[precompiled_headers\]/,/^$/d' "$scratch"/kernel_templates/*.ini
sed "s|^templates = .*|templates = $scratch/kernel_templates|" "$here/cooperative.ini" >"$scratch/plain.ini"

echo "jobs,headers,kernels,wall_s,kernels_per_s"
timed none "$here/../../configs/bench_num_load.ini"
timed precompiled "$here/cooperative.ini"
timed included "$scratch/plain.ini"
