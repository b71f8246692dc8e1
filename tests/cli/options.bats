#!/usr/bin/env bats
# Options and what is said about wrong ones.
load helper

@test "--version names the program and its version" {
    expect 0 --version
    grep -qE '^autotune [0-9]+\.[0-9]+\.[0-9]+$' out
}

@test "--help names every command and exit code" {
    expect 0 --help
    has out tune check devices report "0 done" "1 nothing valid" "2 usage" "3 device" "4 a worker" "130 interrupted"
}

@test "help, --help, -h and no arguments print the same" {
    autotune --help
    mv out expected
    for arguments in "" help -h; do
        expect 0 $arguments
        diff expected out
    done
}

@test "help COMMAND prints what COMMAND --help does, in 80 columns" {
    [ "$(command_names | wc -l)" -ge 11 ]
    for command in $(command_names); do
        expect 0 "$command" --help
        mv out expected
        has expected "Example: autotune" "-h, --help"
        expect 0 help "$command"
        diff expected out
        if grep -E '.{81}' out; then return 1; fi
    done
    autotune help
    if grep -E '.{81}' out; then return 1; fi
}

@test "the usage names the command" {
    for command in $(command_names); do
        autotune help "$command"
        grep -qE "^Usage: autotune \\[?$command" out
    done
}

@test "help of an unknown command suggests the nearest" {
    expect 2 help bundel
    has err "unknown command 'bundel'" "did you mean 'bundle'?"
    expect 2 help tune check
    has err "'check'" "autotune help --help"
    [ ! -s out ]
}

@test "--help of the default command names its options" {
    expect 0 tune --help
    has out --config --arch --device --jobs --tuned --results --kernel --format --quiet --help
}

@test "each command has help of its own" {
    for command in check devices report; do
        expect 0 $command --help
        has out "$command" --
    done
}

@test "no config is an error that says what to do" {
    expect 2 tune
    has err --config
    [ ! -s out ]
}

@test "a config that is not there" {
    expect 2 --config nowhere.ini
    has err nowhere.ini
}

@test "an unknown option" {
    expect 2 --confg sweep.ini
    has err "--confg"
}

@test "an unknown command" {
    expect 2 chekc --config "$sweeps/scale.ini"
    has err "'chekc'" "did you mean 'check'?" --help
}

@test "an unknown kernel, with the nearest" {
    expect 2 check --config "$sweeps/shapes.ini" --kernel tilee
    has err "'tilee'" tile
}

@test "numbers are checked" {
    expect 2 --config "$sweeps/scale.ini" --jobs 0
    has err jobs
    expect 2 --config "$sweeps/scale.ini" --jobs many
    has err "many: expected a whole number"
    expect 2 --config "$sweeps/scale.ini" --device -1
    expect 2 --config "$sweeps/scale.ini" --format xml
    has err "xml" csv json
}

@test "an option whose value is empty, as from an unset variable, is refused: it would write into /" {
    local arguments
    for arguments in "tune --config $sweeps/scale.ini --results" "tune --config $sweeps/scale.ini --tuned" \
        "bundle --output" "cover --config $sweeps/scale.ini --output" "report --results" "emit --kernel" "explain --tuned"; do
        # shellcheck disable=SC2086 # one word each
        expect 2 $arguments ""
        has err "--${arguments##*--} is empty"
    done
    fails compgen -G 'results*'
}

@test "numbers in environment variables are checked, too" {
    local setting
    for setting in AUTOTUNE_CACHE_MB=2G AUTOTUNE_COMPILE_MEMORY_MB=8G AUTOTUNE_COMPILE_MEMORY_MB=0 \
        AUTOTUNE_WORKER_TIMEOUT_S=1min AUTOTUNE_WORKER_TIMEOUT_S=0; do
        code=0
        env "$setting" "$AUTOTUNE" --config "$sweeps/scale.ini" >out 2>err </dev/null || code=$?
        exits 2
        has err "${setting%=*} is '${setting#*=}'; give "
    done
}

@test "errors leave standard output empty and nothing behind" {
    expect 2 --config "$sweeps/scale.ini" --format xml
    [ ! -s out ]
    [ ! -e results ]
}
