#compdef autotune
# Completion of autotune for zsh. Commands and options are read from its own help.

_autotune() {
    local command=tune
    local -a found
    if (( CURRENT > 2 )) && [[ ${words[2]} != -* ]]; then
        command=${words[2]}
    fi
    case ${words[CURRENT - 1]} in
    --format | -f) compadd table csv json html t4 && return ;;
    --cache) compadd cold warm && return ;;
    --strategy) compadd model random && return ;;
    --limit | -l) compadd exact cover size gpu family defaults && return ;;
    esac
    if [[ ${words[CURRENT]} == -* ]]; then
        found=(${(f)"$(autotune $command --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')"})
        compadd -- $found
    elif (( CURRENT == 2 )) || [[ $CURRENT == 3 && ${words[2]} == help ]]; then
        found=(${(f)"$(autotune --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
        _describe command found
    else
        _files
    fi
}

_autotune "$@"
