#!/usr/bin/env bash
# Average load against the number of processors.
read -r one five fifteen _ < /proc/loadavg
cpus=$(nproc)
percent=$(awk -v l="$one" -v c="$cpus" 'BEGIN { printf "%d", 100 * l / c }')
if [ "$percent" -ge 90 ]; then level=critical
elif [ "$percent" -ge 70 ]; then level=warning
else level=ok; fi
echo "$level: $one $five $fifteen on $cpus ($percent%)"
