#!/usr/bin/env bash
# Generate a unit file for a user's service.
name=$1 command=$2
unit="$HOME/.config/systemd/user/$name.service"

cat > "$unit" <<EOF
[Unit]
Description=$name for ${USER:-$(id -un)}

[Service]
ExecStart=$command
Restart=on-failure
Environment="STARTED=$(date -u +%FT%TZ)"

[Install]
WantedBy=default.target
EOF
echo "wrote $unit"
