#!/usr/bin/env bash
# Compiles kernels of the library to shared libraries for bench/compare.py.
#   bench/build.sh OUT [KERNEL…]      default: those that compare.py times; TKC says which tkc to use
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: bench/build.sh OUT [KERNEL…]}
shift
[ $# -gt 0 ] || set -- gemm attention attention_backward norms softmax rotary
tkc=${TKC:-$root/build/release/tkc/tkc}
mkdir -p "$out"
for name in "$@"; do
  "$tkc" "$root/kernels/$name.tk" -o "$out/$name.cu"
  nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I"$root/runtime/include" -shared -Xcompiler -fPIC \
    -o "$out/$name.so" "$out/$name.cu"
  echo "$out/$name.so"
done
