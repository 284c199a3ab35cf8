#!/usr/bin/env bash
# The part of ./quickstart that needs a tkc and nothing else: compiles kernels/gemm.tk and kernels/attention.tk to CUDA in
# out/, checks them against their references on the CPU, runs the emitted files on the emulator (if it stands beside TKC), and on
# a machine with an NVIDIA GPU and nvcc on that instead, and times them.
#   .ci/kernels.sh TKC       TKC may come from another machine: the release build needs libc and libm only
set -u
tkc=$(realpath "${1:?usage: .ci/kernels.sh TKC}")
cd "$(dirname "$0")/.."
logs=$PWD/build/quickstart
mkdir -p "$logs" out
. .ci/steps.sh

on_gpu=no
if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
  if command -v nvcc >/dev/null; then on_gpu=yes; else echo 'there is an NVIDIA GPU, but no nvcc: checking on the CPU only'; fi
else
  echo 'no NVIDIA GPU here: checking on the CPU only'
fi

status=0
rm -f out/*.json out/*.times
for name in gemm attention; do
  step "compile $name.tk to CUDA" "$tkc" "kernels/$name.tk" -o "out/$name.cu" || status=1
  step "check $name.tk on the CPU" "$tkc" test "kernels/$name.tk" --json "out/$name.cpu.json" || status=1
  if [ $on_gpu = no ] && [ -x "$(dirname "$tkc")/tkc-emulate" ]; then
    step "run $name.cu on the emulator" "$tkc" test "kernels/$name.tk" --target=emulator --json "out/$name.emulator.json" || status=1
  elif [ $on_gpu = yes ]; then
    step "check $name.tk on the GPU" "$tkc" test "kernels/$name.tk" --target=gpu --json "out/$name.gpu.json" || status=1
    step "time $name.tk on the GPU" eval '"$tkc" bench "kernels/$name.tk" > "out/$name.times"' || status=1
  fi
done
echo
python3 .ci/table.py out/*.json
for times in out/*.times; do
  [ ! -e "$times" ] || { echo; cat "$times"; }
done
exit $status
