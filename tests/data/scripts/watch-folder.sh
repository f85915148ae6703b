#!/usr/bin/env bash
# Rebuild when a source is newer than the result.
src=${1:-src} out=${2:-build/out}
newest() { find "$src" -type f -newer "$out" -print -quit 2>/dev/null; }
while sleep 1; do
  if [[ ! -e $out ]] || [[ -n $(newest) ]]; then
    { time make -s "$out"; } 2>&1 | grep -v '^$' &
    wait $!
    command -v notify-send >/dev/null && notify-send "built" "$(stat -c %s "$out") bytes"
  fi
done
