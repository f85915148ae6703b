#!/usr/bin/env bash
# Sets with arrays: union and difference.
a=(red green blue) b=(green yellow) # two small sets
declare -A in_b=()
for x in "${b[@]}"; do in_b["$x"]=1; done
difference=()
for x in "${a[@]}"; do [[ -v in_b[$x] ]] || difference+=("$x"); done
union=($(printf '%s\n' "${a[@]}" "${b[@]}" | sort -u))
echo "difference: ${difference[*]}; union: ${union[*]}; last: ${a[-1]}; keys: ${!a[@]}"
