# Completion of autotune for bash. Commands and options are read from its own help.

_autotune_commands() {
    autotune --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_autotune_options() {
    autotune "$1" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*'
}

_autotune() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=tune
    COMPREPLY=()
    case $previous in
    --format | -f) mapfile -t COMPREPLY < <(compgen -W "table csv json html t4" -- "$current") && return ;;
    --cache) mapfile -t COMPREPLY < <(compgen -W "cold warm" -- "$current") && return ;;
    --strategy) mapfile -t COMPREPLY < <(compgen -W "model random" -- "$current") && return ;;
    --limit | -l) mapfile -t COMPREPLY < <(compgen -W "exact cover size gpu family defaults" -- "$current") && return ;;
    esac
    if [ "$COMP_CWORD" -gt 1 ] && [ "${COMP_WORDS[1]:0:1}" != - ]; then
        command=${COMP_WORDS[1]}
    fi
    if [ "${current:0:1}" = - ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_autotune_options "$command")" -- "$current")
    elif [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$previous" = help ]; }; then
        mapfile -t COMPREPLY < <(compgen -W "$(_autotune_commands)" -- "$current")
    fi
}

complete -o default -F _autotune autotune
