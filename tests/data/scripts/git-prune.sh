#!/usr/bin/env bash
# Delete merged branches, except the ones to keep.
keep='^(main|develop|release/.*)$'
git fetch --prune
git for-each-ref --format='%(refname:short)' refs/heads | while read -r branch; do
  if [[ $branch =~ $keep ]]; then continue; fi
  if git merge-base --is-ancestor "$branch" main; then
    git branch -d "$branch" # the lower-case d refuses what is not merged
  fi
done
