#!/bin/bash
# The launcher must keep its own $@ and backticks, hence the quoted delimiter.
target=${1:-/usr/local/bin/app}
cat > "$target" <<'LAUNCHER'
#!/bin/sh
here=`dirname "$0"`
if [ -z "$APP_HOME" ]; then
    APP_HOME=$here/..
fi
exec "$APP_HOME/bin/real" "$@"
LAUNCHER
chmod +x "$target"
