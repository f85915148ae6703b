#!/usr/bin/env bash
# Files with the same content.
declare -A seen
while IFS= read -r -d '' file; do
  sum=$(sha256sum -- "$file"); sum=${sum%% *}
  if [[ ${seen[$sum]+set} ]]; then
    printf '%s = %s\n' "$file" "${seen[$sum]}"
  else
    seen[$sum]=$file
  fi
done < <(find "${1:-.}" -type f -size +0 -print0)
