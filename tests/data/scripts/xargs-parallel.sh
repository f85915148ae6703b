#!/usr/bin/env bash
# Shrink pictures, four at a time.
export QUALITY=${QUALITY:-80}
find "${1:-.}" -name '*.jpg' -print0 |
  xargs -0 -n 1 -P 4 sh -c 'convert "$1" -quality "$QUALITY" "${1%.jpg}.small.jpg"' _
find . -name '*.tmp' -exec sh -c 'for f; do rm "$f"; done' _ {} +
