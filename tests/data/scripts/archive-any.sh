#!/bin/bash
# Unpack whatever it is.
shopt -s extglob nullglob
for file in "$@"; do
  case $file in
    *.tar.@(gz|bz2|xz)) tar xf "$file" ;;
    *.t[gbx]z) tar xf "$file" ;;
    *.zip) unzip -q "$file" ;;
    !(*.*)) echo "no suffix: $file" ;;
    *) echo "unknown: $file" >&2 ;;
  esac
done
