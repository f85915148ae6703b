#!/usr/bin/env bash
# The programs that tests and examples call besides Python, fetched where they are missing and that is possible.
#   tools/programs.sh PROGRAM...
set -euo pipefail

missing=()
for program in "$@"; do
  command -v "$program" > /dev/null || missing+=("$program")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get > /dev/null && [ "$(id -u)" -eq 0 ]; then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update > /dev/null
  apt-get -qq install --no-install-recommends "${missing[@]}" > /dev/null
else
  echo "error: these programs are missing: ${missing[*]}" >&2
  echo "hint: install them with your package manager, then run make again" >&2
  exit 1
fi
