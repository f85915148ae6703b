#!/usr/bin/env bash
# Run a command until it works, waiting longer each time.
attempts=${ATTEMPTS:-5} delay=1
for ((n = 1; n <= attempts; n++)); do
  if "$@"; then exit 0; fi
  code=$?
  (( n == attempts )) && break
  printf 'attempt %d of %d failed (%d); again in %ds\n' "$n" "$attempts" "$code" "$delay" >&2
  sleep "$delay"; delay=$(( delay * 2 ))
done
exit "${code:-1}"
