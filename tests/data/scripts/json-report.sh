#!/bin/bash
# Build JSON by hand, the way people do.
files=$(find . -name '*.py' | wc -l)
lines=$(find . -name '*.py' -exec cat {} + | wc -l)
cat <<JSON
{
  "files": $files,
  "lines": $lines,
  "average": $(( files ? lines / files : 0 )),
  "note": "it's \"quoted\" and costs \$0"
}
JSON
