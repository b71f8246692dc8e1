#!/usr/bin/env zsh
# What a person gets who types LINE and the tab key in zsh: prints the line as it then is.
#     complete.zsh COMPLETIONS LINE…     COMPLETIONS is a folder with _autotune; autotune is on the PATH
setopt err_exit
zmodload zsh/zpty
folder=$1
shift
dump=$(mktemp -u)
zpty shell "zsh -f -i"
zpty -w shell "PROMPT=; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -d $dump; print -r -- started"
zpty -r shell seen $'*\nstarted*'
for line; do
    zpty -w -n shell "$line"$'\t'
    # makes a command of the line that prints it
    zpty -w -n shell $'\C-aprint -r -- "<\C-e>"\n'
    zpty -r shell seen $'*\n<*>*'
    print -r -- ${${seen##*$'\n<'}%%>*}
done
zpty -d shell
rm -f $dump
