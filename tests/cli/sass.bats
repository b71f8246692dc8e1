#!/usr/bin/env bats
# --sass: machine code of a variant, and the instructions of all of them in static mode. Needs a disassembler.
load helper
load sass

disassembler() {
    autotune emit --kernel widths --sass
    [ "$code" -ne 3 ] || ! grep -q nvdisasm err || skip "$(cat err)"
    exits 0
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
path, = glob.glob("results/static-sm_90/widths/*.csv")
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
