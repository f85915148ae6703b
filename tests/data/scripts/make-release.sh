#!/usr/bin/env bash
set -euo pipefail
version=${1:?"which version?"}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc[0-9]+)?$ ]] || { echo "not a version: $version"; exit 2; }
sed -i "s/^version = .*/version = \"$version\"/" pyproject.toml
git commit -am "Release $version"; git tag -a "v$version" -m "$(
  echo "Version $version"
  echo
  git log --format='* %s' "$(git describe --tags --abbrev=0 2>/dev/null || git rev-list --max-parents=0 HEAD)"..HEAD
)"
