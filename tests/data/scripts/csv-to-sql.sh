#!/usr/bin/env bash
# One INSERT for each line; quotes are doubled.
table=$1
{
  read -r header
  while IFS=, read -r -a fields; do
    out=()
    for field in "${fields[@]}"; do out+=("'${field//\'/\'\'}'"); done
    (IFS=,; printf 'INSERT INTO %s (%s) VALUES (%s);\n' "$table" "$header" "${out[*]}")
  done
} < "${2:-/dev/stdin}"
