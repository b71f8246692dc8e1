#compdef autotune
# Completion of autotune for zsh. Commands and options are read from its own help, kernels and values from the sweep or
# the templates that the line names.

# _autotune_names kernel|value: of the sweep or template among the words, or of the templates
_autotune_names() {
    local i
    local -a source
    for ((i = 2; i < CURRENT - 1; i++)); do
        case ${words[i]} in
        --kernel | -k) [[ $1 == kernel ]] || source+=(--kernel ${words[i + 1]}) ;;
        --config | -c | --template | --templates) source+=(${words[i]} ${words[i + 1]}) ;;
        *.ini) [[ ${words[i - 1]} == -* ]] || source+=(${words[i]}) ;;
        esac
    done
    autotune check --list-names $source 2>/dev/null | sed -n "s/^$1 //p"
}

# Of the tuned INI among the words, or results/tuned.ini.
_autotune_tuned() {
    local i tuned=results/tuned.ini
    for ((i = 2; i < CURRENT - 1; i++)); do
        case ${words[i]} in --tuned | -t) tuned=${words[i + 1]} ;; esac
    done
    [[ ! -d $tuned ]] || tuned=$tuned/tuned.ini
    sed -n 's/^kernel = //p' $tuned 2>/dev/null
}

_autotune() {
    local command=tune
    local -a found
    if (( CURRENT > 2 )) && [[ ${words[2]} != -* && ${words[2]} != *.* ]]; then
        command=${words[2]}
    fi
    case ${words[CURRENT - 1]} in
    --format | -f) compadd table csv json html t4 && return ;;
    --cache) compadd cold warm && return ;;
    --strategy) compadd model random && return ;;
    --limit | -l) compadd exact cover size gpu family defaults && return ;;
    --kernel | -k)
        case $command in
        report | explain | export | bundle) found=(${(f)"$(_autotune_tuned)"}) ;;
        *) found=(${(f)"$(_autotune_names kernel)"}) ;;
        esac
        compadd -- ${(u)found} && return
        ;;
    --set | -s)
        found=(${(f)"$(_autotune_names value)"})
        compadd -S = -- ${(u)found} && return
        ;;
    esac
    if [[ ${words[CURRENT]} == -* ]]; then
        found=(${(f)"$(autotune $command --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')"})
        compadd -- $found
    elif (( CURRENT == 2 )) || [[ $CURRENT == 3 && ${words[2]} == help ]]; then
        found=(${(f)"$(autotune --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
        _describe command found || _files
    else
        _files
    fi
}

_autotune "$@"
