#!/bin/sh
# usage: layers.sh [PROJECT]
# Checks the layers of tuner/ by the #include lines of its files. Prints FILE:LINE and the rule, and fails, if
#   - a file includes one that its folder may not include (the table below)
#   - a CUDA header is included outside the folder it belongs in
#   - modules (a module is NAME.c and NAME.h) include each other in a cycle
#   - tuner/ holds anything but main.c, README.md, FORMATS.md and the folders of the table
#   - tests/unit has a folder that tuner/ does not have
set -eu
cd "${1:-$(dirname "$0")/../..}"

# What each folder may include besides itself and the public headers, include/autotune: folders, or single modules as
# FOLDER/NAME. A new folder gets a line.
folders='
base
template        base
search          base template
record          base template search
exchange        base template search record
compile         base template record
gpu             base template record compile
tune            base template search record compile
cover           base template search record compile tune
report          base template search record compile
mpi             base
command         base template search record cover exchange compile gpu tune report
library         base/cover base/ini_reader base/literal base/tuned_reader base/value
library/kernel  base template record compile gpu
main.c          base command
include
man
python
'
# CUDA's headers (regular expressions), and the folder or file that may include them. The first match counts.
headers='
^cuda_occupancy[.]h$  record/gpu.c
^nvrtc[.]h$           compile
^mpi[.]h$             mpi/peers.c
^(cuda|nvml)          gpu
'

status=0
fail() {
    echo "$1"
    status=1
}

for entry in tuner/* tuner/.[!.]*; do
    name=${entry#tuner/}
    case $name in
    main.c | README.md | FORMATS.md | '*' | '.[!.]*') continue ;;
    esac
    if [ ! -d "$entry" ]; then
        fail "$entry: only main.c, README.md and FORMATS.md stand beside the folders of tuner/"
    elif ! printf '%s' "$folders" | grep -q "^$name\\( \\|\$\\)"; then
        fail "$entry: a folder that the table in tests/lint/layers.sh does not have"
    fi
done
for entry in tests/unit/*/; do
    name=$(basename "$entry")
    [ -d "tuner/$name" ] || fail "$entry: there is no tuner/$name"
done
for entry in tests/unit/test_*.c; do
    [ ! -e "$entry" ] || fail "$entry: belongs in the folder of what it tests"
done

files=$(find tuner -name '*.[ch]' | LC_ALL=C sort)
[ -n "$files" ]
# shellcheck disable=SC2086 # none of the names has blanks
FOLDERS=$folders HEADERS=$headers awk '
BEGIN {
    lines = split(ENVIRON["FOLDERS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        fields = split(line[i], field, " ")
        if (fields > 0)
            rule[field[1]] = ""
        for (j = 2; j <= fields; j++) {
            may[field[1], field[j]] = 1
            rule[field[1]] = rule[field[1]] (j == 2 ? "" : j < fields ? ", " : " and ") \
                             field[j] (field[j] ~ /\// ? "" : "/")
        }
    }
    lines = split(ENVIRON["HEADERS"], line, "\n")
    for (i = 1; i <= lines; i++)
        if (split(line[i], field, " ") == 2) {
            pattern[++patterns] = field[1]
            place[patterns] = field[2]
        }
    for (i = 1; i < ARGC; i++)
        is_file[ARGV[i]] = 1
}

function fail(text) {
    print text
    failed = 1
}

# "tuner/gpu/measure.c" -> "gpu", "tuner/main.c" -> "main.c"; library/kernel is a folder of the table
function folder_of(path) {
    sub(/^tuner\//, "", path)
    if (path ~ /^library\/kernel\//)
        return "library/kernel"
    sub(/\/.*/, "", path)
    return path
}

function module_of(path) {
    sub(/^tuner\//, "", path)
    sub(/[.][ch]$/, "", path)
    return path
}

# The file of tuner/ that the current line includes, "" if it is not one of them.
function resolve(name,   path) {
    path = FILENAME
    sub(/[^\/]*$/, name, path)
    while (sub(/[^\/]+\/[.][.]\//, "", path))
        ;
    if (path in is_file)
        return path
    if (("tuner/" name) in is_file)
        return "tuner/" name
    return ("tuner/include/" name) in is_file ? "tuner/include/" name : ""
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    quoted = $0 ~ /^[^"<]*"/
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*/, "", name)
    at = FILENAME ":" FNR ": "
    from = folder_of(FILENAME)
    for (i = 1; i <= patterns; i++)
        if (name ~ pattern[i]) {
            if (index(FILENAME, "tuner/" place[i]) != 1)
                fail(at name " belongs in " place[i] (place[i] ~ /[.]c$/ ? "" : "/") " alone")
            next
        }
    path = resolve(name)
    if (path == "") {
        if (quoted)
            fail(at "there is no \"" name "\"")
        next
    }
    # libtuned has no include path; its files name those beside them
    if (path != "tuner/" name && path != "tuner/include/" name && from !~ /^library/)
        fail(at "write \"" substr(path, 7) "\"")
    to = folder_of(path)
    if (to != from && to != "include" && !((from, to) in may) && !((from, module_of(path)) in may))
        fail(at from (from ~ /[.]c$/ ? "" : "/") " may not include \"" name "\"; it may include " \
             (rule[from] == "" ? "" : rule[from] ", ") "itself and include/autotune")
    from = module_of(FILENAME)
    to = module_of(path)
    if (from != to && !((from, to) in where)) {
        where[from, to] = FILENAME ":" FNR
        if (!(from in targets))
            module[++modules] = from
        target[from, ++targets[from]] = to
    }
}

# Looks for cycles, depth first. state: 0 not seen, 1 on the way, 2 done.
function visit(name, depth,   i) {
    state[name] = 1
    way[depth] = name
    for (i = 1; i <= targets[name]; i++)
        if (state[target[name, i]] == 1)
            print_cycle(target[name, i], depth)
        else if (state[target[name, i]] == 0)
            visit(target[name, i], depth + 1)
    state[name] = 2
}

function print_cycle(name, depth,   i, cycle, lines) {
    for (i = depth; way[i] != name; i--)
        ;
    for (cycle = name; i <= depth; i++) {
        to = i < depth ? way[i + 1] : name
        cycle = cycle " -> " to
        lines = lines "\n    " where[way[i], to]
    }
    fail("modules include each other: " cycle lines)
}

END {
    for (m = 1; m <= modules; m++)
        if (state[module[m]] == 0)
            visit(module[m], 1)
    exit failed
}' $files || status=1
exit $status
