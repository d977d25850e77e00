#!/usr/bin/env bash
# Formats Drover's C++ and C with clang-format-19; with --check lists the files that are not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.c' '*.cpp' '*.hpp' |
  while read -r file; do [[ -f $file ]] && echo "$file"; done | sort -u)
((${#files[@]})) || { echo "format: no files"; exit 0; }

case "${1:-}" in
  "") clang-format-19 -i "${files[@]}" && echo "format: ${#files[@]} files" ;;
  --check)
    bad=0
    for file in "${files[@]}"; do
      clang-format-19 "$file" | cmp -s - "$file" || { echo "format: not laid out as .clang-format says: $file"; bad=1; }
    done
    ((bad == 0)) || { echo "format: run \`make format\`" >&2; exit 1; }
    echo "format: ${#files[@]} files are fine"
    ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
