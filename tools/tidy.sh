#!/usr/bin/env bash
# Runs clang-tidy-19 over the files that a build directory compiles, except those that were generated into it.
#   tools/tidy.sh build/release [regex of paths]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:?usage: tools/tidy.sh BUILD_DIR [REGEX]}
[[ -f $build/compile_commands.json ]] || { echo "tidy: no $build/compile_commands.json: run \`make build\`" >&2; exit 1; }
root=$(pwd)
code=0
run-clang-tidy-19 -quiet -p "$build" "^$root/(?!build/).*${2:-}" >build/tidy.log 2>&1 || code=$?
grep -E -A 4 '(warning|error):' build/tidy.log | awk '!seen[$0]++' || true
if ((code)); then
  echo "tidy: clang-tidy-19 objects; all it says is in build/tidy.log" >&2
  exit 1
fi
echo "tidy: fine"
