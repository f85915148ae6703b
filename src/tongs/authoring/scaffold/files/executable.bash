#!/bin/bash
# A tool in any language: `description` says what it is, `run` gets its arguments as JSON on
# stdin.
# `tongs tool test @NAME@` runs the examples below, `tongs tool validate @NAME@` shows all steps.
set -euo pipefail

case "${1:-}" in
description)
    # The same keys as in the other shapes: permissions, requires, examples, approval, limits.
    cat <<'JSON'
{
  "name": "@NAME@",
  "description": "Count how often a word stands in a text",
  "input_schema": {
    "type": "object",
    "additionalProperties": false,
    "required": ["text"],
    "properties": {
      "text": {"type": "string", "description": "The text to look at"},
      "word": {"type": "string", "description": "The word to count", "default": "the"}
    }
  },
  "tags": ["text", "read"],
  "permissions": {"network": false, "fs": {"read": [], "write": []}},
  "requires": ["jq>=1.5"],
  "examples": [
    {
      "description": "Count a word",
      "params": {"text": "to be or not to be", "word": "be"},
      "expected_output": {"word": "be", "count": 2}
    }
  ]
}
JSON
    ;;
run)
    # Arguments have been checked against input_schema, with defaults. A failure is an exit code
    # other than 0 and a reason on stderr.
    jq '.word as $word
        | {word: $word, count: [.text | splits("\\s+") | select(. == $word)] | length}'
    ;;
config)
    # Optional: how long a call may take.
    echo '{"timeout": "10s"}'
    ;;
*)
    echo "usage: $0 description|run|config" >&2
    exit 1
    ;;
esac
