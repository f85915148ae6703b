#!/usr/bin/env bash
# Percent-encode, byte by byte.
LC_ALL=C
text=$1 out=
for ((i = 0; i < ${#text}; i++)); do
  c=${text:i:1}
  case $c in
    [a-zA-Z0-9.~_-]) out+=$c ;;
    *) printf -v hex '%%%02X' "'$c"; out+=$hex ;;
  esac
done
echo "$out"
