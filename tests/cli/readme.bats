#!/usr/bin/env bats
# What the documents show works as typed: their kernels, their commands and options, their links.

load helper

setup() {
    scratch=$(mktemp -d)
    cd "$scratch" || return 1
    example=$SOURCE_DIR/tests/examples/saxpy
    documents=(README.md docs/{tuning,clusters,covers,shipping}.md kernel_templates/README.md)
}

teardown() {
    cd / && rm -rf "$scratch"
}

# commands DOCUMENT [SECTION]: what its blocks of sh hold, or those of the section alone
commands() {
    awk -v heading="${2:+## $2}" '
        /^## / { section = ($0 == heading) }
        /^```/ { inside = (!inside && $0 == "```sh"); next }
        (section || heading == "") && inside { print }' "$SOURCE_DIR/$1"
}

# Where the package sqlite3 is not installed: a program of that name that prints what a query finds.
sqlite3_by_python() {
    cat >bin/sqlite3 <<'PYTHON'
#!/usr/bin/env python3
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="|")
PYTHON
    chmod +x bin/sqlite3
}

# The user's folder with README's first kernel, and autotune in PATH, with a driver.
own_folder() {
    export AUTOTUNE_CACHE=$scratch/cache LD_LIBRARY_PATH=$BUILD_DIR/tests/standin AUTOTUNE_STANDIN=noise=0.002
    mkdir bin folder
    ln -s "$AUTOTUNE" bin/autotune
    command -v sqlite3 >/dev/null || sqlite3_by_python
    PATH=$scratch/bin:$PATH
    cd folder
    cp -r "$example/kernels" "$example/sweep.ini" .
    sed -i 's/2^24/2^14/' kernels/saxpy.ini # which computes on the host
}

# as_typed DOCUMENT [SECTION]: runs the commands in the current folder, with sizes for the stand-in, and counts them
as_typed() {
    commands "$@" | sed 's/2^16/2^12/; s/2^2\([0-9]\)/2^1\1/g' >"$scratch/typed"
    count=0
    while read -r command; do
        echo "\$ $command"
        bash -c "$command" </dev/null >"$scratch/output" 2>&1 || { tail -n 20 "$scratch/output" && return 1; }
        [ -s "$scratch/output" ] || [[ $command == *--output* ]]
        count=$((count + 1))
    done <"$scratch/typed"
}

@test "README shows the files of tests/examples/saxpy" {
    for file in kernels/saxpy.cu kernels/saxpy.ini sweep.ini python/saxpy.py; do
        first=$(head -n 1 "$example/$file")
        awk -v first="$first" '
            /^```/ { if (inside) { inside = 0; taken = 0 } else { inside = 1; fresh = 1 } next }
            inside && fresh { taken = ($0 == first); fresh = 0 }
            inside && taken { print }' "$SOURCE_DIR/README.md" >shown
        diff "$example/$file" shown
    done
}

@test "README's first kernel is tuned, inspected and compared as typed" {
    own_folder
    as_typed README.md "Your first kernel"
    [ "$count" -eq 3 ]
    grep -q '^winner: ' "$scratch/output"
    [ -s results/tuned.ini ]
    [ -s results/record.sqlite ]
    [ -n "$(find results -mindepth 3 -name '*.csv')" ] # <gpu>/<kernel>/<problem>.csv
    as_typed README.md Tune
    [ "$count" -ge 6 ]
    as_typed README.md Look
    [ "$count" -ge 7 ]
    [ -n "$(find pages -name saxpy.html)" ]
    as_typed README.md "In CI"
    [ "$count" -eq 3 ]
}

@test "the commands of docs/ work as typed" {
    own_folder
    autotune sweep.ini --quiet
    for document in tuning clusters covers; do
        as_typed docs/$document.md
        [ "$count" -ge 1 ]
    done
    commands docs/tuning.md | grep -q simulate
}

@test "a clone stays clean after what bootstrap.sh and the commands of its user write" {
    export AUTOTUNE_CACHE=$scratch/cache LD_LIBRARY_PATH=$BUILD_DIR/tests/standin AUTOTUNE_STANDIN=noise=0.002
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
    git -C "$SOURCE_DIR" ls-files -z >files || skip "no clone here"
    tar -C "$SOURCE_DIR" --ignore-failed-read --null -T files -c | tar -x
    ln -sfn "$BUILD_DIR" build
    printf '[reduce_sum]\nn = 2^12\nblock_size = 256, 512\nfinish = last_block, gather\n' >configs/sweep.ini
    printf '%s\n' /files /left /cache /build >exclude
    git init -q . && mv exclude .git/info/exclude && git add .
    build/autotune configs/sweep.ini --quiet >/dev/null
    build/autotune bundle --output bundle >/dev/null
    build/autotune report --format t4 --output t4/ >/dev/null
    (cd tests/examples/saxpy && "$AUTOTUNE" sweep.ini --arch sm_90 --quiet >/dev/null)
    git status --porcelain --untracked-files=all >left
    if grep -v '^A  ' left; then return 1; fi
}

# Those of Install and Ship are typed by tests/downstream/test.sh, which has an installed package.
@test "every command that the documents type exists, and has the options that it is given" {
    count=0
    while read -r line; do
        command=$(sed -n 's,^autotune \([a-z][a-z]*\)\( .*\|$\),\1,p' <<<"$line")
        "$AUTOTUNE" "${command:-tune}" --help >help
        grep -q "^Usage: autotune \[\?${command:-tune}\|^Usage: autotune SWEEP" help
        for option in $(grep -o -e ' --[a-z-]*' <<<"${line%%#*}"); do
            case $command$option in
            explain--n) ;; # the problem's values
            *) grep -q -e " ${option}[ =]" help || { echo "no $option: $line" && return 1; } ;;
            esac
        done
        count=$((count + 1))
    done < <(for document in "${documents[@]}"; do commands "$document"; done | grep '^autotune ')
    [ "$count" -ge 30 ]
}

@test "no line of README's demonstration is wider than a terminal, and README has at most 300 lines" {
    awk '/^```/ { if (++fences == 2) exit; next } fences' "$SOURCE_DIR/README.md" >demonstration
    [ "$(wc -l <demonstration)" -ge 10 ]
    if grep -E '.{81}' demonstration; then return 1; fi
    [ "$(wc -l <"$SOURCE_DIR/README.md")" -le 300 ]
}

@test "every file and section that a document links to exists" {
    python3 - "$SOURCE_DIR" <<'PYTHON'
import re, subprocess, sys
from pathlib import Path

root = Path(sys.argv[1]).resolve()
documents = [file for file in root.rglob("*.md") if not re.match(r"build|\.", str(file.relative_to(root)))]


def anchors(file):
    text = re.sub(r"^```.*?^```$", "", file.read_text(), flags=re.M | re.S)
    titles = (re.sub(r"[`*]", "", title) for title in re.findall(r"^#+ (.*)", text, re.M))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


count, broken = 0, 0
for document in documents:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or anchor and anchor not in anchors(target):
            print(f"{document.relative_to(root)}: {link}")
            broken += 1
        count += 1
assert count >= 40 and not broken
PYTHON
}

@test "the tutorial of kernel_templates grows the template in tests/examples/update, which compiles" {
    example=$SOURCE_DIR/tests/examples/update
    sed -n '/^## A template that grows/,/^## The template, key by key/p' "$SOURCE_DIR/kernel_templates/README.md" |
        awk '/^```/ { inside = (!inside && /ini|cuda/); next } inside' |
        grep -v -e '^grid = ceil_div(n, 256)$' -e '^block = 256$' -e '^arguments = float a, x, y, int32 n$' >shown
    [ "$(wc -l <shown)" -ge 60 ]
    cat "$example"/kernels/update.* "$example/sweep.ini" >whole
    if grep -v -x -F -f whole shown; then return 1; fi
    # and nothing of the template is left unsaid
    if grep -v -x -F -f shown "$example/kernels/update.ini"; then return 1; fi
    cd "$example"
    AUTOTUNE_CACHE=$scratch/cache run "$AUTOTUNE" check sweep.ini --compile --arch sm_80
    [ "$status" -eq 0 ]
}

@test "the table of outcomes in README of kernel_templates is the program's" {
    count=0
    for outcome in $(sed -n 's/^    X([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$SOURCE_DIR/tuner/record/study.h"); do
        grep -q "^| \`$outcome\` |" "$SOURCE_DIR/kernel_templates/README.md"
        count=$((count + 1))
    done
    [ "$count" -ge 10 ]
}
