#!/usr/bin/env bash
# Compares two commits on this machine's GPU: the speed of the tuner and the compiler, and of the kernels against their peers.
#     tests/bench/versions.sh BUILD RESULTS OLD_BUILD [OLD_SOURCE]
# OLD_BUILD is a build of the older commit, and OLD_SOURCE its project, by default the one that OLD_BUILD/CMakeCache.txt names.
# Each binary gets the sweeps, kernel templates and tuned INI of its own project, and its kernels are compared with their peers
# by its own peers.py. The tuner and the compiler are timed by this project's tuner_bench.sh, the two commits in turn.
# Writes RESULTS/<gpu>/bench/{tuner_bench,compile_bench,peers}.csv with the rows of both commits, medians if there
# are several runs, and prints the ratios. Needs nvcc. Exit status: 77 without a GPU, 1 if a part failed.
# Environment: JOBS ("16 16 16 16 16 1"), the compile workers of each pair of runs of the tuner; COMMIT and OLD_COMMIT, the
# names of the commits if git does not know them (see commit.sh).
set -eu

usage='usage: tests/bench/versions.sh BUILD RESULTS OLD_BUILD [OLD_SOURCE]'
build=$(realpath "${1:?$usage}")
results=${2:?$usage}
old_build=$(realpath "${3:?$usage}")
old_source=$(realpath "${4:-$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$old_build/CMakeCache.txt")}")
here=$(realpath "$(dirname "$0")")
source=$(realpath "$here/../..")
commit=$("$here/commit.sh" "$source")
old_commit=$(COMMIT=${OLD_COMMIT:-} "$here/commit.sh" "$old_source")
if [ "$commit" = "$old_commit" ]; then
    echo "versions.sh: both commits are '$commit'; set COMMIT and OLD_COMMIT" >&2
    exit 2
fi
gpu=$("$here/gpu_folder.sh" "$build")
[ -n "$gpu" ] || exit 77
mkdir -p "$results/$gpu/bench"
results=$(realpath "$results")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

try() { # NAME COMMAND…
    local begin=$SECONDS word=ok
    "${@:2}" >"$scratch/log" 2>&1 || { word=FAILED failed=1 && tail -n 20 "$scratch/log"; }
    echo "$word $1 ($((SECONDS - begin)) s)"
}

tuner() { # old|new BUILD SOURCE COMMIT PAIR JOBS
    try "tuner, $1, $6 workers" env SOURCE="$3" COMMIT="$4" SWEEPS=0 JOBS="$6" \
        "$here/tuner_bench.sh" "$2" "$scratch/$1/pair-$5"
}

peers() { # old|new BUILD SOURCE COMMIT
    local folder=published
    [ -e "$3/published" ] || folder=results # in older ones
    local options=(--tuned "$3/$folder/tuned.ini" --results "$scratch/$1/peers" --build "$scratch/build-$1")
    if grep -q -- --autotune "$3/tests/bench/peers.py"; then # older ones compile with nvcc alone
        options+=(--autotune "$2/autotune")
    fi
    try "peers, $1" env COMMIT="$4" timeout 240 python3 "$3/tests/bench/peers.py" "${options[@]}"
}

pair=0
for jobs in ${JOBS:-16 16 16 16 16 1}; do
    pair=$((pair + 1))
    tuner old "$old_build" "$old_source" "$old_commit" $pair "$jobs"
    tuner new "$build" "$source" "$commit" $pair "$jobs"
done
peers old "$old_build" "$old_source" "$old_commit"
peers new "$build" "$source" "$commit"
python3 "$here/versions.py" "$scratch" "$results/$gpu/bench" "$old_commit" "$commit"
exit $failed
