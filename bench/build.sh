#!/usr/bin/env bash
# Compiles kernels of the library to shared libraries for bench/compare.py, several at a time.
#   [ARCH=sm_90a] bench/build.sh OUT [FILE…]     FILE: of kernels/, without .tk; default: all that compare.py times
# Schedules that lie beside a kernel's file (`tkc tune`) are used where they are for this GPU. TKC says which tkc to use. Code for sm_80 is kept as PTX, too, so that it also runs on later GPUs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: [ARCH=sm_90a] bench/build.sh OUT [FILE…]}
shift
[ $# -gt 0 ] || set -- gemm attention attention_backward norms softmax rotary cross_entropy extra/decode extra/attention_variants extra/gemm_variants
arch=${ARCH:-sm_90a}
virtual=compute_${arch#sm_}
code=$arch
case $arch in *a) ;; *) code="[$arch,$virtual]" ;; esac
tkc=${TKC:-$root/build/release/tkc/tkc}
mkdir -p "$out"
build() {
  local name=${1##*/}
  local tuned=()
  ! grep -qs "^schedule .* for $arch\b" "$root/kernels/$1.tks" || tuned=(--schedules "$root/kernels/$1.tks")
  # Where there is nvcc but no tkc, the emitted files are brought along.
  [ ! -x "$tkc" ] || "$tkc" "$root/kernels/$1.tk" "${tuned[@]}" --arch "$arch" -o "$out/$name.cu"
  ! command -v nvcc > /dev/null || nvcc -std=c++20 -O3 -gencode="arch=$virtual,code=$code" -I"$root/runtime/include" -shared \
    -Xcompiler -fPIC -o "$out/$name.so" "$out/$name.cu"
  echo "$out/$name"
}
export -f build
export root out arch virtual code tkc
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -euc 'build {}'
