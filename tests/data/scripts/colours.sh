#!/usr/bin/env bash
# Colours only where someone sees them.
if [[ -t 1 && -z ${NO_COLOR-} ]]; then
  red=$'\e[31m' bold=$'\e[1m' off=$'\e[0m'
else
  red='' bold='' off=''
fi
say() { printf '%s%s%s\n' "${!1}" "${*:2}" "$off"; }
say red "it's wrong"
say bold 'it is "important"'
