#!/bin/bash
# Set a key in an ini file, or add it.
file=$1 key=$2 value=$3
if grep -q "^$key=" "$file"; then
    sed -i.bak -e "s|^$key=.*|$key=$value|" "$file"
else
    printf '%s=%s\n' "$key" "$value" >> "$file"
fi
diff -u "$file.bak" "$file" || :
