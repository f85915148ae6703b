#!/bin/bash
# Called by tool.yml with a text and a word. What it prints is the result; a failure is an exit code
# other than 0 and a reason on stderr.
set -euo pipefail

jq -n --arg text "$1" --arg word "$2" \
    '{word: $word, count: [$text | splits("\\s+") | select(. == $word)] | length}'
