#!/bin/bash
# Wait until something listens.
host=${1%:*} port=${1##*:} limit=${2:-30}
deadline=$((SECONDS + limit))
until (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; do
  if ((SECONDS >= deadline)); then
    echo "nothing on $host:$port after ${limit}s" >&2
    exit 1
  fi
  sleep 0.2
done
echo "$host:$port is there"
