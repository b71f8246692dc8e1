#!/usr/bin/env bats
# What README shows works as typed: its kernel, its commands and their options.

load helper

setup() {
    scratch=$(mktemp -d)
    cd "$scratch" || return 1
    readme=$SOURCE_DIR/README.md
}

teardown() {
    cd / && rm -rf "$scratch"
}

# The fenced block of README whose first line is $1, without that line's fence.
block() {
    awk -v first="$1" '
        /^```/ { if (inside) { inside = 0; taken = 0 } else { inside = 1; fresh = 1 } next }
        inside && fresh { taken = ($0 == first); fresh = 0 }
        inside && taken { print }' "$readme"
}

@test "the kernel that README adds compiles for every architecture that the page names" {
    mkdir kernel_templates configs
    block "// kernel_templates/saxpy.cu" >kernel_templates/saxpy.cu
    block "; kernel_templates/saxpy.ini" >kernel_templates/saxpy.ini
    block "; configs/saxpy.ini" >configs/saxpy.ini
    run "$AUTOTUNE" check --config configs/saxpy.ini
    [ "$status" -eq 0 ]
    [[ $output == *"15 variants of 15"* ]]
    AUTOTUNE_CACHE=$scratch/cache run "$AUTOTUNE" check --template kernel_templates/saxpy.ini --compile --arch sm_80
    [ "$status" -eq 0 ]
    [[ $output == *"n=16777216: block_size=256 waves=1: "* ]]
    AUTOTUNE_CACHE=$scratch/cache run "$AUTOTUNE" --config configs/saxpy.ini --arch sm_80 --quiet
    [ "$status" -eq 0 ]
    [[ $output == *"15 compiled"* ]]
}

# commands SECTION: what its blocks of sh hold
commands() {
    awk -v heading="## $1" '
        /^## / { section = ($0 == heading) }
        /^```/ { inside = (!inside && $0 == "```sh"); next }
        section && inside { print }' "$readme"
}

# Where the package sqlite3 is not installed: a program of that name that prints what a query finds.
sqlite3_by_python() {
    mkdir -p bin
    PATH=$scratch/bin:$PATH
    cat >bin/sqlite3 <<'PYTHON'
#!/usr/bin/env python3
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="|")
PYTHON
    chmod +x bin/sqlite3
}

# clone: the current folder becomes a clone of the project as it is, built, with sweeps that the stand-in driver can run
clone() {
    export AUTOTUNE_CACHE=$scratch/cache LD_LIBRARY_PATH=$BUILD_DIR/tests/standin AUTOTUNE_STANDIN=noise=0.002
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
    git -C "$SOURCE_DIR" ls-files -z >files || skip "no clone here"
    tar -C "$SOURCE_DIR" --ignore-failed-read --null -T files -c | tar -x
    ln -sfn "$BUILD_DIR" build
    mkdir old
    printf '[reduce_sum]\nn = 2^12, 2^14\nblock_size = 256, 512\nfinish = last_block, gather\n' >configs/sweep.ini
    printf '[reduce_sum]\ncover = n = 2^12 .. 2^13\nblock_size = 256, 512\nfinish = last_block\n' >configs/cover.ini
    command -v sqlite3 >/dev/null || sqlite3_by_python
    printf '%s\n' /files /typed /left /output /cache /bin /build /old /results.t4.json >exclude
    git init -q . && mv exclude .git/info/exclude && git add .
}

# as_typed SECTION: runs the commands in the current folder, and counts them
as_typed() {
    commands "$1" >typed
    count=0
    while read -r command; do
        echo "\$ $command"
        bash -c "$command" </dev/null >output 2>&1 || { tail -n 20 output && return 1; }
        [ -s output ] || [[ $command == *--output* ]]
        count=$((count + 1))
    done <typed
}

@test "the commands of Tune, Inspect and Exchange work as typed, and leave the clone clean" {
    clone
    cat >results.t4.json <<'JSON'
{"schema_version": "1.0.0", "results": [{"configuration": {"a": 1}, "times": {}, "invalidity": "correct",
 "correctness": 1, "measurements": [{"name": "time", "value": 0.5, "unit": "ms"}]}]}
JSON
    as_typed Tune
    [ "$count" -ge 6 ]
    cp results/tuned.ini old
    as_typed Inspect
    [ "$count" -ge 8 ]
    [ -s results/tuned.ini ]
    [ -n "$(find results -mindepth 3 -name '*.csv')" ] # <gpu>/<kernel>/<problem>.csv
    as_typed Exchange
    [ "$count" -eq 3 ]
    grep -q 'measured by Kernel Tuner' output
    git status --porcelain --untracked-files=all >left
    if grep -v '^A  ' left; then return 1; fi
}

# Those of Ship are typed by tests/downstream/test.sh, which has an installed package.
@test "every command that README types exists, and has the options that it is given" {
    count=0
    while read -r line; do
        command=$(sed -n 's,^build/autotune \([a-z][a-z]*\).*,\1,p' <<<"$line")
        "$AUTOTUNE" "${command:-tune}" --help >help
        grep -q "^Usage: autotune \[\?${command:-tune}" help
        for option in $(grep -o -e ' --[a-z-]*' <<<"${line%%#*}"); do
            case $command$option in
            explain--n | explain--value_type | explain--value) ;; # the problem's values
            *) grep -q -e " ${option}[ =]" help || { echo "no $option: $line" && return 1; } ;;
            esac
        done
        count=$((count + 1))
    done < <(grep '^build/autotune' "$readme")
    [ "$count" -ge 18 ]
}

@test "no line of README's demonstration is wider than a terminal" {
    awk '/^```/ { if (++fences == 2) exit; next } fences' "$readme" >demonstration
    [ "$(wc -l <demonstration)" -ge 10 ]
    if grep -E '.{81}' demonstration; then return 1; fi
}

@test "every file that README links to exists" {
    count=0
    for file in $(grep -o '](\([^)#]*\)' "$readme" | sed 's/^](//' | grep -v '^http' | sort -u); do
        [ -e "$SOURCE_DIR/$file" ] || { echo "no $file" && return 1; }
        count=$((count + 1))
    done
    [ "$count" -ge 6 ]
}

@test "the table of outcomes in README of kernel_templates is the program's" {
    count=0
    for outcome in $(sed -n 's/^    X([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$SOURCE_DIR/tuner/record/study.h"); do
        grep -q "^| \`$outcome\` |" "$SOURCE_DIR/kernel_templates/README.md"
        count=$((count + 1))
    done
    [ "$count" -ge 10 ]
}
