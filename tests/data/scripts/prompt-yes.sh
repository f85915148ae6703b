#!/bin/sh
# Ask; the default is no.
ask() {
    printf '%s [y/N] ' "$1" >&2
    read -r answer || return 1
    case $answer in
        [Yy] | [Yy][Ee][Ss]) return 0 ;;
        *) return 1 ;;
    esac
}
if ask "Really delete '$1'?"; then
    rm -ri -- "$1"
fi
