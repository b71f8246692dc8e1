#!/usr/bin/env bats
# What [kernel] says to the compiler for each variant: options with expressions, register limits, features of one
# architecture alone.
shared_cubins=yes
load helper

# own LINE…: a template `own` of the source of `scale`, with these lines in [kernel], and a sweep of it
own() {
    {
        sed -n 1p "$sweeps/templates/scale.ini"
        printf '%s\n' "$@"
        sed '1d;/^constraint = mode/d' "$sweeps/templates/scale.ini"
    } | sed 's/^\[problem\]/[launch_parameters]\ncap = 0\n\n&/' | template own
    printf '[sweep]\ntuned = t.ini\nresults = r\n[own]\nn = 2^10\n' >sweep.ini
}

@test "a register limit is an expression, and each of its values another variant" {
    own "max_registers = num_load > 1 ? cap : 0"
    sed -i 's/__launch_bounds__(BLOCK_SIZE)//' own.cu # which would decide instead
    printf '%s\n' "num_load = 16" "cap = 0, 24, 28" >>sweep.ini
    expect 0 --config sweep.ini --arch sm_90 --format csv
    paste -d' ' <(column cap) <(column registers) | sort -n >rows
    awk '$1 == 0 && $2 <= 28 || $1 > 0 && $2 > $1 { exit 1 }' rows
    equal "$(wc -l <rows)" 3
    # and on the GPU, where twins would be left out
    measures 3 --config sweep.ini
}

@test "an option's value is an expression, also of ptxas, and with blanks" {
    own "options = -lineinfo -Xptxas=--opt-level={cap > 0 ? 0 : 3} --fmad={mode == \"good\" ? \"true\" : \"false\"}"
    for cap in 0 1; do
        expect 0 emit --kernel own --templates . --set cap=$cap --cubin --output $cap.cubin
    done
    fails cmp 0.cubin 1.cubin
    echo "cap = 0, 1" >>sweep.ini
    measures 2 --config sweep.ini
}

@test "an expression can complete neither an option's name nor one that writes files" {
    while IFS='|' read -r option message; do
        own "options = -lineinfo $option"
        expect 2 check --config sweep.ini
        has err "own.ini:2" "$message"
    done <<'END'
--{mode}=x|must end with one {expression}
--ti{mode}|only what follows the '=' can be an {expression}
-Xptxas={mode}|only what follows the '=' can be an {expression}
--ptxas-options={mode}|only what follows the '=' can be an {expression}
-Xptxas {mode}|only what follows the '=' can be an {expression}
{mode}|only what follows the '=' can be an {expression}
--opt-level={cap}{cap}|must end with one {expression}
--time={mode}|makes the compiler write files
-Xptxas=-o={mode}|makes the compiler write files
-Xptxas=--output-file={mode}|makes the compiler write files
--pre-include={mode}|adds headers
--opt-level={cpa}|unknown name 'cpa'
--opt-level={sm_count}|unknown name 'sm_count'
END
}

@test "an expression that fails for one variant makes it invalid; the others are tuned" {
    own "max_registers = 64 // cap"
    sed -i 's/^cap = 0/cap = 1/' own.ini # with which the reference is compiled
    echo "cap = 0, 1, 2" >>sweep.ini
    expect 0 --config sweep.ini --format csv
    paste -d' ' <(column cap) <(column outcome) | sort >outcomes
    has outcomes "0 invalid"
    lacks outcomes "1 invalid" "2 invalid"
    reasons "64 // cap"
    own "max_registers = cap - 1"
    sed -i 's/^cap = 0/cap = 1/' own.ini
    echo "cap = 0" >>sweep.ini
    expect 1 --config sweep.ini --format csv
    reasons "max_registers must be a number of registers, or 0 for no limit"
}

# wgmma: the kernel has an instruction that only sm_90a has, if it is compiled with num_load > 1
wgmma() {
    sed -i '/^scale_good\|    scale_good(/{n;s/.*/{\n#if NUM_LOAD > 1 \&\& defined(__CUDA_ARCH__)\n    asm volatile("wgmma.fence.sync.aligned;");\n#endif/}' own.cu
    grep -q wgmma own.cu
}

@test "features of one architecture are compiled for where the template wants them" {
    own "features = num_load > 1 ? \"architecture\" : \"portable\""
    wgmma
    expect 0 emit --kernel own --templates . --ptx --arch sm_90
    grep -q '^\.target sm_90$' out
    expect 0 emit --kernel own --templates . --set num_load=4 --ptx --arch sm_90
    grep -q '^\.target sm_90a$' out
    autotune emit --kernel own --templates . --set num_load=4 --ptx --arch sm_120
    fails grep -q sm_90a out
    echo "num_load = 1, 4" >>sweep.ini
    measures 2 --config sweep.ini
    # a plain word needs no quotes; and without the features the same source does not compile
    own "features = portable"
    wgmma
    echo "num_load = 1, 4" >>sweep.ini
    autotune --config sweep.ini --format csv
    equal "$(count outcome measured) $(count outcome compile_error)" "1 1"
    own "features = everything"
    expect 2 check --config sweep.ini
    has err own.ini:2 everything
}

@test "an architecture without such features is refused by name, in a sweep and alone" {
    own "features = architecture"
    autotune --config sweep.ini --arch sm_86 --format csv
    equal "$(count outcome compile_error)" 1
    reasons "'features = architecture' needs compute capability 9.0 or newer, not sm_86"
    for kind in --ptx --cubin; do
        expect 2 emit --kernel own --templates . $kind --arch sm_86 --output x
        has err "'features = architecture' needs compute capability 9.0 or newer, not sm_86"
    done
    # the suffix of --arch says the same
    expect 0 emit --kernel own --templates . --ptx --arch sm_90a
    grep -q '^\.target sm_90a$' out
}

@test "a bundle's binary is of the variant's options and features" {
    own "features = architecture" "max_registers = cap"
    echo "cap = 40" >>sweep.ini
    expect 0 --config sweep.ini
    expect 0 bundle --tuned t.ini --templates . --output b
    expect 0 emit --kernel own --templates . --set cap=40 --set n=1024 --cubin --output x
    cmp x b/cubin/own-*.cubin
}

# own_toolkit: an NVRTC and headers in toolkit/, of which the template `own` includes the header <factor.h>
own_toolkit() {
    local library
    library=$("$AUTOTUNE" worker compile </dev/null | sed 's/.*"path":"\([^"]*\)".*/\1/')
    mkdir -p toolkit/lib toolkit/include/cuda/std
    cp "$library" toolkit/lib/compiler.so
    cp "$(dirname "$library")"/libnvrtc-builtins.so.?*.* toolkit/lib
    touch toolkit/include/cooperative_groups.h toolkit/include/cuda/std/version
    echo '#define FACTOR 1' >toolkit/include/factor.h
    export AUTOTUNE_NVRTC=$PWD/toolkit/lib/compiler.so
    own
    sed -i '1i #include <factor.h>' own.cu
    sed -i 's/__launch_bounds__(BLOCK_SIZE)/__launch_bounds__(BLOCK_SIZE, FACTOR)/' own.cu
    expect 0 --config sweep.ini
    nothing_to_do --config sweep.ini
}

@test "a header of the toolkit that finds one in an include folder makes the kernel depend on it" {
    rm -rf cache
    mkdir -p vendor/cuda/std
    own "include = vendor"
    sed -i '1i #include <tuple>' own.cu # which includes <cuda/std/tuple>
    echo 'namespace cuda { namespace std {} }' >vendor/cuda/std/tuple
    expect 0 --config sweep.ini
    nothing_to_do --config sweep.ini
    expect 0 bundle --tuned t.ini --templates . --output b
    [ -n "$(find b -path '*/vendor/cuda/std/tuple')" ]
    echo '#error another header' >vendor/cuda/std/tuple
    expect 2 --config sweep.ini
    has err "another header"
}

@test "any header that the toolkit finds in an include folder counts, with what that one includes" {
    rm -rf cache
    mkdir -p vendor/deep
    own "include = vendor"
    sed -i '1i #include <cuda/std/cstdint>\n#include <cuda/std/type_traits>\n#include <cuda/std/detail/__access_property>' own.cu # CCCL's; it includes <cuda_runtime_api.h>
    sed -i 's/__launch_bounds__(BLOCK_SIZE)/__launch_bounds__(BLOCK_SIZE, FACTOR)/' own.cu
    echo '#include "deep/factor.h"' >vendor/cuda_runtime_api.h
    echo '#define FACTOR 1' >vendor/deep/factor.h
    expect 0 --config sweep.ini
    expect 0 emit --kernel own --templates . --cubin --output 1.cubin
    touch vendor/unrelated.h
    nothing_to_do --config sweep.ini
    echo '#define FACTOR 2' >vendor/deep/factor.h
    expect 0 emit --kernel own --templates . --cubin --output 2.cubin
    fails cmp -s 1.cubin 2.cubin
    expect 0 --config sweep.ini
    lacks err "nothing to do"
    echo '#error another header' >vendor/cuda_runtime_api.h
    expect 2 --config sweep.ini
    has err "another header"
}

@test "a toolkit's header that changes makes other cubins, and results are measured again" {
    rm -rf cache
    own_toolkit
    autotune emit --kernel own --templates . --cubin --output 1.cubin
    bundle=(bundle --tuned t.ini --templates . --output)
    expect 0 "${bundle[@]}" b1
    # copied again, it is the same; what remembers that may be damaged
    for file in cache/toolkit/*; do
        echo damaged >"$file"
    done
    cp toolkit/include/factor.h copy
    mv copy toolkit/include/factor.h
    nothing_to_do --config sweep.ini
    # of the same size, and as old as before
    cp -p toolkit/include/factor.h old
    echo '#define FACTOR 2' >toolkit/include/factor.h
    touch -r old toolkit/include/factor.h
    expect 0 emit --kernel own --templates . --cubin --output 2.cubin
    fails cmp -s 1.cubin 2.cubin
    # a bundle has what was tuned; what is lost is compiled anew, which is said, also in the bundle
    expect 0 "${bundle[@]}" b2
    cmp b1/cubin/own-*.cubin b2/cubin/own-*.cubin
    [ ! -s err ]
    mv cache other
    expect 0 "${bundle[@]}" b3
    cmp 2.cubin b3/cubin/own-*.cubin
    now=$(sed -n 's/^nvrtc = //p' b3/tuned.ini)
    has err "was tuned with NVRTC and headers $(sed -n 's/^nvrtc = //p' t.ini) and is compiled with $now,"
    rm -r cache
    mv other cache
    expect 0 --config sweep.ini
    lacks err "nothing to do"
    # a file that was not there before counts, too: the compiler may find it first
    touch toolkit/include/new.h
    autotune --config sweep.ini
    lacks err "nothing to do"
}

@test "a file counts in a folder whose name begins with that of the toolkit's headers, and so does nvJitLink" {
    rm -rf cache
    own_toolkit
    mkdir -p toolkit/include-cccl cuda_cccl # as in NVIDIA's Python packages
    mv toolkit/include/cuda toolkit/include-cccl
    ln -s ../toolkit/include-cccl cuda_cccl/include
    autotune --config sweep.ini
    nothing_to_do --config sweep.ini
    touch toolkit/include-cccl/new.h
    expect 0 --config sweep.ini
    lacks err "nothing to do"
    version=$(sed -n 's/^nvrtc = \([0-9]*\)\..*/\1/p' t.ini)
    echo "a linker" >"toolkit/lib/libnvJitLink.so.$version"
    expect 0 --config sweep.ini
    lacks err "nothing to do"
}

@test "another build of the same version of NVRTC measures again; results name the build" {
    rm -rf cache
    own_toolkit
    version=$(sed -n 's/^nvrtc = \([0-9.]*\)+.*/\1/p' t.ini)
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
    digits=${version##*.}
    LC_ALL=C sed -i "s/V${version//./\\.}/V${version%.*}.${digits//?/9}/" toolkit/lib/compiler.so
    expect 0 --config sweep.ini
    lacks err "nothing to do"
    grep -q "^nvrtc = ${version%.*}.${digits//?/9}+" t.ini
}

@test "a precompiled header makes no other cubin, even if it names a parameter's macro" {
    rm -rf cache
    own_toolkit
    printf '#pragma once\n#ifdef NUM_LOAD\n#define FACTOR 2\n#else\n#define FACTOR 1\n#endif\n' >toolkit/include/factor.h
    printf '[precompiled_headers]\nfactor.h = yes\n' >>own.ini
    echo 'block_size = 64, 128, 192, 256' >>sweep.ini
    expect 0 --config sweep.ini --arch sm_90 --jobs 1
    for size in 64 128 192 256; do
        autotune emit --kernel own --templates . --set block_size=$size --arch sm_90 --cubin --output $size.cubin
        AUTOTUNE_CACHE=other autotune emit --kernel own --templates . --set block_size=$size --arch sm_90 --cubin \
            --output $size.other
        cmp $size.cubin $size.other
    done
}

# meddle COMMAND [NUMBER]: from now on, COMMAND is run once, before NVRTC's third compilation, or before that NUMBER
meddle() {
    local library
    library=$("$AUTOTUNE" worker compile </dev/null | sed 's/.*"path":"\([^"]*\)".*/\1/')
    cat >meddling.c <<C
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    int (*compile)(void *, int, const char *const *);
    void *symbol = dlsym(RTLD_NEXT, "nvrtcCompileProgram");
    memcpy(&compile, &symbol, sizeof symbol);
    if (system("cd '$PWD' && echo >>compilations && [ \$(wc -l <compilations) = ${2:-3} ] && { $1; }") == -1)
        abort();
    return compile(program, count, options);
}
C
    rm -f compilations
    cc -D_GNU_SOURCE -shared -fPIC meddling.c -o meddling.so -Wl,--no-as-needed "$library" -Wl,-rpath,"$(dirname "$library")"
    export AUTOTUNE_NVRTC=$PWD/meddling.so
}

@test "headers that vanish from TMPDIR under a compile worker cost no variant" {
    rm -rf cache
    export TMPDIR=$PWD/tmp
    mkdir tmp
    own
    sed -i '1i #include "factor.h"' own.cu
    echo '#define FACTOR 1' >factor.h
    echo 'block_size = 64, 128, 192, 256, 320' >>sweep.ini
    meddle 'rm -rf tmp/autotune-*'
    expect 0 --config sweep.ini --arch sm_90 --jobs 1 --format csv
    [ "$(wc -l <compilations)" -gt 3 ]
    equal "$(count outcome compiled)" 5
}

@test "a toolkit that changes during a run leaves neither results nor cubins" {
    rm -rf cache
    own_toolkit
    version=$(sed -n 's/^nvrtc = \([0-9]*\)\..*/\1/p' t.ini)
    ln -s compiler.so "toolkit/lib/libnvrtc.so.$version"
    echo 'block_size = 64, 128, 192, 256, 320, 384' >>sweep.ini
    meddle 'sed -i s/1/2/ toolkit/include/factor.h'
    rm -rf cache r t.ini
    expect 3 --config sweep.ini --jobs 1
    has err "changed during the run" "run the same command again"
    [ "$(wc -l <compilations)" -gt 3 ]
    [ ! -e t.ini ]
    # back again: what was compiled with the other header is not taken for what this one makes
    echo '#define FACTOR 1' >toolkit/include/factor.h
    for size in 64 128 192 256 320 384; do
        emit=(emit --kernel own --templates . --set "block_size=$size" --arch sm_90 --cubin --output)
        autotune "${emit[@]}" kept.cubin
        AUTOTUNE_CACHE=other autotune "${emit[@]}" fresh.cubin
        cmp kept.cubin fresh.cubin
    done
    expect 0 --config sweep.ini --jobs 1
    has out "6 measured"
    # a single compilation asks, too
    export AUTOTUNE_NVRTC=$PWD/toolkit/lib/compiler.so
    meddle 'sed -i s/1/2/ toolkit/include/factor.h' 1
    AUTOTUNE_CACHE=single autotune "${emit[@]}" x.cubin
    exits 3
    has err "changed during the run"
    [ ! -e x.cubin ]
}

@test "headers are found as the compiler finds them, wherever they are" {
    export TMPDIR=$PWD/tmp
    mkdir -p tmp project/kernels/inc project/other project/real/deep elsewhere
    ln -s ../real project/kernels/link
    cat >project/kernels/own.cu <<CUDA
#include "inc/a.h"
#include "../other/b.h"
#include "inc/../c.h"
#include "link/deep/d.h"
#include "$PWD/elsewhere/e.h"
extern "C" __global__ void own(int *out) { *out = A + B + C + D + E; }
CUDA
    echo '#include "same.h"' >project/kernels/inc/a.h
    echo '#define A 1' >project/kernels/inc/same.h
    printf '#include "same.h"\n#include "../kernels/c.h"\n' >project/other/b.h
    printf '#define B 20\n__device__ const char *file = __FILE__;\n' >project/other/same.h
    printf '#pragma once\n#define C 300\n' >project/kernels/c.h
    echo '#include "../d2.h"' >project/real/deep/d.h
    echo '#define D 4000' >project/real/d2.h
    echo '#include "e2.h"' >elsewhere/e.h
    echo '#define E 50000' >elsewhere/e2.h
    cat >project/kernels/own.ini <<'INI'
[buffer.out]
type = int32
length = 1
access = write
[launch.own]
entry = own
grid = 1
block = 1
arguments = out
[expect.out]
reference = constant(54321)
compare = exact
INI
    expect 0 emit --templates project/kernels --kernel own --ptx
    has out 54321
    expect 0 emit --templates project/kernels --kernel own --cubin --output first.cubin
    has first.cubin "$PWD/project/other/same.h"
    echo '#error here' >>project/other/same.h
    expect 2 emit --templates project/kernels --kernel own --cubin --output second.cubin
    has err "$PWD/project/other/same.h(3)"
    lacks err /proc
    equal "$(find "$TMPDIR" -maxdepth 1 -name 'autotune-*' | wc -l)" 0
}

@test "a cover is of one toolkit: one that changes meanwhile ends it" {
    local opened studies
    rm -rf cache
    own_toolkit
    version=$(sed -n 's/^nvrtc = \([0-9]*\)\..*/\1/p' t.ini)
    ln -s compiler.so "toolkit/lib/libnvrtc.so.$version"
    printf '%s\n' '[sweep]' 'tuned = t.ini' 'results = r' '[own]' 'cover = n = 2^10 .. 2^14' 'cover_configurations = 2' 'block_size = 64, 256' >sweep.ini
    cat >opened.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int nvrtcVersion(int *major, int *minor)
{
    int (*next)(int *, int *);
    void *symbol = dlsym(RTLD_NEXT, "nvrtcVersion");
    memcpy(&next, &symbol, sizeof next);
    return system(getenv("WHEN_OPENED")) == -1 ? 1 : next(major, minor);
}
C
    cc -D_GNU_SOURCE -shared -fPIC opened.c -o toolkit/lib/opened.so -Wl,--no-as-needed "$PWD/toolkit/lib/compiler.so" -Wl,-rpath,"$PWD/toolkit/lib"
    export AUTOTUNE_NVRTC=$PWD/toolkit/lib/opened.so WHEN_OPENED="cd '$PWD' && echo >>opened"
    rm -rf cache r t.ini
    expect 0 cover --config sweep.ini --jobs 1
    opened=$(wc -l <opened)
    [ "$opened" -ge 2 ]
    for number in $(seq 2 "$opened"); do
        rm -rf cache r t.ini opened
        echo '#define FACTOR 1' >toolkit/include/factor.h
        WHEN_OPENED="cd '$PWD' && echo >>opened && { [ \$(wc -l <opened) -ne $number ] || sed -i s/1/2/ toolkit/include/factor.h; }"
        autotune cover --config sweep.ini --jobs 1
        [ "$code" -ne 0 ] || studies=$(python3 -c "import sqlite3; print(len(sqlite3.connect('r/record.sqlite').execute('select distinct nvrtc from study').fetchall()))")
        [ "$code" -ne 0 ] || equal "$studies" 1
    done
    has err "changed during the run"
}
