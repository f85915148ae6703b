#!/bin/bash
# Send a report; the boundary must not occur in the text.
boundary="=_$(date +%s)_$$"
to=${1:-root}
(
  echo "To: $to"
  echo "Subject: report of $(hostname)"
  echo "Content-Type: multipart/mixed; boundary=\"$boundary\""
  echo
  echo "--$boundary"
  echo; df -h; echo "--$boundary--"
) | /usr/sbin/sendmail -t
