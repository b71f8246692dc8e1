#!/usr/bin/env bats
# The man page, by the formatter that people read it with.
load helper

@test "the man page has nothing that man warns about" {
    command -v man >/dev/null || skip "no man"
    LC_ALL=C man --warnings -l "$SOURCE_DIR/tuner/man/autotune.1" >page 2>warnings
    grep -q NAME page
    equal "$(cat warnings)" ""
}
