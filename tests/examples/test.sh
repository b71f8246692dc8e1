#!/usr/bin/env bash
# The applications in this folder, as a reader would build them, against an installed autotune:
#     tests/examples/test.sh BUILD build    they build, and say that there is no GPU where there is none
#     tests/examples/test.sh BUILD gpu      tunes their kernel on this machine's GPU, and runs them with it
# Exit status 77 without nvcc, or without a GPU. If BUILD/tests/examples/prefix is there, autotune is installed in it.
set -euo pipefail

usage="usage: test.sh BUILD build|gpu"
build=$(realpath "${1:?$usage}")
part=${2:?$usage}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AUTOTUNE_CACHE=$work/cache AUTOTUNE_LOCK_FOLDER=$work/locks

# shellcheck source=/dev/null
. "$here/../applications.bash"

# An entry as tuning would write it, for the machine without a GPU.
pretend_tuned() {
    local version
    : >"$work/none.ini"
    version=$(cd "$work/saxpy" && autotune explain --kernel saxpy --template kernels/saxpy.ini --tuned "$work/none.ini" --arch sm_90 |
        sed -n 's/^template .*: version //p')
    mkdir "$work/saxpy/results"
    sed "s/@saxpy@/$version/" "$here/tuned.ini.in" >"$work/saxpy/results/tuned.ini"
}

nvcc=$(command -v nvcc || true)
for root in "${CUDA_HOME:-}" /usr/local/cuda; do
    [ -n "$nvcc" ] || [ ! -x "$root/bin/nvcc" ] || nvcc=$root/bin/nvcc
done
[ -n "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
prefix=$build/tests/examples/prefix
[ -d "$prefix" ] || { prefix=$work/prefix && quietly cmake --install "$build" --prefix "$prefix"; }
PATH=$prefix/bin:$(dirname "$nvcc"):$PATH
cp -r "$here/saxpy" "$work"
cd "$work/saxpy"
if [ "$part" = gpu ]; then
    autotune devices >"$work/devices" 2>&1 || { echo "skipped: $(cat "$work/devices")"; exit 77; }
    cp -r "$here/update" "$work"
    (cd "$work/update" && autotune sweep.ini --top 3 | tee "$work/output")
    says "$work/output" '^20 variants of 20 .*: [0-9]* measured\(, [0-9]* duplicate\)*$' # all are right
    autotune sweep.ini --top 3
    choice=(--gpu "$(sed -n 's/^gpu = //p' results/tuned.ini)")
else
    pretend_tuned
    choice=(--gpu "NVIDIA H200")
fi

# kernels that need no compiler, in C
quietly autotune bundle --tuned results/tuned.ini --templates kernels --output bundle
quietly cmake -S c -B "$work/c" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/c"

# kernels that nvcc compiles
quietly autotune export --header --kernel saxpy --n 2^24 "${choice[@]}" --output nvcc/saxpy_tuned.h
quietly nvcc -arch=sm_90 -o "$work/saxpy_nvcc" nvcc/saxpy_app.cu

if [ "$part" = gpu ]; then
    for n in 1 1000 1048576 16777216; do
        "$work/c/saxpy" bundle "$n" | tee "$work/output"
        says "$work/output" "^n = $n: .*from the bundle), 0 elements wrong$"
    done
    "$work/saxpy_nvcc" | tee "$work/output"
    says "$work/output" ', 0 elements wrong$'
    # gpu.sh, part python, also runs this where libraries of ours are missing: from the wheel
    export PYTHONPATH=$here/../../tuner/python LD_LIBRARY_PATH=$prefix/lib:${LD_LIBRARY_PATH:-}
    if python3 -B -c 'import cupy, autotune' 2>/dev/null; then
        python3 -B python/saxpy.py bundle | tee "$work/output"
        says "$work/output" ': 0 elements wrong$'
    fi
else
    says nvcc/saxpy_tuned.h '#define BLOCK_SIZE 128'
    for program in "$work/c/saxpy bundle" "$work/saxpy_nvcc"; do
        if $program >"$work/output" 2>&1; then
            echo "$program found a GPU"
            exit 1
        fi
        says "$work/output" '^saxpy: x: '
    done
fi
