#!/usr/bin/env bash
# Builds KTT and tuner_bench_ktt.cpp against it, for tuner_bench.sh:
#     git clone --branch v2.2 https://github.com/HiPerCoRe/KTT
#     tests/bench/tuner_bench_ktt.sh KTT OUTPUT
#     KTT_BENCH=OUTPUT tests/bench/tuner_bench.sh BUILD RESULTS
# Builds only KTT's CUDA part, without profiling (CUPTI), and optimised like KTT's own Release build. Needs a C++17
# compiler and the toolkit in $CUDA_HOME (/usr/local/cuda). Changes nothing in KTT; the object files are temporary.
set -eu

ktt=$(realpath "${1:?usage: tests/bench/tuner_bench_ktt.sh KTT OUTPUT}")
output=$(realpath -m "${2:?usage: tests/bench/tuner_bench_ktt.sh KTT OUTPUT}")
here=$(realpath "$(dirname "$0")")
cuda=${CUDA_HOME:-/usr/local/cuda}
compiler=${CXX:-g++}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

flags=(-std=c++17 -O3 -w -DKTT_LIBRARY -DKTT_API_CUDA -DKTT_PLATFORM_NVIDIA -DKTT_CONFIGURATION_RELEASE
    -I"$ktt/Source" -I"$cuda/include")
for library in "$ktt"/Libraries/{CTPL,date,Json,pugixml}*; do
    flags+=(-I"$library")
done
# CUDA 13 added an argument to cuCtxCreate; the entry point of CUDA 12 still exists.
printf '#include <cuda.h>\n#if CUDA_VERSION >= 13000\n#undef cuCtxCreate\n%s\n#define cuCtxCreate cuCtxCreate_v2\n#endif\n' \
    'extern "C" CUresult cuCtxCreate_v2(CUcontext *, unsigned int, CUdevice);' >"$objects/cuda12.h"
flags+=(-include "$objects/cuda12.h")

cd "$ktt"
while read -r source; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
        wait -n
    done
    "$compiler" "${flags[@]}" -c "$source" -o "$objects/${source//\//_}.o" &
done < <(find Source Libraries/CTPL* Libraries/pugixml* -name '*.cpp' -not -path '*/Python/*')
wait
"$compiler" "${flags[@]}" "$here/tuner_bench_ktt.cpp" "$objects"/*.o -o "$output" -static-libstdc++ -static-libgcc \
    -L"$cuda/lib64" -L"$cuda/lib64/stubs" -lnvrtc -lcuda -lpthread -ldl -Wl,-rpath,"$cuda/lib64"
echo "built $output"
