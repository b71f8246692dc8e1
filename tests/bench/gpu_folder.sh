#!/bin/sh
# Prints the name of this machine's first GPU, as folders of results spell it:
#     tests/bench/gpu_folder.sh BUILD
# Prints nothing where there is no GPU.
set -eu

build=${1:?usage: tests/bench/gpu_folder.sh BUILD}
timeout 60 "$build/autotune" devices | sed -n '1s/^device 0: \([^,]*\),.*/\1/p' | tr 'A-Z ' 'a-z-'
