#!/bin/bash
# Arithmetic in all its places.
typeset -i total=0 n
for n in 3 1 4 1 5; do
  total+=n
  ((n > max ? (max = n) : 0))
done
let "avg = total / 5" 'odd = total & 1'
echo $((total)) $[avg] $((odd == 1 ? 1 : 0)) "$((16#ff))" $(( (total << 2) | 1 ))
[[ total -gt 10 && max -eq 5 ]] && echo yes
