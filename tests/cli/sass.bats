#!/usr/bin/env bats
# emit --sass: machine code of a variant. Needs a disassembler.
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
