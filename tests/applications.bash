# For the scripts that build and run applications: source it once $work is a folder.

# quietly COMMAND…: its output is shown where it fails
quietly() {
    "$@" >"$work/output" 2>&1 || { cat "$work/output"; return 1; }
}

# says FILE PATTERN: a line of FILE has it
says() {
    grep -q -e "$2" "$1" && return
    echo "no '$2' in:"
    cat "$1"
    return 1
}
