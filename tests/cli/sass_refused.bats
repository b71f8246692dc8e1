#!/usr/bin/env bats
# --sass where there is no disassembler.
load helper
load sass

@test "without a disassembler: exit 3, and what to install" {
    templates
    PATH=/nowhere CUDA_HOME=/nowhere autotune emit --kernel widths --sass
    [ "$code" -ne 0 ] || skip "there is one in the CUDA Toolkit"
    exits 3
    has err nvdisasm cuobjdump "pip install"
}
