#!/usr/bin/env bash
# `make demo`: Tongs at work, with real output, in a project and a home of its own that are removed at the end.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export PATH="$checkout/.venv/bin:$PATH" HOME="$place/home" COLUMNS=100
export TONGS_HOME="$place/home/.tongs" TONGS_GLOBAL="$place/etc/tongs"
mkdir -p "$HOME" "$place/project"
cd "$place/project"

if [[ -t 1 && -z ${NO_COLOR-} ]]; then
    bold=$'\e[1m' plain=$'\e[0m'
else
    bold='' plain=''
fi

say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }

# Shows a command as a person types it, and runs that very text. A failure is part of the demo only where it is named.
show() {
    printf '$ %s\n' "$1"
    local code=0
    eval "$1" 2>&1 || code=$?
    if [[ $code != "${2:-0}" ]]; then
        printf 'error: the demo expected exit code %s, got %s\n' "${2:-0}" "$code" >&2
        exit 1
    fi
}

say 'A tool is a small file. `tongs tool add` writes one.'
show 'tongs tool add greet --description "Say hello" --bash "echo Hello, {WHO}" --parameter WHO "Whom to greet" --tag read'
show 'cat .tongs/tools/greet.yaml'

say 'Everybody can list it and run it.'
show 'tongs tool list'
show 'tongs tool run greet WHO=world'

say 'A hostile value stays a value: no file named canary appears.'
show "tongs tool run greet WHO='\$(touch canary); touch canary #'"
show 'test ! -e canary && echo "no canary"'

say 'Because values are bound to variables, never pasted into the script:'
show "tongs tool run greet WHO='\$(touch canary)' --show-command"

say 'Steps hand their output on.'
mkdir notes
printf 'a longer note\nwith two lines\n' > notes/long.txt
printf 'short\n' > notes/short.txt
cat > .tongs/tools/longest.yaml <<'YAML'
description: The longest text files of a folder
steps:
  - name: count
    bash: wc -l -- {DIR}/*.txt
  - name: sort
    bash: grep -v ' total$' | sort -rn
    input: "{count.stdout}"
parameters:
  DIR: {description: Folder to look at, default: .}
tags: [read]
YAML
show 'cat .tongs/tools/longest.yaml'

say 'This file was not written by `tool add`. Like one that came with a project, it waits for you:'
show 'tongs tool list --contains longest'
show 'tongs trust --yes longest'
show 'tongs tool run longest DIR=notes'

say 'Errors say what happened and what to do.'
show 'tongs tool run greeet WHO=world' 2
show 'tongs tool run greet WHOM=world' 2
printf 'description: Run code\nbash: bash -c "echo {WHO}"\nparameters:\n  WHO: {}\n' > .tongs/tools/unsafe.yaml
show 'tongs tool run unsafe WHO=world' 2

say 'The result for a program, with what is enforced and what is not yet.'
show 'tongs tool run greet WHO=world --json'
