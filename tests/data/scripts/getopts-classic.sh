#!/bin/sh
# POSIX options, nothing fancy.
n=10
while getopts 'n:hq' opt; do
    case $opt in
        n) n=$OPTARG ;;
        q) exec > /dev/null ;;
        h) sed -n '2,4p' "$0"; exit ;;
        ?) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
i=0
while [ "$i" -lt "$n" ]; do
    echo "$i: ${1:-nothing}"
    i=$((i + 1))
done
