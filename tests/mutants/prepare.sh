#!/usr/bin/env bash
# Broken copies of the shipped kernels, and a sweep of them:
#     tests/mutants/prepare.sh FOLDER
# Every NAME.sed here breaks one file of kernel_templates. Its first lines say what is broken, and why
# verification is sure to see it; those that begin with `#:` say which template it is for, which file it
# changes, and the values to try it with. FOLDER gets a copy of all templates for each, in NAME, one as they
# are, in right, and a sweep.ini with two kernels for each: NAME, and NAME_right, the same unbroken.
# Fails where a .sed changes nothing.
set -eu

folder=${1:?usage: tests/mutants/prepare.sh FOLDER}
here=$(realpath "$(dirname "$0")")
templates=$(realpath "$here/../../kernel_templates")
mkdir -p "$folder"

# copy NAME
copy() {
    mkdir -p "$folder/$1"
    cp "$templates"/*.cu "$templates"/*.cuh "$templates"/*.ini "$folder/$1"
}

# value KEY FILE
value() {
    sed -n "s/^#: $1 = //p" "$2"
}

# kernel LABEL COPY FILE: its section of the sweep
kernel() {
    printf '\n[%s]\ntemplate = %s/%s\n' "$1" "$2" "$(value template "$3")"
    sed -n 's/^#: //p' "$3" | grep -vE '^(template|file) = ' || true
}

copy right
cat >"$folder/sweep.ini" <<'END'
[sweep]
templates = .
results = results
tuned = results/tuned.ini
launch_timeout_s = 1
END
for mutant in "$here"/*.sed; do
    name=$(basename "$mutant" .sed)
    file=$(value file "$mutant")
    copy "$name"
    sed -f "$mutant" "$templates/$file" >"$folder/$name/$file"
    if cmp -s "$templates/$file" "$folder/$name/$file"; then
        echo "$name.sed changes nothing in $file; does it still fit?" >&2
        exit 1
    fi
    {
        kernel "$name" "$name" "$mutant"
        kernel "${name}_right" right "$mutant"
    } >>"$folder/sweep.ini"
done
