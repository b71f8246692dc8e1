#!/usr/bin/env bats
# --sass: machine code of a variant, and the instructions of all of them in static mode.
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
    "$AUTOTUNE" emit --kernel widths --sass >/dev/null 2>why || skip "$(cat why)"
}

@test "emit --sass: the machine code, and what it is made of as comments" {
    templates
    disassembler
    autotune emit --kernel widths --set width=4 --sass
    exits 0
    grep -q "LDG.E.128" out
    grep -qE "^//  global load, 128 bits +1$" out
    grep -qE "^//  block or cluster barrier +1$" out
    grep -qE "^//  global atomic +1$" out
    autotune emit --kernel widths --sass --output widths.sass
    exits 0
    grep -qE "^//  global load, 32 bits +1$" widths.sass
}

@test "static mode: every variant's instructions, in the table, CSV and JSON" {
    templates
    disassembler
    autotune --config sweep.ini --arch sm_90 --sass
    exits 0
    grep -qE " 1x128 " out
    grep -qE " 1x64 " out
    grep -qE " 1x32 " out
    autotune --config sweep.ini --arch sm_90 --sass --format json # nothing is compiled
    exits 0
    python3 - <<'PYTHON'
import json
study, = json.load(open("out"))
assert len(study["variants"]) == 6
for variant in study["variants"]:
    instructions = variant["instructions"]
    loads = {kind: count for kind, count in instructions.items() if kind.startswith("load_")}
    assert loads == {f"load_{32 * variant['parameters']['width']}": 1}, loads
    assert instructions["barrier"] == 1 and instructions["atomic"] == 1, instructions
PYTHON
    python3 - <<'PYTHON'
import csv, glob
path, = glob.glob("results/static-sm_90/*.csv")
for row in csv.DictReader(open(path)):
    assert row[f"sass_load_{32 * int(row['width'])}"] == "1" and row["sass_barrier"] == "1", row
PYTHON
    autotune --config sweep.ini --arch sm_90 --format csv
    exits 0
    lacks out sass_
}

@test "the roof's kernel does nothing but what it is to measure" {
    templates
    disassembler
    # 8 chains by 32 steps in the body of the loop, all of it multiply-adds but the counting
    autotune emit --templates "$SOURCE_DIR/kernel_templates" --kernel roof_fma --set chains=8 --set unroll=32 --sass
    exits 0
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
    PATH=/nowhere CUDA_HOME=/nowhere autotune --config sweep.ini --arch sm_90 --sass
    exits 3
    has err nvdisasm cuobjdump "pip install"
    [ ! -e results ]
}

@test "--sass without --arch is refused" {
    templates
    autotune --config sweep.ini --sass
    exits 2
    has err "--arch"
}
