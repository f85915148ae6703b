#!/bin/bash
# Two heredocs on one line, and one inside a substitution.
diff <(sort) - <<LEFT 3<<RIGHT
banana
apple
LEFT
cherry
RIGHT
message=$(cat <<'TEXT'
It's $5, `really`.
Backslashes \ stay \\ as they are.
TEXT
)
printf '%s\n' "$message"
