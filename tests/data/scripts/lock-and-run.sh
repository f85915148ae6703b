#!/usr/bin/env bash
# One at a time.
lock=/tmp/${0##*/}.lock
exec {fd}> "$lock"
if ! flock -n "$fd"; then
  echo "another one is running" >&2
  exit 75
fi
"$@"
status=$?
exec {fd}>&-
exit "$status"
