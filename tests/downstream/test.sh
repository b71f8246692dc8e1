#!/usr/bin/env bash
# The application in this folder, built against an installed autotune, does what it should:
#     tests/downstream/test.sh BUILD lookup           through CMake, with archives and without, and through pkg-config;
#                                                     what needs no GPU
#     tests/downstream/test.sh BUILD gpu [RESULTS]    BUILD/tests/downstream/sum on this machine's GPU; exit status 77
#                                                     where there is none. RESULTS gets downstream.txt
#     tests/downstream/test.sh BUILD standin          the same with the stand-in driver, from a copy of what it needs
# gpu needs of BUILD only autotune and tests/downstream, wherever that lies, and no compiler of C.
set -euo pipefail

usage="usage: test.sh BUILD lookup|gpu|standin [RESULTS]"
build=$(realpath "${1:?$usage}")
part=${2:?$usage}
here=$(realpath "$(dirname "$0")")
templates=$(realpath "$here/../../kernel_templates")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AUTOTUNE_CACHE=$work/cache AUTOTUNE_LOCK_FOLDER=$work/locks

# shellcheck source=/dev/null
. "$here/../applications.bash"

# -- the look-up, built every way -----------------------------------------------------------------

# version TEMPLATE: its hash, as explain prints it
version() {
    : >"$work/none.ini"
    "$prefix/bin/autotune" explain --kernel "$1" --template "$templates/$1.ini" --tuned "$work/none.ini" --arch sm_90 |
        sed -n 's/^template .*: version //p'
}

# shared_libraries PROGRAM: those that it asks for by itself
shared_libraries() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

test_lookup() {
    prefix=$work/prefix
    quietly cmake --install "$build" --prefix "$prefix"
    quietly cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
    quietly cmake --build "$work/cmake"
    quietly cmake -S "$here" -B "$work/static" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release -DSTATIC=ON
    quietly cmake --build "$work/static"
    mkdir "$work/make"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tuned.pc)") quietly make -C "$here" OUTPUT="$work/make"
    sed -e "s/@reduce_sum@/$(version reduce_sum)/" -e "s/@grid_barrier@/$(version grid_barrier)/" \
        "$here/tuned.ini.in" >"$work/tuned.ini"
    "$prefix/bin/autotune" bundle --tuned "$work/tuned.ini" --templates "$templates" --output "$work/bundle" \
        --kernel reduce_sum --kernel grid_barrier
    for way in cmake static make; do
        "$work/$way/lookup" "$work/bundle" | tee "$work/output"
        says "$work/output" "reduce_sum for n=5000000 .*same GPU, nearest size"
        says "$work/output" "Unheard-of: defaults of the template"
        "$work/$way/lookup_cpp" "$work/bundle" >"$work/output"
        says "$work/output" "^same GPU, nearest size: 512$"
    done
    # what was installed finds its templates wherever it is moved
    mkdir "$work/moved"
    mv "$prefix/bin" "$prefix/share" "$work/moved"
    (cd "$work" && moved/bin/autotune emit --kernel reduce_sum >"$work/output")
    says "$work/output" '^#line 1 ".*/moved/share/autotune/kernel_templates/reduce.cu"'
    for program in cmake/sum make/sum make/lookup_cpp; do
        shared_libraries "$work/$program" >"$work/output"
        says "$work/output" '^libtuned_kernel\.so\.[0-9]*$'
    done
    is_self_contained "$work/static/sum"
    is_self_contained "$work/static/lookup"
    test_documents
}

# What README's sections Install and Ship and docs/shipping.md type, in the folder of README's first kernel, with a result
# as tuning would write it, and another one to merge.
test_documents() {
    local documents=$here/../.. version
    cp -r "$documents/tests/examples/saxpy" "$work/folder"
    cd "$work/folder"
    ln -s "$build" build
    mkdir results other
    HOME=$work bash -euc "$(commands README.md Install | grep '^cmake --install')" >"$work/output"
    PATH=$work/.local/bin:$PATH
    version=$(autotune explain --kernel saxpy --template kernels/saxpy.ini --tuned "$work/none.ini" --arch sm_90 |
        sed -n 's/^template .*: version //p')
    sed "s/@saxpy@/$version/" "$documents/tests/examples/tuned.ini.in" >results/tuned.ini
    cp results/tuned.ini other
    sed -n '\|^/\* which.c \*/|,/^```/p' "$documents/docs/shipping.md" | grep -v '^```' >which.c
    { commands README.md Ship && commands docs/shipping.md; } >"$work/typed"
    [ "$(wc -l <"$work/typed")" -ge 9 ]
    HOME=$work bash -euxc '. "$HOME/typed"' >"$work/output" 2>&1 || { cat "$work/output"; return 1; }
    says "$work/output" '^blocks of 128 (same GPU, nearest size)$'
    [ "$(grep -c '^median_ns' tuned.ini)" -eq 1 ]
    [ -s bundle/tuned.ini ]
    says saxpy_tuned.h SAXPY
    cd - >/dev/null
}

# commands DOCUMENT [SECTION]: what its blocks of sh hold, or those of the section alone
commands() {
    awk -v heading="${2:+## $2}" '
        /^## / { section = ($0 == heading) }
        /^```/ { inside = (!inside && $0 == "```sh"); next }
        (section || heading == "") && inside' "$here/../../$1"
}

# is_self_contained PROGRAM: it asks for libc's own libraries alone, and looks for them in no other folder
is_self_contained() {
    if shared_libraries "$1" | grep -v -e '^libc\.so' -e '^libm\.so' -e '^libdl\.so' -e '^libpthread\.so' -e '^ld-linux'; then
        echo "$1 needs these"
        return 1
    fi
    if readelf -d "$1" | grep -e RPATH -e RUNPATH; then
        return 1
    fi
}

# -- the sums -------------------------------------------------------------------------------------

# tune LOW HIGH: a cover of reduce_sum for this range, and grid_barrier
tune() {
    local kernels=(--kernel grid_barrier) blocks="256, 512, 1024" loads="2, 4, 8"
    [ "$part" = gpu ] || blocks="256, 512" loads=4 # the stand-in's time is the same for all
    cat >"$work/sweep.ini" <<INI
[sweep]
templates = $templates
[reduce_sum]
cover = n = $1 .. $2
cover_configurations = 2
block_size = $blocks
num_load = $loads
load = once
finish = last_block, gather
[grid_barrier]
test = latency
block_size = 256
barrier = lock, cooperative
INI
    if [ "$part" = gpu ]; then
        kernels+=(--kernel sgemm)
        cat >>"$work/sweep.ini" <<INI
[sgemm]
(m, n, k) = (64, 64, 64)
method = naive, tiled
INI
    fi
    "$build/autotune" --config "$work/sweep.ini" --results "$work/results" --tuned "$work/tuned.ini" \
        --quiet --top 1 "${kernels[@]}" >"$work/tables"
    "$build/autotune" cover --config "$work/sweep.ini" --results "$work/results" --tuned "$work/tuned.ini" \
        --quiet >"$work/cover"
}

# sum_without_compiler ARGUMENT…: the application with NVRTC out of its reach, and an empty cache
sum_without_compiler() {
    AUTOTUNE_NVRTC=$work/nowhere/libnvrtc.so AUTOTUNE_CACHE=$work/empty "$build/tests/downstream/sum" "$@"
}

# test_sums RESULTS SIZE…: the first and the last size are the ends of the cover's range, which are measured
test_sums() {
    local results=$1 status=0
    shift
    tune "$1" "${!#}"
    "$build/autotune" bundle --tuned "$work/tuned.ini" --templates "$templates" --output "$work/bundle" \
        --source "$here/kernels.cu=grid_barrier"
    sum_without_compiler "$work/bundle" "$here/kernels.cu" "$@" >"$work/sums" || status=$?
    tee "$results/downstream.txt" <"$work/sums"
    [ "$status" -eq 0 ] || return "$status"
    # at every size, by the cover's rule, without a compiler; as fast as the tuner measured, where it did
    [ "$(grep -c '^sum of [0-9]*: .*(same GPU, in the range of a cover, from the bundle)$' "$work/sums")" -eq $# ]
    [ "$(grep -c '^sum of [0-9]*: .*the tuner said .*' "$work/sums")" -ge 2 ]
    says "$work/sums" '^own kernels: .*, from the bundle$'
    [ "$part" != gpu ] || [ "$(grep -c '^product with alpha=.* 0 elements wrong$' "$work/sums")" -eq 2 ]

    # that NVRTC is hidden shows where it is needed: without the binaries, and for one of them alone
    cp -r "$work/bundle" "$work/without"
    rm "$work"/without/cubin/reduce_sum-*.cubin
    if sum_without_compiler "$work/without" "$here/kernels.cu" "$@" >"$work/output" 2>&1; then
        echo "a bundle without binaries needed no compiler"
        return 1
    fi
    says "$work/output" "AUTOTUNE_NVRTC"
    [ ! -e "$work/empty" ] # nothing was compiled and kept
}

test_gpu() {
    if ! "$build/autotune" devices >"$work/devices" 2>&1; then
        echo "skipped: $(cat "$work/devices")"
        exit 77
    fi
    if [ ! -x "$build/tests/downstream/sum" ]; then
        echo "no '$build/tests/downstream/sum': build it where there is a compiler, without sanitizers"
        return 1
    fi
    mkdir -p "${1:-$work/kept}"
    # large enough that the tuner times single runs (from 10 us on), as the application does
    test_sums "${1:-$work/kept}" 16777216 16777217 20000000 31415926 50331648 67108864 99999999 123456789 200000000 \
        268435456
}

# From a copy elsewhere, with the stand-in; and it must be noticed where the reduction takes longer than it did.
test_standin() {
    mkdir -p "$work/elsewhere/tests"
    cp "$build/autotune" "$work/elsewhere"
    cp -r "$build/tests/downstream" "$build/tests/standin" "$work/elsewhere/tests"
    build=$work/elsewhere
    is_self_contained "$build/tests/downstream/sum"
    export LD_LIBRARY_PATH=$build/tests/standin AUTOTUNE_STANDIN=noise=0.002
    test_sums "$work" 65536 65537 70000 90001 98304 131072 150000 180001 200000 262144
    if AUTOTUNE_STANDIN=noise=0.002,time.reduce=20000 sum_without_compiler "$work/bundle" "$here/kernels.cu" 65536 \
        >"$work/output"; then
        echo "a reduction of twice the time was not noticed"
        return 1
    fi
    says "$work/output" "SLOWER than the tuner said"
}

case $part in
lookup) test_lookup ;;
gpu) test_gpu "${@:3}" ;;
standin) test_standin ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
