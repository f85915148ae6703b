#!/bin/sh
# From before $( ).
host=`hostname`
kernel=`uname -s | tr '[A-Z]' '[a-z]'`
up=`uptime | sed "s/.*up \([^,]*\),.*/\1/"`
nested=`echo "outer \`echo inner\` again"`
echo "host=$host kernel=$kernel up=$up $nested"
users="`who | awk '{ print $1 }' | sort -u | wc -l`"
[ "$users" -gt 3 ] && echo "busy: $users"
