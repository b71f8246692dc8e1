#!/usr/bin/env bats
# A compiler that eats memory. Not under sanitizers, which reserve more than the limit.
load helper

# own: a template `own`, whose source has what standard input says if block_size = 64
own() {
    cp "$sweeps/templates/scale.cu" own.cu
    cp "$sweeps/templates/scale.ini" own.ini
    { echo '#if BLOCK_SIZE == 64' && cat && echo '#endif'; } >>own.cu
}

@test "a compiler without memory: the variant is refused with the reason, and the run ends" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers reserve more memory than the limit"
    own <<'CUDA'
__device__ int enormous[1 << 26] = {1};
CUDA
    printf '[own]\nn = 2^10\nblock_size = 64, 128\n' >sweep.ini
    export AUTOTUNE_COMPILE_MEMORY_MB=400
    expect 0 --config sweep.ini --format csv
    equal "$(count outcome compile_error)" 1
    has out "memory"
    equal "$(count outcome measured)" 1
    none_alive
}

@test "a higher limit: what the compiler had no memory for is tried again, whichever part of it failed" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers reserve more memory than the limit"
    printf '[own]\nn = 2^10\nblock_size = 64, 128\n' >sweep.ini
    own <<'CUDA' # more than the front end has memory for
#define A 1+1+1+1+1+1+1+1
#define B A+A+A+A+A+A+A+A+A+A
#define C B+B+B+B+B+B+B+B+B+B
#define D C+C+C+C+C+C+C+C+C+C
#define E D+D+D+D+D+D+D+D+D+D
#define F E+E+E+E+E+E+E+E+E+E
__device__ int one = (F) > 0;
CUDA
    for limit in 250 270; do
        export AUTOTUNE_COMPILE_MEMORY_MB=$limit
        expect 0 --config sweep.ini --format csv
        lacks err "nothing to do"
        equal "$(count outcome compile_error)" 1
        has out "the compiler ran out of memory"
        fails grep -r "out of memory" cache/cubin # the source is not to blame
        nothing_to_do --config sweep.ini
    done
}
