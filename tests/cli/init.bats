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

# next_gap TEXT: check leads to the gap that begins with this
next_gap() {
    expect 2 check --config kernels_sweep.ini --compile --arch sm_90
    has err "fill in the place marked TODO: $1"
}

@test "a template has what the source says, and check leads from gap to gap" {
    source_file
    cp Kernels.cu before.cu
    expect 0 init Kernels.cu sum
    has out "wrote kernels.ini" "wrote kernels_reference.cu" "wrote kernels_sweep.ini" \
        "6 places" "autotune check kernels_sweep.ini --compile"
    cmp Kernels.cu before.cu
    equal "$(section kernel kernels.ini)" "source = kernels_reference.cu host_code = ignore "
    equal "$(section problem kernels.ini | sed 's/^;[^=]* n/n/')" "n = 2^22 eps = 1 "
    equal "$(section buffer.in kernels.ini | sed 's/; TODO.*access/access/')" "type = float access = read fill = uniform(-1, 1) "
    grep -qx 'entry = ns::sum<float, TUNED_BLOCK, TUNED_K_FLAG>' kernels.ini
    grep -qx 'arguments = in, out, int32 n, float eps' kernels.ini
    grep -qx 'tuned_k_flag = 0' kernels.ini
    lacks kernels.ini unused
    next_gap "a section for each __constant__ variable"
    sed -i '/^\[buffer.constant\]/,/TODO/d' kernels.ini # this kernel uses none
    next_gap "length: "
    sed -i '/^\[buffer.in\]/,/TODO/s/^; TODO: length.*/length = n/' kernels.ini
    next_gap "length: "
    sed -i 's/^; TODO: length.*/length = 1/' kernels.ini
    next_gap "grid: "
    sed -i 's/^; TODO: grid.*/grid = ceil_div(n, tuned_block)/' kernels.ini
    next_gap "block: "
    sed -i 's/^; TODO: block.*/block = tuned_block/' kernels.ini
    expect 2 check --config kernels_sweep.ini --compile --arch sm_90
    has err "kernels_reference.cu($(grep -n '#error' kernels_reference.cu | cut -d: -f1))" "TODO: reference[i] = "
    sed -i 's/^#error.*/    for (int i = 0; i < n; i++) *reference += (double)in[i] * eps;/' kernels_reference.cu
    expect 0 check --config kernels_sweep.ini --compile --arch sm_90
}

@test "the usual grid and block, without a parameter and with launch bounds" {
    cat >saxpy.cu <<'CU'
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
CU
    expect 0 init saxpy.cu
    has out "3 places"
    equal "$(section launch.saxpy saxpy.ini)" "entry = ::saxpy grid = ceil_div(n, block_size) block = block_size arguments = int32 n, float a, x, y "
    grep -qx 'block_size = 64..1024 step \*2' saxpy_sweep.ini
    printf '#ifndef WIDE\n#define WIDE 128\n#endif\n' >wide.cu
    sed 's/void/void __launch_bounds__(WIDE)/' saxpy.cu >>wide.cu
    expect 0 init wide.cu
    equal "$(section launch.saxpy wide.ini)" "entry = ::saxpy grid = ceil_div(n, wide) block = wide arguments = int32 n, float a, x, y "
    sed -i 's/^; TODO: length.*/length = n/' saxpy.ini wide.ini
    sed -i 's/^#error.*/    for (int i = threadIdx.x; i < n; i += blockDim.x) reference[i] = (double)a * x[i] + y[i];/' ./*_reference.cu
    expect 0 check --config saxpy_sweep.ini --compile --arch sm_90
    expect 0 check --config wide_sweep.ini --compile --arch sm_90
}

@test "two dimensions are the user's, as is what integers hold" {
    source_file
    expect 0 init Kernels.cu smooth --output own
    has own/kernels.ini "; TODO: grid: " "; TODO: block: " "tile_dim = 32" "int32 rows" "type = double" "block = 1024"
    equal "$(section launch.smooth own/kernels.ini | grep -c 'grid = ')" 0
    grep -qxF "#include \"$(realpath Kernels.cu)\"" own/kernels_reference.cu
    sed -i '/^\[buffer.constant\]/,/TODO/d; s/^; TODO: length.*/length = rows * cols/' own/kernels.ini
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
