#!/usr/bin/env bats
# Completion in zsh, by typing into one, and in bash.
load helper

complete_in_zsh() { # LINE: what becomes of it when the tab key is pressed
    mkdir -p completions
    cp "$SOURCE_DIR/tuner/man/completion.zsh" completions/_autotune # as it is installed
    PATH=$(dirname "$AUTOTUNE"):$PATH timeout 60 "$SOURCE_DIR/tests/cli/complete.zsh" "$PWD/completions" "$@"
}

@test "zsh completes commands, options, their words and files" {
    command -v zsh >/dev/null || skip "no zsh"
    touch a_sweep.ini
    complete_in_zsh "autotune dev" "autotune merge --outp" "autotune --conf" "autotune report --format h" \
        "autotune explain --limit fam" "autotune --config a_sw" "autotune a_sw" "autotune help dev" >completed
    diff completed - <<'END'
autotune devices
autotune merge --output
autotune --config
autotune report --format html
autotune explain --limit family
autotune --config a_sweep.ini
autotune a_sweep.ini
autotune help devices
END
}

# named: a sweep and templates, of which the one is for a kernel that the other is not, and a tuned INI
named() {
    sweep '[shrunk]' 'template = scale' 'block_size = 64'
    printf '[a 1]\nkernel = matmul_tuned\n' >tuned.ini
}

@test "zsh completes kernels and values" {
    command -v zsh >/dev/null || skip "no zsh"
    named
    complete_in_zsh "autotune sweep.ini --kernel shr" "autotune run --templates templates --kernel bl" \
        "autotune run sweep.ini --kernel shrunk --set blo" "autotune check --template templates/scale.ini --set num" \
        "autotune explain --tuned tuned.ini --kernel ma" >completed
    diff completed - <<'END'
autotune sweep.ini --kernel shrunk
autotune run --templates templates --kernel blur
autotune run sweep.ini --kernel shrunk --set block_size=
autotune check --template templates/scale.ini --set num_load=
autotune explain --tuned tuned.ini --kernel matmul_tuned
END
}

@test "zsh leaves alone what is ambiguous or unknown" {
    command -v zsh >/dev/null || skip "no zsh"
    complete_in_zsh "autotune ex" "autotune --no-such" >completed
    diff completed - <<'END'
autotune exp
autotune --no-such
END
}

@test "bash completes commands, options, kernels and values" {
    cat >complete.sh <<SH
PATH=$(dirname "$AUTOTUNE"):\$PATH
. "$SOURCE_DIR/tuner/man/completion.bash"
COMP_WORDS=(autotune ex) COMP_CWORD=1; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune merge --out) COMP_CWORD=2; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune help de) COMP_CWORD=2; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune sweep.ini --kernel shr) COMP_CWORD=3; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune run --templates none,templates --kernel bl) COMP_CWORD=5; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune run sweep.ini -k shrunk --set blo) COMP_CWORD=6; _autotune; echo "\${COMPREPLY[@]}"
COMP_WORDS=(autotune bundle -t tuned.ini --kernel ma) COMP_CWORD=5; _autotune; echo "\${COMPREPLY[@]}"
SH
    named
    bash complete.sh >out
    has out "explain export" "--output" devices shrunk blur "block_size=" matmul_tuned
}
