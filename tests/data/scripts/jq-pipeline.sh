#!/usr/bin/env bash
# Names of the most active contributors.
repo=${1:-octocat/hello-world}
curl -fsSL "https://api.example.org/repos/$repo/commits?per_page=100" |
  jq -r 'group_by(.commit.author.name)
         | map({author: .[0].commit.author.name, count: length})
         | sort_by(-.count) | .[:5][] | "\(.count)\t\(.author)"' |
  while IFS=$'\t' read -r count author; do
    printf '%-30s %4d\n' "$author" "$count"
  done
