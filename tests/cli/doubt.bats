#!/usr/bin/env bats
# A sweep whose first variants all fail to compile with one message: said at once, and on a terminal asked about.
shared_cubins=yes
load helper

# broken_sweep: 20 variants, of which none compiles
broken_sweep() {
    sweep "[scale]" "n = 2^12" "block_size = 32..640 step 32" "mode = broken"
}

@test "said at once, with the message; where nobody can answer, the run goes on" {
    broken_sweep
    for mode in "" --arch=sm_90; do
        rm -rf results
        expect 1 --config sweep.ini --format csv ${mode:+"$mode"}
        has err "the first 8 variants of 'scale' do not compile, all with: scale.cu(26): " "#error directive" \
            "12 variants are left, and the run goes on" "check --compile"
        equal "$(grep -c 'do not compile' err)" 1
        equal "$(count outcome compile_error)" 20
    done
}

# answer TEXT: types it once it is asked for. `script` ends with its input, which therefore lasts until the run has ended
answer() {
    await 'go on?' shown
    printf '%s\n' "$1"
    await . ended
}

# on_terminal ANSWER: the run on a terminal where that is typed; leaves what it shows in the file shown, its exit in $code
on_terminal() {
    rm -rf cache # with which it would be over before it is asked
    code=0
    : >shown
    answer "$1" |
        script -qec "'$AUTOTUNE' --config sweep.ini --arch sm_90; code=\$?; echo \$code >ended; exit \$code" /dev/null \
            >shown || code=$?
}

@test "on a terminal: asked, and no ends the run like Ctrl-C" {
    command -v script >/dev/null || skip "no script"
    broken_sweep
    on_terminal n
    has shown "do not compile, all with: scale.cu(26)" "12 variants are left" "go on? [y/N]" "run the same command to go on"
    equal "$code" 130
    none_alive
}

@test "on a terminal: yes goes on" {
    command -v script >/dev/null || skip "no script"
    broken_sweep
    on_terminal y
    has shown "go on? [y/N]" "no variant of 'scale' was valid"
    equal "$code" 1
}

@test "not said if one compiles, if messages differ, or if nothing is left" {
    sweep "[scale]" "n = 2^12" "block_size = 32..256 step 32" "mode = broken"
    expect 1 --config sweep.ini --arch sm_90 --format csv
    lacks err "go on"
    sed -i 's/^mode = .*/mode = good, broken/' sweep.ini
    expect 0 --config sweep.ini --arch sm_90 --format csv --results other
    lacks err "go on"
}
