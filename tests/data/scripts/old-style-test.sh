#!/bin/sh
# Portable to shells of the nineties.
if [ x"$1" = x ] || test ! -r "$1"; then
    echo 1>&2 "usage: $0 file"
    exit 1
fi
set x `wc "$1"`; shift
lines=$1 words=$2
if expr "$lines" \> 100 > /dev/null; then echo "long: $words words"; fi
eval "last=\${$#}"
echo "last: $last"
