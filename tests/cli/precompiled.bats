#!/usr/bin/env bats
# Precompiled headers, of NVRTC 12.8 and newer.
load helper

no_gpu() {
    export LD_LIBRARY_PATH=$scratch/nothing
}

# The cooperative barrier, for which every variant includes cooperative_groups.h.
cooperative() { # FOLDER BLOCK_SIZES: sweep.ini of the templates there
    cat >sweep.ini <<INI
[sweep]
templates = $1
[grid_barrier]
block_size = $2
barrier = cooperative
INI
}

@test "precompiled headers do not change the result" {
    no_gpu
    case $("$AUTOTUNE" worker compile </dev/null) in
    *'"nvrtc":"12.'[0-7]'"'*) skip "NVRTC before 12.8 has no precompiled headers" ;;
    esac
    cp -r "$SOURCE_DIR/kernel_templates" plain
    sed -i '1i #include <cooperative_groups.h>' plain/grid_barrier.cu # only what comes first is precompiled
    cp -r plain precompiled
    printf '\n[precompiled_headers]\ncooperative_groups.h = barrier == "cooperative"\n' >>precompiled/grid_barrier.ini
    for kind in plain precompiled; do
        cooperative $kind "32..128 step 32"
        export AUTOTUNE_CACHE=$scratch/cache-$kind
        expect 0 --config sweep.ini --arch sm_90 --format csv --jobs 1 --results "results-$kind"
        equal "$(count outcome compiled)" 4
        mv out "$kind.csv"
    done
    diff plain.csv precompiled.csv
    [ -z "$(find "$scratch" -name pch)" ]
}

@test "with precompiled headers, errors are at their lines" {
    no_gpu
    cp -r "$SOURCE_DIR/kernel_templates" broken
    sed -i '1i #include <cooperative_groups.h>' broken/grid_barrier.cu
    printf '\n[precompiled_headers]\ncooperative_groups.h = yes\n' >>broken/grid_barrier.ini
    sed -i 's/cooperative_groups::this_grid().sync();/cooperative_groups::this_grid().sink();/' broken/barriers.cuh
    line=$(grep -n 'this_grid().sink' broken/barriers.cuh | cut -d: -f1)
    cooperative broken "32, 64"
    expect 1 --config sweep.ini --arch sm_90 --format csv --jobs 1
    equal "$(count outcome compile_error)" 2
    equal "$(column reason | grep -cF "barriers.cuh($line): error")" 2
}
