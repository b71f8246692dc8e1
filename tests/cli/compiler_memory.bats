#!/usr/bin/env bats
# A compiler that eats memory. Not under sanitizers, which reserve more than the limit.
load helper

@test "a compiler without memory: the variant is refused with the reason, and the run ends" {
    ! grep -qE '__(asan|tsan)_init' "$AUTOTUNE" || skip "sanitizers reserve more memory than the limit"
    cp "$sweeps/templates/scale.cu" own.cu
    cp "$sweeps/templates/scale.ini" own.ini
    cat >>own.cu <<'CUDA'
#if BLOCK_SIZE == 64
__device__ int enormous[1 << 26] = {1};
#endif
CUDA
    printf '[own]\nn = 2^10\nblock_size = 64, 128\n' >sweep.ini
    export AUTOTUNE_COMPILE_MEMORY_MB=400
    autotune --config sweep.ini --format csv
    exits 0
    equal "$(count outcome compile_error)" 1
    has out "memory"
    equal "$(count outcome measured)" 1
    none_alive
}
