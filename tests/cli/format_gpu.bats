#!/usr/bin/env bats
# The templates of tests/format_gpu, which only a GPU can run: here they are compiled, and their launches are planned.
shared_cubins=yes
load helper

@test "every variant of the GPU's test of the format compiles for 9.0" {
    expect 0 --config "$SOURCE_DIR/tests/format_gpu/sweep.ini" --arch sm_90 --format csv
    sed 's/"[^"]*"//g' out | cut -d, -f1-11 >rows
    [ "$(grep -c ',compiled,' rows)" -ge 22 ]
    equal "$(grep -v -e ',compiled,' -e ',outcome,' rows)" ""
}

@test "gemm_tensor compiles with tensor maps and wgmma in clusters, and with mma" {
    local template=$SOURCE_DIR/kernel_templates/gemm_tensor.ini
    expect 0 check --compile --template "$template" --arch sm_90 --set method=wgmma --set cluster_m=2
    has out "method=wgmma" "0 bytes spilled"
    expect 0 check --compile --template "$template" --arch sm_80
    has out "method=mma" "0 bytes spilled"
}

@test "softmax compiles with bulk copies, and in clusters" {
    local template=$SOURCE_DIR/kernel_templates/softmax.ini
    for settings in "--set load=bulk" "--set cluster=4 --set reduction=one_step --set loads=2"; do
        # shellcheck disable=SC2086
        expect 0 check --compile --template "$template" --arch sm_90 --set method=registers --set vector_width=4 $settings
        has out "method=registers" "0 bytes spilled"
    done
}

@test "what only a kernel that is not launched uses brings no warning" {
    expect 0 check --compile --template "$SOURCE_DIR/tests/format_gpu/narrow.ini" --arch sm_90
    has out "value_type=half" "0 bytes spilled"
    lacks out "never referenced"
    lacks err "never referenced"
}
