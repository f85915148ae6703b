#!/usr/bin/env bash
# Parameter expansion in its many forms.
path=/usr/share/doc/bash/README.gz
file=${path##*/} dir=${path%/*} base=${file%.*} ext=${file##*.}
upper=${base^^} lower=${upper,,} first=${base:0:1} rest=${base:1}
slashes=${path//[^\/]/} depth=${#slashes}
echo "$dir|$file|$base|$ext|$upper|$lower|$first$rest|$depth"
echo "${path/#\/usr/\/opt}" "${path/%.gz/.txt}" "${unset_name:-"${HOME:-/root}"}"
printf '%q ' "${@@Q}" "${!path@}"; echo
