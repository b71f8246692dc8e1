#!/usr/bin/env bats
# The man page, by the formatter that people read it with, and the help of each command.
load helper

@test "the man page has nothing that man warns about" {
    command -v man >/dev/null || skip "no man"
    LC_ALL=C man --warnings -l "$SOURCE_DIR/tuner/man/autotune.1" >page 2>warnings
    grep -q NAME page
    equal "$(cat warnings)" ""
}

@test "every command has help with an example, and is in the man page" {
    [ "$(command_names | wc -l)" -ge 9 ]
    for command in $(command_names); do
        expect 0 "$command" --help
        has out "Example: autotune"
        has "$SOURCE_DIR/tuner/man/autotune.1" ".B $command"
    done
}

@test "the man page has every option, and no other" {
    for command in $(command_names); do
        "$AUTOTUNE" "$command" --help
    done | grep -oE '^ +(-., +)?--[a-z-]+' | grep -oe '--.*' | sort -u >of_help
    echo --version >>of_help
    sed 's/\\-/-/g' "$SOURCE_DIR/tuner/man/autotune.1" |
        sed -n '/^.SH OPTIONS/,/^.SH EXIT/p' | grep -A1 '^.TP' | grep -oE -e '--[a-z][a-z-]*' | sort -u >of_page
    [ "$(wc -l <of_help)" -ge 28 ]
    sort of_help | diff - of_page
}

@test "the man page has every environment variable that the program reads" {
    for name in $(grep -rhoE '(getenv|environment)\("[A-Z0-9_]+"' "$SOURCE_DIR/tuner" --include='*.c' |
        grep -oE '[A-Z][A-Z0-9_]+' | sort -u); do
        has "$SOURCE_DIR/tuner/man/autotune.1" "$name"
    done
}
