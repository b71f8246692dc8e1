#!/usr/bin/env bats
# Options and what is said about wrong ones.
load helper

@test "--version and -V name the program and its version" {
    expect 0 -V
    mv out short
    expect 0 --version
    diff short out
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

@test "an unknown option, with the nearest, also where values are options" {
    local arguments
    for arguments in "--confg sweep.ini" "emit --templat kernels/scale.ini" "emit --templat x" "emit --sas" \
        "run --template $sweeps/templates/scale.ini --diferences 5" "cover --rang=n" "check --compil"; do
        # shellcheck disable=SC2086 # words
        expect 2 $arguments
        has err "unknown option '--" "'; did you mean '--"
    done
    expect 2 run --template "$sweeps/templates/scale.ini" --blok_size 64
    has err "unknown option '--blok_size'; did you mean '--block_size'?"
    expect 2 report --zzzzzz
    has err "unknown option '--zzzzzz'; see \`autotune report --help\`"
    expect 2 report -Z
    has err "-Z: unknown option"
}

@test "a sweep file or a template is the only argument, and one is enough" {
    expect 0 "$sweeps/scale.ini" --quiet
    has results/tuned.ini "command = autotune $sweeps/scale.ini --quiet"
    nothing_to_do tune "$sweeps/scale.ini"
    expect 0 check "$sweeps/templates/scale.ini"
    has out "1 variant of 1"
    expect 2 nowhere.ini
    has err "nowhere.ini: cannot open"
    expect 2 "$sweeps/scale.ini" --config "$sweeps/many.ini"
    has err "many.ini' and '" "name one sweep file or template"
    expect 2 check "$sweeps/scale.ini" "$sweeps/many.ini"
    has err "unexpected argument '$sweeps/many.ini'"
    expect 2 explain "$sweeps/scale.ini"
    has err "unexpected argument"
}

@test "tune, cover, check, run and emit name a template in the same ways" {
    local command source
    for source in "--config $sweeps/scale.ini --kernel scale" "--template $sweeps/templates/scale.ini" \
        "--kernel scale --templates $sweeps/templates" "$sweeps/templates/scale.ini"; do
        for command in "check" "emit" "run" "tune" "cover --range n=2^10..2^11"; do
            # shellcheck disable=SC2086 # words
            expect 0 $command $source --set block_size=64 --set num_load=4
        done
    done
    grep -q '^configuration.1.block_size = 64$' results/tuned.ini # and not the sweep's best
    has results/tuned.ini "range.n = 1024 .. 2048" "configuration.1.num_load = 4"
    expect 2 check
    has err "no kernel; name a sweep file"
    expect 2 check --kernel one --kernel two
    has err "several kernels need a sweep file"
    expect 2 check --config "$sweeps/scale.ini" --templates .
    has err "leave it out"
    expect 2 cover --template "$sweeps/templates/scale.ini" --range "m = 1 .. 2"
    has err "unknown problem value 'm'"
}

@test "run and emit take one kernel of a sweep, with its values, cache state and limit of time" {
    sweep 'launch_timeout_s = 7' '[one]' 'template = scale' 'n = 2^11, 2^12' 'block_size = 32, 64' 'num_load = 4' \
        'constraint = block_size > 32' 'cache = warm' '[scale]' 'n = 2^10'
    expect 2 emit sweep.ini
    has err "the sweep has several kernels; choose one, for example --kernel one"
    expect 0 emit sweep.ini --kernel one
    has out "#define BLOCK_SIZE 64" "#define NUM_LOAD 4"
    expect 0 run sweep.ini --kernel one --num_load 1
    has out "n=2048" "block_size=64 num_load=1"
    sed -i 's/^constraint.*/mode = hang/;s/= 7/= 0.2/' sweep.ini
    expect 1 run sweep.ini --kernel one
    has out "timeout: " "0.2 s"
}

@test "without a driver, each command advises what it can do" {
    export LD_LIBRARY_PATH=/nowhere
    for command in tune run "cover --range n=8..9"; do
        # shellcheck disable=SC2086 # words
        expect 3 $command --template "$sweeps/templates/scale.ini"
        has err "no NVIDIA driver found"
        case $command in
        tune) has err "--arch sm_90 reports registers" ;;
        *) lacks err --arch ;;
        esac
    done
}

@test "without a tuned INI: what to do" {
    local command
    for command in bundle "bundle --output b" "explain --kernel scale --n 5" "export --header"; do
        # shellcheck disable=SC2086 # words
        expect 2 $command
        [ "$command" = bundle ] || has err "results/tuned.ini: there is no tuned INI yet; tune first"
    done
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
