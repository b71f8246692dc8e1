#!/usr/bin/env bash
# Installs autotune, builds the application against it through CMake and through pkg-config, and runs it:
#     tests/downstream/test.sh BUILD lookup               what needs no GPU
#     tests/downstream/test.sh BUILD gpu [TUNED_INI]      the sums; exit status 77 where there is no GPU
# TUNED_INI is of a sweep of reduce_sum and grid_barrier on this machine; the one here is an H200's.
set -euo pipefail

build=$(realpath "${1:?usage: test.sh BUILD lookup|gpu [TUNED_INI]}")
part=${2:?usage: test.sh BUILD lookup|gpu [TUNED_INI]}
here=$(realpath "$(dirname "$0")")
templates=$(realpath "$here/../../kernel_templates")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AUTOTUNE_CACHE=$work/cache
prefix=$work/prefix

# quietly COMMAND…: its output is shown where it fails
quietly() {
    "$@" >"$work/output" 2>&1 || { cat "$work/output"; return 1; }
}

# version TEMPLATE: its hash, as explain prints it
version() {
    : >"$work/none.ini"
    "$prefix/bin/autotune" explain --kernel "$1" --template "$templates/$1.ini" --tuned "$work/none.ini" --arch sm_90 |
        sed -n 's/^template .*: version //p'
}

quietly cmake --install "$build" --prefix "$prefix"
pkgconfig=$(dirname "$(find "$prefix" -name tuned.pc)")

quietly cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/cmake"
mkdir "$work/make"
PKG_CONFIG_PATH=$pkgconfig quietly make -C "$here" OUTPUT="$work/make"

if [ $# -gt 2 ]; then
    cp "$3" "$work/tuned.ini"
else
    sed -e "s/@reduce_sum@/$(version reduce_sum)/" -e "s/@grid_barrier@/$(version grid_barrier)/" \
        "$here/tuned.ini.in" >"$work/tuned.ini"
fi
"$prefix/bin/autotune" bundle --tuned "$work/tuned.ini" --templates "$templates" --output "$work/bundle" \
    --kernel reduce_sum --kernel grid_barrier

for way in cmake make; do
    if [ "$part" = lookup ]; then
        "$work/$way/lookup" "$work/bundle" | tee "$work/output"
        grep -q "reduce_sum for n=5000000 .*same GPU, nearest size" "$work/output"
        grep -q "Unheard-of: defaults of the template" "$work/output"
        continue
    fi
    "$work/$way/sum" "$work/bundle" "$here/two_phase.cu" | tee "$work/output"
    # the application's own kernel was compiled by the first run; from then on nothing needs NVRTC
    AUTOTUNE_NVRTC=$work/nowhere "$work/$way/sum" "$work/bundle" "$here/two_phase.cu" >"$work/output"
    grep -q "^reduction: .* from the bundle" "$work/output"
    grep -q "^barrier: .* from the cache" "$work/output"
done
