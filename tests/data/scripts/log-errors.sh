#!/bin/sh
# Count the error lines of each log, worst first.
dir=${LOG_DIR:-/var/log}
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp"' EXIT INT TERM

for file in "$dir"/*.log; do
    [ -f "$file" ] || continue
    count=$(grep -c -i 'error' "$file" || true)
    if [ "$count" -gt 0 ]; then
        printf '%6d %s\n' "$count" "$file" >> "$tmp"
    fi
done
sort -rn "$tmp" | head -n 20
