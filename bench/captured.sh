#!/usr/bin/env bash
# Attention by a counter of tiles beside captured launches, which have none (captured.cu), with each order of tiles in which these can go.
#   bench/captured.sh build OUT     where tkc and nvcc are; TKC says which tkc, RUNTIME which headers: those of another commit have its order
#   bench/captured.sh run OUT       on a GPU; less than a minute
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 2 ] || { sed -n '2,4s/^# *//p' "$0"; exit 2; }
out=$2
tkc=${TKC:-$root/build/release/tkc/tkc}
runtime=${RUNTIME:-$root/runtime/include}
# name, kernels/ file, kernel, defines, settings; and the values of the key `captured`, which schedules for aligned tensors are given
variants='causal-128 attention attn_fwd -DHEAD_DIM=128 D=128,causal=1 2,1,0
causal-64 attention attn_fwd -DHEAD_DIM=64 D=64,causal=1 2,1,0
full-128 attention attn_fwd -DHEAD_DIM=128,-DFULL D=128,causal=0 1,0
backward-128 attention_backward attn_bwd_main -DHEAD_DIM=128,-DBACKWARD D=128,causal=1 2,1,0'

build() {
  local name=$1 file=$2 kernel=$3 defines=${4//,/ } settings=${5//,/ --set } captured=$6
  local folder=$out/$name-$captured
  mkdir -p "$folder"
  cp "$root"/kernels/*.tk "$folder"     # what the file imports
  # What these schedules say of the order themselves gives way.
  python3 - "$root/kernels/$file.tk" "$kernel" "$captured" > "$folder/$file.tk" <<'END'
import re, sys
path, kernel, captured = sys.argv[1:]
schedule = re.compile(r"(schedule %s for sm_90a[^{]*aligned[^{]*\{)([^}]*)\}" % kernel)
print(schedule.sub(lambda m: "%s captured = %s;%s}" % (m[1], captured, re.sub(r" captured = \d;", "", m[2])), open(path).read()), end="")
END
  # The words of both are to be split.
  # shellcheck disable=SC2086
  "$tkc" "$folder/$file.tk" --kernel="$kernel" --arch sm_90a --set $settings -o "$folder/$file.cu"
  # shellcheck disable=SC2086
  nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a $defines -I "$runtime" -I "$folder" -o "$folder/run" "$root/bench/captured.cu"
}
export -f build
export root out tkc runtime

each() {
  while read -r name file kernel defines settings orders; do
    for captured in ${orders//,/ }; do
      echo "$name $file $kernel $defines $settings $captured"
    done
  done <<< "$variants"
}

case $1 in
build) each | xargs -P "$(nproc)" -L 1 bash -euc 'build "$@"' build ;;
run)
  each | while read -r name _ _ _ _ captured; do
    echo "$name, captured = $captured"
    "$out/$name-$captured/run"
  done
  ;;
esac
