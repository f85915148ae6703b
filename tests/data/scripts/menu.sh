#!/usr/bin/env bash
# Ask until the person has chosen.
PS3='your choice: '
options=("list files" "disk usage" "quit")
select choice in "${options[@]}"; do
  case $REPLY in
    1) ls -la ;;
    2) df -h | awk 'NR == 1 || $5 + 0 > 50 { print $5, $6 }' ;;
    3 | q*) break ;;
    *) echo "no such choice: $REPLY" ;;
  esac
done
