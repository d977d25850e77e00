#!/usr/bin/env bash
# Runs every benchmark program of a build directory that measures one part alone (built by bench/ and beside the code,
# named *_bench), and writes its output to build/bench/NAME.txt. codec_bench has a front end of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:?usage: tools/bench_parts.sh BUILD_DIR}
mkdir -p build/bench
found=no
while read -r program; do
  found=yes
  name=$(basename "$program")
  echo "== $name"
  "$program" | tee "build/bench/$name.txt"
done < <(find "$build" -type f -executable -name '*_bench' ! -name codec_bench | sort)
[[ $found == yes ]] || { echo "bench: no *_bench program in $build: run \`make build\`" >&2; exit 1; }
