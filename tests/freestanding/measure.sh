#!/usr/bin/env bash
# measure.sh BUILD_DIR [MAX_BYTES]: how large the freestanding codec is, and how many instructions it takes a message, on
# the built-in workload's messages of up to MAX_BYTES (4096). Counted by qemu's user emulation with the plugin of
# count_plugin.cc: three passes less one, halved. Instructions that stand in for a DMA engine are taken off.
set -euo pipefail
build=$1 max=${2:-4096}
cases=$build/tests/freestanding/cases.bin

# total ARCH POLICY WHAT PASSES
total() {
  local qemu=(qemu-aarch64)
  [[ $1 == riscv32 ]] && qemu=(qemu-riscv32 -cpu rv32,a=false,f=false,d=false)
  "${qemu[@]}" -d plugin -plugin "$build/tests/freestanding/libfreestanding_count.so" \
    "$build/freestanding/$1/check_codec" "$2" "$3" "$4" "$max" <"$cases" 2>&1
}
# per_pass ARCH POLICY WHAT: instructions
per_pass() {
  local one three
  one=$(total "$1" "$2" "$3" 1 | sed -n 's/.*instructions //p')
  three=$(total "$1" "$2" "$3" 3 | sed -n 's/.*instructions //p')
  echo $(((three - one) / 2))
}

echo "code and constants, bytes (with memcpy, memmove and memset):"
for arch in riscv32 aarch64; do
  for handler in decode_handler encode_handler; do
    printf '  %-8s %-15s %d\n' $arch $handler \
      "$(llvm-size-19 "$build/freestanding/$arch/$handler" | awk 'NR == 2 {print $1}')"
  done
done
for arch in riscv32 aarch64; do
  for policy in host scratchpad; do
    read -r messages bytes commands < <(total $arch $policy both 1 |
      sed -n 's/messages \([0-9]*\) bytes \([0-9]*\) dma_commands \([0-9]*\) .*/\1 \2 \3/p')
    read -r decode_commands < <(total $arch $policy decode 1 | sed -n 's/.*dma_commands \([0-9]*\) .*/\1/p')
    decode=$(per_pass $arch $policy decode)
    both=$(per_pass $arch $policy both)
    if [[ $policy == scratchpad ]]; then
      decode=$((2 * decode - $(per_pass $arch twice decode)))
      both=$((2 * both - $(per_pass $arch twice both)))
    fi
    awk -v arch=$arch -v policy=$policy -v n="$messages" -v b="$bytes" -v d=$decode -v e=$((both - decode)) \
      -v dc="$decode_commands" -v ec=$((commands - decode_commands)) 'BEGIN {
        printf "%s, %s, %d messages of %.0f bytes on average:\n", arch, policy, n, b / n
        printf "  decode  %6.0f instructions a message, %5.2f a byte, %5.1f DMA commands a message\n", d / n, d / b, dc / n
        printf "  encode  %6.0f instructions a message, %5.2f a byte, %5.1f DMA commands a message\n", e / n, e / b, ec / n
      }'
  done
done
