#!/bin/sh
# Sum the second column by the first.
awk -F'[,;]' '
    /^#/ { next }
    { sum[$1] += $2; if ($2 > max) { max = $2; who = $1 } }
    END {
        for (name in sum) printf "%s %d\n", name, sum[name]
        print "max:", who " (" max ")"
    }
' "${1:--}" | sort -k2,2nr
