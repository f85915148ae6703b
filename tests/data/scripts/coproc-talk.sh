#!/bin/bash
# Talk with a calculator that stays open.
coproc bc -l
echo '2^10' >&"${COPROC[1]}"
read -r answer <&"${COPROC[0]}"
echo "$answer"
eval "exec ${COPROC[1]}>&-"
wait "$COPROC_PID"
