#!/usr/bin/env bash
# Read KEY=value lines without running them.
load() {
  local line key value
  while IFS= read -r line || [[ -n $line ]]; do
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    if [[ $line =~ ^([A-Za-z_][A-Za-z0-9_]*)=(.*)$ ]]; then
      key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
      [[ $value == \"*\" ]] && value=${value:1:-1}
      printf -v "$key" '%s' "$value"; export "${key?}"
    else
      echo "bad line: $line" >&2; return 1
    fi
  done < "$1"
}
load "${1:-.env}"
