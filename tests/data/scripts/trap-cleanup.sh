#!/usr/bin/env bash
# A scratch folder that never survives.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/work.XXXXXX")
cleanup() { local code=$?; rm -rf -- "$scratch"; exit "$code"; }
trap cleanup EXIT
trap 'echo interrupted >&2; exit 130' INT TERM
cd "$scratch" || exit
printf '%s\n' one two three > list; while read -r l; do echo "<$l>"; done < list
( umask 077; : > private )
ls -l | tail -n +2 && echo "in ${PWD/#$HOME/\~}"
