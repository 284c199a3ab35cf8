#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose every name is one that emitted files could trip over: C++'s keywords, macros, what the compiler and its runtime call
things, and names made of each other. What tkc emits must compile, and no name in it may hide another.

    test/targets/names.py --tkc build/dev/tkc/tkc [--seed N] [--count N] [--arch NAME…] [--nvcc] [-o FOLDER]

Prints one line a file that does not, which is left in FOLDER, and how many there were. tkc may refuse a name with a diagnostic."""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

import compilers

# What is to be named, and the text.
KERNELS = [
    ("k a b c M N K T BM BN BK m n k2 acc s", """
kernel $k<$T: {bf16, f16}>($a: $T[$M, $K], $b: $T[$K, $N], $s: f32, out $c: $T[$M, $N]) {
  tune $BM = 128, $BN = 128, $BK = 64;
  parallel $m in tiles($M, $BM), $n in tiles($N, $BN) {
    var $acc = zeros($BM, $BN);
    for $k2 in tiles($K, $BK) { $acc += $a[$m, $k2] @ $b[$k2, $n]; }
    $c[$m, $n] = $acc * $s;
  }
}
"""),
    ("k a b c M N K H BM BN BK m n k2 acc h t", """
kernel $k($a: bf16[$H, $M, $K], $b: bf16[$H, $K, $N], $t: f32[$N], out $c: bf16[$H, $M, $N]) {
  tune $BM = 128, $BN = 128, $BK = 64;
  parallel $h in 0..$H, $m in tiles($M, $BM), $n in tiles($N, $BN) {
    var $acc = zeros($BM, $BN);
    for $k2 in tiles($K, $BK) { $acc += $a[$h, $m, $k2] @ $b[$h, $k2, $n]; }
    $c[$h, $m, $n] = max($acc + $t[$n].row, 0);
  }
}
"""),
    ("k q kk v o S H D causal scale BM BN i h qi acc mm l j s mn p r", """
kernel $k($q: bf16[$S, $H, $D], $kk: bf16[$S, $H, $D], $v: bf16[$S, $H, $D], $scale: f32, out $o: bf16[$S, $H, $D], const $causal: bool = true)
  where $D in {64}, $scale > 0 {
  tune $BM = 128, $BN = 64;
  parallel $h in 0..$H, $i in tiles($S, $BM) {
    let $qi = $q[$i, $h, :];
    var $acc = zeros($BM, $D);
    var $mm = full($BM, 1, -inf);
    var $l = zeros($BM, 1);
    for $j in tiles($S, $BN) {
      var $s = ($qi @ $kk[$j, $h, :].T) * ($scale * LOG2E);
      if $causal { $s = where($j.row <= $i.col, $s, -inf); }
      let $mn = max($mm, rowmax($s));
      let $p = exp2($s - $mn);
      let $r = exp2($mm - $mn);
      $l = $l * $r + rowsum($p);
      $acc = $acc * $r + bf16($p) @ $v[$j, $h, :];
      $mm = $mn;
    }
    $o[$i, $h, :] = $acc / $l;
  }
}
"""),
    ("k o x s z y E T N e m n c w i", """
kernel $k($o: i32[$E + 1], $x: f32[$T, $N], $s: i32, $z: f32[$E, $N], out $y: f32[$T, $N]) {
  parallel $e in 0..$E, $m in tiles($o[$e], $o[$e + 1], 16), $n in tiles($N, 32) {
    let $c = $s + $e + $o[$e];
    var $w = $x[$m, $n] * f32($c + 2) + $z[$e, $n].row;
    for $i in 0..$s + 3 { $w = $w * f32($i + $s); }
    $y[$m, $n] = $w;
  }
}
"""),
    ("k1 k2 p a b x t s n M N u i j", """
kernel $k1($a: f32[$M, $N], $s: f32, out $b: f32[$M, $N]) {
  parallel $i in tiles($M, 32), $j in tiles($N, 32) { let $u = $a[$i, $j] * $s; $b[$i, $j] = $u * 2; }
}
kernel $k2($b: f32[$M, $N], $n: i32, out $a: f32[$M]) {
  parallel $i in tiles($M, 32) { var $u = zeros(32, 1); for $j in tiles($N, 32) { $u += rowsum($b[$i, $j]); } $a[$i] = $u * f32($n); }
}
program $p($a: f32[$M, $N], $s: f32, $n: i32, out $x: f32[$M]) {
  let $t = new f32[$M, $N];
  $k1($a, $s * 2, $t);
  $k2($t, $n + 1, $x);
}
"""),
]
KEYWORDS = """alignas auto bool char class concept const_cast decltype default delete do double enum explicit extern float friend
goto inline int long mutable namespace new nullptr operator private public register short signed sizeof static struct
switch template this throw try typedef typename union unsigned using virtual void volatile wchar_t while int8_t
char8_t alignof asm""".split()
OURS = """g shared warpgroup warp rank recorder tensor leader position block blocks at row col outer number tile_of tk stream
call device arguments order codes bytes workspace workspace_bytes launched loads_fit vectors_fit tk_claims tk_trace
consumer producer worker matrix correction scheduler adder barrier ring lead prelude tile factor scales staged turn
next thread part x i self""".split()
OTHERS = """warpSize min max abs threadIdx blockIdx blockDim gridDim __half half half2 float4 dim3 size_t ptrdiff_t int32_t
int64_t uint32_t uint8_t u_int uint ulong ushort4 longlong2 timezone environ optarg FILE fd_set NULL M_PI EOF I INT_MAX INT32_MAX NAN INFINITY assert errno stdin linux unix major minor y0
j1 gamma signbit exp2 std main printf memcpy nullptr_t tk_status tk_tensor TK_OK __trap __shared__ __global__
CUstream_st cudaStream_t DLTensor HUGE_VAL RAND_MAX BUFSIZ offsetof alloca_ va_list begin end index size data at_ get
type tensor2 a_b read write exp log time clock signal select bind free malloc remove tanh_ _ __ _a __x A_ CHAR_BIT
SIGINT cudaSuccess hipSuccess true_ likely""".split()
ENDINGS = """_at _map _full _empty _view _tiles _arguments _shared _piece _fits _offset _argument 2 _2 3 _fill _done _ahead _value
_bf16 _f32 _tile _share _kernel _workspace_bytes _begin _end _split _map_fits _tensor _part _made _told _tensor_fill
_old _none _lead _ _p_at _piece_at _piece_map _max _sum""".split()
BEGINNINGS = """transposed_ kept_ own_ k_ a_ new_""".split()


def nasty(chance, names):
    """A name beside these."""
    kind = chance.random()
    if kind < 0.25:
        return chance.choice(KEYWORDS)
    if kind < 0.5:
        return chance.choice(OURS)
    if kind < 0.65:
        return chance.choice(OTHERS)
    other = names[chance.choice(list(names))]
    return other + chance.choice(ENDINGS) if kind < 0.95 else chance.choice(BEGINNINGS) + other


def program(chance):
    identifiers, text = chance.choice(KERNELS)
    names = {name: name for name in identifiers.split()}
    density = chance.choice([0.1, 0.3, 0.6])
    for name in names:
        if chance.random() < density and (new := nasty(chance, names)) not in names.values():
            names[name] = new
    return re.sub(r"\$(\w+)", lambda found: names[found[1]], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--arch", nargs="*", help="these architectures only")
    parser.add_argument("--nvcc", action="store_true", help="ask nvcc with its host compiler instead of Clang")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    listed = json.loads(subprocess.run([options.tkc, "arch", "--json"], capture_output=True, text=True, check=True).stdout)
    gpus = [gpu for gpu in listed if gpu["compiles"] and (not options.arch or gpu["name"] in options.arch)]
    compiled, refused, wrong = 0, 0, 0
    for number in range(options.seed, options.seed + options.count):
        chance = random.Random(number)
        gpu = chance.choice(gpus)
        file = options.output / f"names-{number}.tk"
        source = file.with_suffix(".cu")
        file.write_text(program(chance))
        run = subprocess.run([options.tkc, file, "--arch", gpu["name"], "--standalone", "-o", source], capture_output=True, text=True)
        if run.returncode == 1:
            refused += 1
            file.unlink()
            continue
        found = [run.stderr.strip()] if run.returncode != 0 else compilers.complaints_of_nvcc(source, gpu) if options.nvcc else [
            line for side in ("host", "device") for line in compilers.complaints(source, gpu, side)]
        if found:
            wrong += 1
            print(f"{file} for {gpu['name']}: {found[0]}")
        else:
            compiled += 1
            file.unlink()
            source.unlink()
    print(f"{compiled} compiled, {refused} refused by tkc, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
