#!/usr/bin/env bats
# `init`: templates for kernels of one's own, and a project.
shared_cubins=yes
load helper

# source_file: kernels.cu has what `init` reads
source_file() {
    cat >Kernels.cu <<'CU'
#include <iostream>
#define RADIUS 2
#ifndef TILE_DIM
#define TILE_DIM 32
#endif
#define UNUSED 5
#define FILTER (2 * RADIUS + 1)
__constant__ float weights[FILTER];
namespace ns
{
template <typename T, int BLOCK, bool kFlag = false>
__global__ void sum(const T *in, T *out, int n, float eps)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicAdd(out, kFlag ? in[i] : in[i] * T(eps));
}
} // namespace ns
extern "C" __global__ void __launch_bounds__(TILE_DIM * 8) smooth(const float *in, const int *map, double *out,
                                                                  int rows, int cols)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows)
        out[y * cols + x] = weights[RADIUS] * in[y * cols + map[x]];
}
int main()
{
    ns::sum<float, 256><<<1, 256>>>((float *)0, (float *)0, 0, 1.0f);
    std::cout << UNUSED;
}
CU
}

# section NAME FILE: its lines, joined by blanks
section() {
    sed -n "/^\[$1\]\$/,/^\$/p" "$2" | tail -n +2 | grep . | tr '\n' ' '
}

@test "a template is complete but for its reference, to which check leads" {
    source_file
    cp Kernels.cu before.cu
    expect 0 init Kernels.cu sum
    has out "wrote kernels.ini" "wrote kernels_reference.cu" "wrote kernels_sweep.ini" \
        "1 places" "autotune check kernels_sweep.ini --compile"
    cmp Kernels.cu before.cu
    equal "$(section kernel kernels.ini)" "source = kernels_reference.cu host_code = ignore "
    equal "$(section problem kernels.ini)" "n = 2^22 eps = 1e-5 "
    equal "$(section buffer.out kernels.ini)" "type = float length = 1 access = read_write fill = constant(0) "
    equal "$(section launch.sum kernels.ini)" \
        "entry = ns::sum<float, TUNED_BLOCK, K_FLAG> grid = ceil_div(n, tuned_block) block = tuned_block arguments = in, out, int32 n, float eps "
    grep -qx 'k_flag = 0, 1' kernels_sweep.ini
    lacks kernels.ini unused
    has kernels.ini "put #ifndef RADIUS and #endif around line 2 of the source"
    expect 2 check --config kernels_sweep.ini --compile --arch sm_90
    has err "kernels_reference.cu($(grep -n '#error' kernels_reference.cu | cut -d: -f1))" "TODO: reference[i] = "
    sed -i 's/^#error.*/    for (int i = 0; i < n; i++) *reference += (double)in[i] * eps;/' kernels_reference.cu
    expect 0 check --config kernels_sweep.ini --compile --arch sm_90
}

@test "two dimensions, constant memory, and a gap where only the user knows" {
    source_file
    expect 0 init Kernels.cu smooth --output own
    equal "$(section buffer.weights own/kernels.ini)" \
        "type = float symbol = weights length = ((2 * 2 + 1)) access = read fill = uniform(-1, 1) "
    has own/kernels.ini "grid = ceil_div(cols, tile_dim), ceil_div(rows, block_y)" "block = tile_dim, block_y" "length = rows * cols" \
        "arguments = in, map, weights, reference, int32 rows, int32 cols"
    grep -qxF "#include \"$(realpath Kernels.cu)\"" own/kernels_reference.cu
    expect 2 check --config own/kernels_sweep.ini
    has err "own/./kernels.ini:$(grep -n 'TODO: fill' own/kernels.ini | cut -d: -f1): " "fill in the place marked TODO: fill: what it holds"
}

@test "nothing is overwritten, and kernels are asked for by name" {
    source_file
    expect 2 init Kernels.cu
    has err "'Kernels.cu' has several kernels" "sum, smooth"
    expect 2 init Kernels.cu smoth
    has err "'Kernels.cu' has no kernel 'smoth'; it has: sum, smooth"
    echo mine >kernels_sweep.ini
    expect 2 init Kernels.cu sum
    has err "'kernels_sweep.ini' exists and stays as it is" "--output"
    [ ! -e kernels.ini ]
    echo '// none' >none.cu
    expect 2 init none.cu
    has err "'none.cu' has no __global__ function"
}

@test "a project works as it is; several folders have templates" {
    expect 0 init --output mine
    cd mine
    expect 0 check --config sweep.ini --compile --arch sm_90
    expect 2 init
    has err "'kernels/saxpy.cu' exists"
    sed -i '/^templates/d' sweep.ini # kernels/ is where they are looked for
    expect 0 check --config sweep.ini
    mkdir more
    cp kernels/saxpy.cu kernels/saxpy.ini more
    mv more/saxpy.ini more/other.ini
    sed -i 's/^\[parameters\]/[kernel]\nsource = saxpy.cu\n\n&/' more/other.ini
    printf '[sweep]\ntemplates = kernels, more\n[saxpy]\n[other]\n' >both.ini
    expect 0 check --config both.ini
    sed -i 's/\[other\]/[others]/' both.ini
    expect 2 check --config both.ini
    has err "no template 'others'; did you mean 'other'?"
}
