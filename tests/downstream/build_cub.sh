#!/usr/bin/env bash
# Compiles CUB's sum for the application's comparison:
#     tests/downstream/build_cub.sh NVCC FOLDER
# Makes FOLDER/libcub_sum.so for sm_90 and, through PTX, newer GPUs. An nvcc that cannot is no failure of the build:
# it is said, and the comparison is left out where the application is tested.
set -euo pipefail

nvcc=${1:?usage: build_cub.sh NVCC FOLDER}
folder=${2:?usage: build_cub.sh NVCC FOLDER}
mkdir -p "$folder"
rm -f "$folder/libcub_sum.so"
"$nvcc" -O3 -std=c++17 -arch=sm_90 -cudart static -shared -Xcompiler -fPIC,-static-libstdc++,-static-libgcc \
    -o "$folder/libcub_sum.so" "$(dirname "$0")/cub_sum.cu" >"$folder/cub.log" 2>&1 ||
    echo "$nvcc cannot compile CUB's sum; see $folder/cub.log"
