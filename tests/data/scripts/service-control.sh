#!/bin/bash
### start, stop and query a daemon the old way
NAME=exampled
PIDFILE=/run/$NAME.pid
DAEMON="/usr/sbin/$NAME"

running() {
    [[ -f $PIDFILE ]] && kill -0 "$(<"$PIDFILE")" 2>/dev/null
}

case "${1-}" in
    start)
        if running; then echo "$NAME is running already"; exit 0; fi
        "$DAEMON" --background --pidfile "$PIDFILE" || exit $?
        ;;
    stop)
        running || { echo "$NAME is not running"; exit 0; }
        kill "$(cat "$PIDFILE")" && rm -f "$PIDFILE"
        ;;
    restart | reload) "$0" stop; "$0" start ;;
    status)
        if running
        then echo "running as $(cat "$PIDFILE")"
        else echo "stopped"; exit 3
        fi
        ;;
    *) echo "usage: ${0##*/} {start|stop|restart|status}" >&2; exit 2 ;;
esac
