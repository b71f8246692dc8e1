#!/usr/bin/env bats
# `import`: the files of other tuners.
shared_cubins=yes
load helper

t1=$SOURCE_DIR/tests/t1
path=$PATH

# imports FILE [ARGUMENTS]: without an error
imports() {
    expect 0 import "$@"
    [ ! -s err ]
}

# t1_file: a T1 file of one kernel, k.json, whose members are from standard input, besides the usual ones
t1_file() {
    python3 -c '
import json, sys
kernel = {"Language": "CUDA", "KernelName": "kk", "KernelFile": "kk.cu", "GlobalSize": {"X": "1"},
          "LocalSize": {"X": "32"}, "Arguments": []}
space = {"TuningParameters": [{"Name": "a", "Type": "int", "Values": "[1, 2, 3, 4]"}], "Conditions": []}
exec(sys.stdin.read())
json.dump({"ConfigurationSpace": space, "KernelSpecification": kernel}, open("kk.json", "w"))'
}

# condition TEXT: its one condition is TEXT
condition() {
    t1_file <<<"space['Conditions'] = [{'Parameters': ['a'], 'Expression': '''$1'''}]"
}

@test "a GEMM, a stencil and a vector addition have as many variants as Python finds" {
    for name in gemm hotspot vector_add; do
        imports "$t1/$name.json"
        count=$(python3 "$t1/count.py" "$t1/$name.json")
        [ "$count" -gt 50 ]
        has out "$name: " " $count variants of "
        expect 2 check --config "${name}_sweep.ini" --list # for the gaps
        equal "$(wc -l <out)" $((count + 1))
    done
}

@test "random constraints leave the variants that Python's leave" {
    mkdir random
    python3 -W ignore "$t1/count.py" --random 20 random
    for csv in random/*.csv; do
        name=$(basename "$csv" .csv)
        imports "random/$name.json"
        autotune check --config "${name}_sweep.ini" --list
        tail -n +2 out | cut -d, -f2- | diff - "$csv" || {
            grep Expression "random/$name.json"
            return 1
        }
        rm "$name".* "${name}_sweep.ini"
    done
}

@test "what the file does not say is left as gaps, which import lists and check points at" {
    imports "$t1/hotspot.json"
    has out "complete hotspot.ini where it is marked TODO:" "[buffer.temp_dst] fill" "[buffer.filter] access" \
        "[expect.temp_dst] reference" "[expect.temp_dst] compare" "[launch.hotspot] entry: the kernel 'hotspot.cu'" \
        "next: autotune check --config hotspot_sweep.ini"
    equal "$(grep -c '^; TODO: ' hotspot.ini)" 5
    expect 2 check --config hotspot_sweep.ini
    has out "variants of"
    line=$(grep -n '^; TODO: fill' hotspot.ini | cut -d: -f1)
    has err "hotspot.ini:$line: " "fill in the place marked TODO: fill: what it holds" "one of 5 in this file"
    expect 2 --config hotspot_sweep.ini --arch sm_90
    has err "hotspot.ini:$line: "
}

@test "random buffers are imported without their seed, which several may share" {
    imports "$t1/gemm.json"
    grep -qx 'fill = uniform(0, 2)' gemm.ini
}

@test "what is written but no output is unchecked" {
    sed 's/"AccessType": "ReadOnly"/"AccessType": "ReadWrite", "Output": 0/' "$t1/gemm.json" >gemm.json
    imports gemm.json
    equal "$(sed -n '/^access = read_write/{n;p}' gemm.ini | sort | uniq -c | tr -s ' \n' ' ')" " 1 fill = constant(0) 1 unchecked = yes "
}

@test "once its gaps are filled in, an imported kernel compiles" {
    imports "$t1/vector_add.json"
    equal "$(grep -c '^; TODO: ' vector_add.ini)" 1
    sed -i 's/^; TODO: reference.*/reference = add_reference\narguments = reference, a, b, int32 1000000/' vector_add.ini
    cat >>vector_add.cu <<'CU'
extern "C" __global__ void add_reference(double *c, const float *a, const float *b, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        c[i] = (double)a[i] + b[i];
}
CU
    expect 0 --config vector_add_sweep.ini --arch sm_90
    has out "74 variants of 180 points" "74 compiled"
}

@test "a kernel in the folder of the template stays as it is" {
    cp "$t1"/vector_add.* .
    imports vector_add.json
    diff vector_add.cu "$t1/vector_add.cu"
    has out "vector_add_kernel.cu"
    grep -qx "source = vector_add_kernel.cu" vector_add.ini
}

@test "--output names the folder, and --kernel the template" {
    imports "$t1/gemm.json" --output here/there --kernel sgemm_tuned
    has out "here/there/sgemm_tuned_sweep.ini"
    equal "$(cd here/there && echo *)" "sgemm_tuned.cu sgemm_tuned.ini sgemm_tuned_sweep.ini"
}

@test "nothing is overwritten" {
    echo mine >gemm_sweep.ini
    expect 2 import "$t1/gemm.json"
    has err "'gemm_sweep.ini' exists"
    equal "$(cat gemm_sweep.ini)" mine
    [ ! -e gemm.ini ]
    [ ! -e gemm.cu ]
}

@test "a constraint that cannot be translated is refused with the file and its text, and nothing is written" {
    while IFS='|' read -r text reason; do
        condition "$text"
        expect 2 import kk.json
        has err "kk.json: condition '$text'" "$reason"
        [ ! -e kk.ini ]
    done <<'TEXT'
a & 3 == 1|'a & 3' has an operator on bits
a.bit_count() == 1|'a.bit_count()' cannot be translated
b > 1|unknown name 'b'
a && 1|'&&' is not Python; write 'and'
lambda a: a|'lambda a: a' cannot be translated
a ==|is not a Python expression: invalid syntax
(a|is not a Python expression: '(' was never closed
a == None|'None' cannot be translated
a[0] == 1|unknown name 'a[0]'
"x"|'"x"' is a string where a condition is needed
TEXT
}

@test "a constraint that divides by zero is kept, and its place named" {
    condition "4 // (a - 2) > 0"
    expect 2 import kk.json
    line=$(grep -n '^constraint = 4 // (a_value - 2) > 0' kk.ini | cut -d: -f1)
    has err "kk.ini:$line: " "division by zero"
    has out "wrote kk.ini, kk.cu and kk_sweep.ini"
}

@test "values that cannot be evaluated are refused, with the parameter" {
    t1_file <<<"space['TuningParameters'][0]['Values'] = '[x for y in range(3)]'"
    expect 2 import kk.json
    has err "kk.json: a '[x for y in range(3)]': 'x' is not known here"
    t1_file <<<"space['TuningParameters'][0]['Values'] = 'range(10**12)'"
    expect 2 import kk.json
    has err "has too many values"
}

@test "a file that is neither T1 nor JSON is refused" {
    echo '{"a": 1}' >a.json
    expect 2 import a.json
    has err "a.json: no usable 'ConfigurationSpace'"
    echo '{"a": 1' >a.json
    expect 2 import a.json
    has err "a.json:"
    expect 2 import nothing.json
    has err "nothing.json"
    mkfifo pipe.json
    expect 2 import pipe.json
    has err "pipe.json"
    expect 2 import
}

@test "names of all kinds: capitals, one letter, words of the tuner" {
    t1_file <<'PY'
names = ["BLOCK", "block", "N", "registers", "max_threads_per_block", "a_very_long_name_of_a_parameter_indeed", "_x"]
space["TuningParameters"] = [{"Name": n, "Type": "int", "Values": [1, 2]} for n in names]
space["Conditions"] = [{"Parameters": names, "Expression": " + ".join(names) + " == 7 or BLOCK > block"}]
PY
    imports kk.json
    has out "7 parameters, 1 constraints, 33 variants of 128"
    grep -qx '#define N N_VALUE' kk.cu
}

@test "two grids that contradict each other are a gap" {
    t1_file <<'PY'
kernel.update(ProblemSize=4096, GridDivX=["a"], GlobalSize={"X": "100 // a"})
PY
    imports kk.json
    grep -qx '; TODO: grid: .*contradict.*' kk.ini
    has kk.ini "; grid = ceil_div(problem_x, a_value)" "; grid = 100 // a_value"
}

# weigh_file [PYTHON]: src/weigh.json of a kernel that has all that needs more than copying, and its source
weigh_file() {
    mkdir -p src
    echo '#define WIDTH (tile * 4)' >src/weigh.h
    cat >src/weigh.cu <<'CU'
#include "weigh.h"
__constant__ float weights[2 * 2];
__global__ void weigh(float *out, const float *in, int n)
{
    __shared__ float part[block_x];
    int i = blockIdx.x * block_x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    if (i < n)
        out[i] = part[threadIdx.x] * weights[i % WIDTH % 4];
}
__global__ void weigh_naive(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * weights[i % 4];
}
CU
    { cat <<'PY' && echo "${1:-}"; } | t1_file
space["TuningParameters"] = [{"Name": n, "Type": "int", "Values": v}
                             for n, v in (("block_x", "[32, 64]"), ("tile", [1]), ("MAX", "[64]"))]
space["Conditions"] = [{"Expression": "block_x <= MAX"}]
vector = {"Type": "float", "MemoryType": "Vector", "Size": "ProblemSize[0]"}
kernel.update({"KernelName": "weigh", "KernelFile": "weigh.cu", "ProblemSize": [4096], "GridDivX": ["block_x"],
    "LocalSize": {"X": "block_x"}, "GlobalSize": {"X": "4096 // block_x"}, "SharedMemory": 49152, "Arguments": [
        {**vector, "Name": "out", "AccessType": "WriteOnly", "Output": 1},
        {**vector, "Name": "in", "AccessType": "ReadOnly", "FillType": "Generator", "DataSource": "2 * i + 1"},
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "4096"},
        {**vector, "Name": "weights", "AccessType": "ReadOnly", "MemType": "Constant", "Size": 9, "FillType": "Random",
         "FillValue": 1.0}],
    "ReferenceArguments": []})
PY
    mv kk.json src/weigh.json
}

@test "the source stays where and as it is: names by define, C++ entries, __constant__ variables, a naive kernel as reference" {
    weigh_file
    imports src/weigh.json --output here
    has out "wrote here/weigh.ini and here/weigh_sweep.ini" "[expect.out] compare: " \
        "ignored: SharedMemory (the source has no extern __shared__)"
    equal "$(grep -c '^; TODO: ' here/weigh.ini)" 1
    for line in "source = ../src/weigh.cu" "define = block_x, tile" "entry = ::weigh" "symbol = weights" "length = 2 * 2" \
        "reference = ::weigh_naive" "arguments = out, in, int32 4096" "fill = counting(1, 2)"; do
        grep -qxF "$line" here/weigh.ini
    done
    lacks here/weigh.ini shared_bytes
    sed -n '/^.launch_parameters/{n;p}' here/weigh.ini | grep -qx 'max = 64\|max_2 = 64'
    sed -i 's/^; TODO: compare.*/compare = exact/' here/weigh.ini
    expect 0 check --config here/weigh_sweep.ini --compile --arch sm_90
}

@test "what a kernel takes in __constant__ memory and as an argument is both, with the same contents" {
    weigh_file
    sed -i 's/, int n)/, int n, const float *same)/' src/weigh.cu
    imports src/weigh.json
    equal "$(grep -c '^fill = uniform(0, 1.*, 3)' weigh.ini) $(grep -c '^symbol = weights' weigh.ini)" "2 1"
    has weigh.ini "arguments = out, in, int32 4096, weights"
    sed -i 's/^; TODO: compare.*/compare = exact/' weigh.ini
    expect 0 check --config weigh_sweep.ini --compile --arch sm_90
}

@test "a grid that contradicts a problem of three parts is a gap, with the choices" {
    weigh_file 'kernel.update(ProblemSize=[64, 64, 2])'
    imports src/weigh.json
    has out "contradict each other; choose one of:" "    grid = ceil_div(problem_x, block_x), problem_y, problem_z" \
        "    grid = 4096 // block_x"
    lacks <(grep -v '^;' weigh.ini) "grid = 4096"
}

@test "the older dialect" {
    cat >old.json <<'JSON'
{"general": {"benchmarkName": "old"}, "searchSettings": {"trials": 10}, "verification": {"type": "reference_CPU"},
 "configurationSpace": {"tuningParameters": [{"name": "BLOCK", "type": "int", "values": [32, 64]}],
                        "constraints": ["BLOCK > 32"]},
 "kernelSpecification": {"language": "CUDA", "compilerOptions": ["-std=c++17"], "kernelName": "old", "kernelFile": "old.cu",
  "blockSize": {"X": "BLOCK", "Y": 1, "Z": 1}, "gridSize": {"X": "4096 // BLOCK", "Y": 1, "Z": 1}, "sharedMemory": null,
  "stream": null, "arguments": [
   {"name": "out", "type": "int", "length": 4096, "memoryType": "vector", "accessType": "ReadWrite", "fillType": "constant",
    "value": 0},
   {"name": "n", "type": "int", "memoryType": "scalar", "accessType": "ReadOnly", "value": 4096}]}}
JSON
    imports old.json
    has out "1 parameters, 1 constraints, 1 variants of 2" "ignored: searchSettings, verification"
    has old.ini "block = block" "grid = 4096 // block" "arguments = out, int32 4096" "type = int32" "length = 4096"
}

@test "the file's text is never run, and ends" {
    for text in "__import__('os').system('touch ran')" "[].__class__" "9 ** 9 ** 9 ** 9" "1 << 10 ** 12" "a ** 10 ** 9" \
        "3.5 in range(10 ** 15)" "(lambda: 1)()"; do
        condition "${text//\'/\"}"
        expect 2 import kk.json
        has err "kk.json: condition "
        [ ! -e kk.ini ] && [ ! -e ran ]
    done
}

@test "without python3, the error says what to install" {
    mkdir bin
    t1_file </dev/null
    PATH=$PWD/bin autotune import kk.json
    exits 2
    has err "kk.json: " "needs python3" "install Python 3.9 or newer"
    results_file
    PATH=$PWD/bin
    autotune import results.t4.json --kernel scale --tool "Kernel Tuner" --gpu "NVIDIA A100-SXM4-80GB"
    PATH=$path
    exits 0
}

# results_file [MEMBERS]: results.t4.json, of two variants, with MEMBERS of its metadata
results_file() {
    cat >results.t4.json <<JSON
{"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"${1:+, $1}}, "results": [
 {"timestamp": "2025-03-04 05:06:07+00:00", "configuration": {"block_size": 64, "mode": "fast"}, "objectives": ["time"],
  "times": {"runtimes": [0.25, 0.5, 0.75]}, "invalidity": "correct", "correctness": 1,
  "measurements": [{"name": "time", "value": 0.5, "unit": "ms"}]},
 {"timestamp": "2025-03-04 05:06:08+00:00", "configuration": {"block_size": 128, "mode": "fast"}, "objectives": ["time"],
  "times": {"runtimes": []}, "invalidity": "compile", "correctness": 0,
  "measurements": [{"name": "time", "value": "CompilationFailedConfig", "unit": "ms"}]}]}
JSON
}

@test "T4: results of another tool go into the record, marked as such" {
    results_file
    imports results.t4.json --kernel scale --tool "Kernel Tuner" --gpu "NVIDIA A100-SXM4-80GB"
    has out "scale: 2 variants on NVIDIA A100-SXM4-80GB, 1 of them with a time, measured by Kernel Tuner" \
        "next: autotune report --results results --kernel scale"
    expect 0 report
    has out "measured by Kernel Tuner, not by autotune" "2 variants: 1 measured, 1 compile_error" "CompilationFailedConfig" \
        "best of Kernel Tuner: block_size=64, 500.0 us"
    lacks out winner
    autotune report --format csv
    equal "$(column median_us | head -n 1) $(column samples | head -n 1) $(column tool | head -n 1)" "500.0000 3 Kernel Tuner"
    equal "$(count winner 1)" 0
    autotune report --format json
    has out '"tool": "Kernel Tuner"'
    autotune report --format html
    has out "Measured by Kernel Tuner, not by autotune." "Its best variant is"
    autotune report --format t4
    has out '"autotuner":"Kernel Tuner"'
}

@test "T4: the metadata's names are taken, and what is missing is asked for" {
    results_file '"kernel": "scale", "autotuner": "KTT", "device": "NVIDIA H200", "problem": {"n": 1024}'
    imports results.t4.json
    has out "scale: 2 variants on NVIDIA H200, 1 of them with a time, measured by KTT"
    results_file '"kernel": "scale", "device": "NVIDIA H200"'
    expect 2 import results.t4.json
    has err "'results.t4.json' does not say which tool measured it; add --tool"
}

@test "T4: run times are in the file's unit; if it has none, in that of the time" {
    results_file '"kernel": "scale", "autotuner": "KTT", "device": "NVIDIA H200"'
    sed -i -e 's/"value": 0.5, "unit": "ms"/"value": 0.5, "unit": "us"/' -e 's/"timeunit": "milliseconds", //' results.t4.json
    imports results.t4.json
    autotune report --format csv
    equal "$(column median_us | head -n 1)" 0.5000
    sed -i 's/"kernel": "scale"/&, "timeunit": "ms"/' results.t4.json
    imports results.t4.json
    autotune report --format csv
    equal "$(column median_us | head -n 1)" 500.0000
}

@test "T4: importing again replaces what was imported" {
    results_file '"kernel": "scale", "autotuner": "KTT", "device": "NVIDIA H200"'
    imports results.t4.json
    sed -i 's/0.25, 0.5, 0.75/0.125/' results.t4.json
    imports results.t4.json
    autotune report --format csv
    equal "$(count outcome measured) $(column median_us | head -n 1)" "1 125.0000"
}

@test "T4: another tool's results are neither known nor a winner when autotune tunes the same" {
    sweep "[scale]" "block_size = 64, 128"
    expect 0 --config sweep.ini
    expect 0 report --format t4
    mv out own.t4.json
    rm -r results
    python3 - <<'PY'
import json
study = json.load(open("own.t4.json"))
for result in study["results"]:
    result["times"]["runtimes"] = [1e-6]
    result["measurements"] = [{"name": "time", "value": 1e-6, "unit": "ms"}]
json.dump(study, open("faster.t4.json", "w"))
PY
    imports faster.t4.json --tool "another tuner"
    expect 0 --config sweep.ini
    has out "2 measured" "winner: "
    lacks results/tuned.ini another
    awk '$1 == "median_ns" && $3 < 100 { exit 1 }' results/tuned.ini
    autotune report
    has out "measured by another tuner" "best of another tuner" "winner: "
    autotune report --format t4 --output files/
    [ "$(find files -type f | wc -l)" -eq 2 ]
}

@test "T4: what autotune wrote is read back as it was" {
    sweep "[scale]" "mode = good, broken, wrong"
    autotune --config sweep.ini
    autotune report --format t4
    mv out first.t4.json
    expect 0 import first.t4.json --results other
    autotune report --results other --format csv
    equal "$(paste -d, <(column mode) <(column outcome) | sort)" "broken,compile_error
good,measured
wrong,wrong_result"
}

@test "T4: a word in place of all times is a failure, whatever the file calls it" {
    results_file '"kernel": "scale", "autotuner": "Kernel Tuner", "device": "NVIDIA H200"'
    sed -i 's/"value": 0.5,/"value": "RuntimeFailedConfig",/; s/0.25, 0.5, 0.75//' results.t4.json
    imports results.t4.json
    has out "2 variants on NVIDIA H200, 0 of them with a time"
    autotune report --format csv
    equal "$(column outcome | head -n 1),$(column reason | head -n 1)" "launch_error,RuntimeFailedConfig"
}

@test "T4: names in the file cannot control a terminal" {
    cat >odd.json <<'JSON'
{"schema_version": "1.0.0",
 "metadata": {"device": "A\u001b[31m", "kernel": "k\u001b[31m", "autotuner": "T\u001b[31m", "problem": {"n\u001b[31m": 1},
              "timestamp": "\u001b[31m", "timeunit": "milliseconds"},
 "results": [{"configuration": {"b\u001b[31m": 64}, "invalidity": "correct", "correctness": 1, "objectives": ["time"],
              "times": {"runtimes": [0.1]}, "measurements": [{"name": "time", "value": 0.1, "unit": "ms"}]}]}
JSON
    expect 0 import odd.json
    lacks out "$(printf '\033')"
    expect 0 report
    has out "A [31m" "T [31m"
    lacks out "$(printf '\033')"
}

@test "T4: a damaged file changes nothing" {
    results_file '"kernel": "scale", "autotuner": "KTT", "device": "NVIDIA H200"'
    sed -i 's/"value": 0.5/"value": -1/' results.t4.json
    expect 2 import results.t4.json
    has err "results.t4.json: result 1: "
    [ ! -e results ]
}
