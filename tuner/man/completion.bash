# Completion of autotune for bash. Commands and options are read from its own help, kernels and values from the sweep or
# the templates that the line names.

_autotune_commands() {
    autotune --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_autotune_options() {
    autotune "$1" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*'
}

# _autotune_names kernel|value: of the sweep or template among the words, or of the templates
_autotune_names() {
    local i source=()
    for ((i = 1; i < COMP_CWORD - 1; i++)); do
        case ${COMP_WORDS[i]} in
        --kernel | -k) [ "$1" = kernel ] || source+=(--kernel "${COMP_WORDS[i + 1]}") ;;
        --config | -c | --template | --templates) source+=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
        *.ini) [ "${COMP_WORDS[i - 1]:0:1}" = - ] || source+=("${COMP_WORDS[i]}") ;;
        esac
    done
    autotune check --list-names "${source[@]}" 2>/dev/null | sed -n "s/^$1 //p"
}

# Of the tuned INI among the words, or results/tuned.ini.
_autotune_tuned() {
    local i tuned=results/tuned.ini
    for ((i = 1; i < COMP_CWORD - 1; i++)); do
        case ${COMP_WORDS[i]} in --tuned | -t) tuned=${COMP_WORDS[i + 1]} ;; esac
    done
    [ ! -d "$tuned" ] || tuned=$tuned/tuned.ini
    sed -n 's/^kernel = //p' "$tuned" 2>/dev/null
}

_autotune() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=tune words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* && ${COMP_WORDS[1]} != *.* ]]; then
        command=${COMP_WORDS[1]}
    fi
    case $previous in
    --format | -f) words="table csv json html t4" ;;
    --cache) words="cold warm" ;;
    --strategy) words="model random" ;;
    --limit | -l) words="exact cover size gpu family defaults" ;;
    --kernel | -k)
        case $command in
        report | explain | export | bundle) words=$(_autotune_tuned) ;;
        *) words=$(_autotune_names kernel) ;;
        esac
        ;;
    --set | -s)
        words=$(_autotune_names value | sed 's/$/=/')
        compopt -o nospace 2>/dev/null
        ;;
    esac
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | sort -u)
    elif [ "${current:0:1}" = - ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_autotune_options "$command")" -- "$current")
    elif [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$previous" = help ]; }; then
        mapfile -t COMPREPLY < <(compgen -W "$(_autotune_commands)" -- "$current")
    fi
}

complete -o default -F _autotune autotune
