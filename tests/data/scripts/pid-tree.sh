#!/usr/bin/env bash
# Show the children of a process, indented.
tree() {
  local pid=$1 indent=${2:-} child
  printf '%s%s %s\n' "$indent" "$pid" "$(ps -o comm= -p "$pid")"
  for child in $(pgrep -P "$pid"); do tree "$child" "$indent  "; done
}
tree "${1:-$$}"
