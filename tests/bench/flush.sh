#!/usr/bin/env bash
# Shows that flushing the L2 by reading leaves no dirty lines, on this machine's GPU:
#     tests/bench/flush.sh BUILD RESULTS
# Writes RESULTS/<gpu>/bench/flush.csv; DETAILS.md beside this file describes it.
set -eu

build=$(realpath "${1:?usage: tests/bench/flush.sh BUILD RESULTS}")
results=${2:?usage: tests/bench/flush.sh BUILD RESULTS}
here=$(realpath "$(dirname "$0")")
gpu=$("$here/gpu_folder.sh" "$build")
[ -n "$gpu" ]
"$build/tests/flush" "$results/$gpu/bench" \
    "$here/../../kernel_templates/reduce_sum.ini" block_size=1024 num_load=2 finish=last_block n=2^24 \
    "$here/copy.ini"
