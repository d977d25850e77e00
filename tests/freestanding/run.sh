#!/usr/bin/env bash
# run.sh ARCH PROGRAM CASES: runs a freestanding program under qemu's user emulation.
# Ends with 77 (skipped) where qemu-user is not installed; tools/setup.sh --tests installs it.
set -euo pipefail
arch=$1 program=$2 cases=$3
case $arch in
  # rv32imc's own core, so that an instruction of another extension is an illegal one.
  riscv32) qemu=(qemu-riscv32 -cpu rv32,a=false,f=false,d=false) ;;
  aarch64) qemu=(qemu-aarch64) ;;
esac
if ! command -v "${qemu[0]}" >/dev/null; then
  echo "skipped: there is no ${qemu[0]}; it is in Debian's qemu-user, which tools/setup.sh --tests installs"
  exit 77
fi
"${qemu[@]}" "$program" <"$cases"
