#!/usr/bin/env bats
# `host_code = ignore`: a source with the code of its application. Which code goes, and that it makes no version, is in
# unit/template/test_source.c.
shared_cubins=yes
load helper

# shapes: the files of many shapes of host code, as shapes.cu and shapes.ini
shapes() {
    cp "$SOURCE_DIR/tests/format/host_code.cu" shapes.cu
    cp "$SOURCE_DIR/tests/format/host_code.ini" shapes.ini
}

# refused LINE: the source does not compile; the message is at that line
refused() {
    expect 2 check --compile --template shapes.ini --arch sm_90
    has err "shapes.cu:$(grep -n -m 1 -F "$1" shapes.cu | cut -d: -f1): "
}

@test "the machine code is that of the source without the host's code" {
    shapes
    sed '/^ *\/\/ HOST/,/^ *\/\/ END/d; s/^constexpr/__host__ __device__ constexpr/' shapes.cu >twin.cu
    grep -v host_code shapes.ini >twin.ini
    expect 0 check --compile --template shapes.ini --arch sm_90
    for name in shapes twin; do
        expect 0 emit --ptx --template $name.ini --arch sm_90 -o $name.ptx
    done
    [ -s twin.ptx ]
    cmp twin.ptx shapes.ptx
}

@test "what is left keeps its lines" {
    shapes
    sed -i 's/^KERNEL(checked)/__device__ int line_&/' shapes.cu
    refused "__device__ int line_"
    expect 0 emit --template shapes.ini
    lacks out torch 'std::cout' "int main("
}

@test "without the key, the message proposes it; with it, messages name what was left out" {
    shapes
    sed -i 's/    int i = blockIdx.x \* BLOCK_SIZE/    int i = host_c() * BLOCK_SIZE/' shapes.cu
    refused "int i = host_c()"
    has err 'identifier "host_c" is undefined' "its declaration in '$PWD/shapes.cu' on line" "__device__"
    sed -i 's/host_c() \*/std::string("a").size() */' shapes.cu
    refused 'int i = std::string'
    has err 'no member "string"' "leaves out these headers" "<string>" "<torch/extension.h>" '"helper_cuda.h"'
    sed -i '/^host_code/d' shapes.ini
    refused "#include <fstream>"
    has err 'cannot open source file "fstream"' "'host_code = ignore' in [kernel]"
    printf '%s\n' '__global__ void plain(float *x, int n) {}' 'int main() {}' >shapes.cu
    refused "int main"
    has err "this is code of the host" "'host_code = ignore' in [kernel]"
}

@test "the key has two values, and does not go with functions that are the GPU's by default" {
    shapes
    sed -i 's/^host_code = ignore/&\noptions = -default-device/' shapes.ini
    expect 2 check --template shapes.ini
    has err "shapes.ini:4: " "'-default-device'" "remove one of the two"
    sed -i 's/^host_code = .*/host_code = no/' shapes.ini
    expect 2 check --template shapes.ini
    has err "shapes.ini:3: host_code 'no' is neither compile nor ignore"
}
