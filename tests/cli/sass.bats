#!/usr/bin/env bats
# emit --sass: machine code of a variant.
load helper

templates() { # one kernel whose loads are as wide as `width` says
    mkdir -p kernel_templates
    cat >kernel_templates/widths.cu <<'CUDA'
#ifndef WIDTH
#define WIDTH 1
#endif
struct alignas(4 * WIDTH) Words {
    float word[WIDTH];
};
extern "C" __global__ void widths(const Words *in, float *out)
{
    __shared__ float last;
    Words words = in[threadIdx.x];
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += words.word[i];
    if (threadIdx.x == 63)
        last = sum;
    __syncthreads();
    atomicAdd(out, last * sum);
}
CUDA
    cat >kernel_templates/widths.ini <<'INI'
[parameters]
width = 1
[launch_parameters]
blocks = 1
[buffer.in]
type = float
length = 256
access = read
fill = constant(1)
[buffer.out]
type = float
length = 1
access = read_write
fill = constant(0)
[launch.widths]
entry = widths
grid = blocks
block = 64
arguments = in, out
[expect.out]
reference = constant(64)
compare = exact
INI
    printf '[sweep]\ntemplates = kernel_templates\n[widths]\nwidth = 1, 2, 4\nblocks = 1, 2\n' >sweep.ini
}

disassembler() {
    autotune emit --kernel widths --sass
    [ "$code" -ne 3 ] || ! grep -q nvdisasm err || skip "$(cat err)"
    exits 0
}

@test "emit --sass: the machine code, and what it is made of as comments" {
    templates
    disassembler
    expect 0 emit --kernel widths --set width=4 --sass
    grep -q "LDG.E.128" out
    grep -qE "^//  global load, 128 bits +1$" out
    grep -qE "^//  block or cluster barrier +1$" out
    grep -qE "^//  global atomic +1$" out
    expect 0 emit --kernel widths --sass --output widths.sass
    grep -qE "^//  global load, 32 bits +1$" widths.sass
}

@test "the roof's kernel does nothing but what it is to measure" {
    templates
    disassembler
    # 8 chains by 32 steps in the body of the loop, all of it multiply-adds but the counting
    expect 0 emit --templates "$SOURCE_DIR/kernel_templates" --kernel roof_fma --set chains=8 --set unroll=32 --sass
    awk '/^\.text\.roof_fma:/ { inside = 1 }
         inside && /FFMA/ { run++; if (run > most) most = run }
         inside && /BRA/ { run = 0 }
         END { exit most < 256 }' out
}

@test "without a disassembler: exit 3, and what to install" {
    templates
    PATH=/nowhere CUDA_HOME=/nowhere autotune emit --kernel widths --sass
    [ "$code" -ne 0 ] || skip "there is one in the CUDA Toolkit"
    exits 3
    has err nvdisasm cuobjdump "pip install"
}
