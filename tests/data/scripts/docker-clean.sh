#!/usr/bin/env bash
# Remove what no container uses.
set -u
docker ps --all --format '{{.ID}}\t{{.Status}}' | while IFS=$'\t' read -r id status; do
  [[ $status == Exited* ]] || continue
  docker rm "$id"
done
images=$(docker images --filter dangling=true --quiet)
[[ -n $images ]] && docker rmi $images
docker inspect --format='{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' web || true
