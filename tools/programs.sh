#!/usr/bin/env bash
# The programs that tests and examples call besides Python, fetched where they are missing and that is possible.
#   tools/programs.sh PROGRAM...
set -euo pipefail

# The packages of a program in Debian and Ubuntu; most have its name.
packages_of() {
  case "$1" in
    bwrap) echo bubblewrap ;;
    cc) echo gcc libc6-dev ;;
    node) echo nodejs ;;
    rg) echo ripgrep ;;
    unshare) echo util-linux ;;
    update-ca-certificates) echo ca-certificates ;;
    *) echo "$1" ;;
  esac
}

missing=()
packages=()
for program in "$@"; do
  # A person's PATH has no /usr/sbin in Debian.
  PATH="$PATH:/usr/sbin:/sbin" command -v "$program" > /dev/null && continue
  missing+=("$program")
  read -ra named <<< "$(packages_of "$program")"
  packages+=("${named[@]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get > /dev/null && [ "$(id -u)" -eq 0 ]; then
  echo "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update > /dev/null
  apt-get -qq install --no-install-recommends "${packages[@]}" > /dev/null
else
  echo "error: these programs are missing: ${missing[*]}" >&2
  echo "hint: install them with your package manager, then run make again" >&2
  echo "      in Debian and Ubuntu: apt-get install ${packages[*]}" >&2
  exit 1
fi
