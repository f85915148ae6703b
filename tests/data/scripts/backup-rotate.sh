#!/usr/bin/env bash
# Keep the newest seven archives of a folder; the rest goes.
set -euo pipefail

source_dir=${1:?usage: backup-rotate SOURCE [TARGET]}
target_dir=${2:-/var/backups}
keep=7
stamp=$(date +%Y-%m-%d)

mkdir -p "$target_dir"
archive="$target_dir/$(basename "$source_dir")-$stamp.tar.gz"
tar --create --gzip --file "$archive" --directory "$(dirname "$source_dir")" "$(basename "$source_dir")"

mapfile -t old < <(find "$target_dir" -maxdepth 1 -name '*.tar.gz' -printf '%T@ %p\n' | sort -rn | cut -d' ' -f2-)
for ((i = keep; i < ${#old[@]}; i++)); do
  printf 'removing %s\n' "${old[i]}" >&2
  rm -- "${old[$i]}"
done
