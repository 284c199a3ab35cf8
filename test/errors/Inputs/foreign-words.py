# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""foreign-words.py TKC FOLDER: types words of other languages in a kernel, and asks that tkc names what this language has instead, and that
a kernel with that compiles.

A row is what somebody types, a part of it that is wrong, and what takes its place ("": tkc explains, and the statement goes)."""
import pathlib
import subprocess
import sys

KERNEL = """kernel k(x: {type}[M, N], w: f32[N, N], b: f32[M, N], out y: f32[M, N]) where N in {{64}} {{
  tune BM = 16;
  parallel m in tiles(M, BM) {{
    var s = x[m, :];
    {statement}
    y[m, :] = s;
  }}
}}
"""
WORDS = [
    ("s = relu(s);", "relu(s)", "max(s, 0)"),
    ("s = tl.maximum(s, 0);", "tl.maximum(s, 0)", "max(s, 0)"),
    ("s = fmaxf(s, 0);", "fmaxf(s, 0)", "max(s, 0)"),
    ("s = torch.clamp(s, 0, 1);", "torch.clamp(s, 0, 1)", "min(max(s, 0), 1)"),
    ("s = 2 * silu(s);", "silu(s)", "(s * sigmoid(s))"),
    ("s = F.gelu(s);", "F.gelu(s)", "0.5 * s * (1 + erf(s * 0.7071067811865476))"),
    ("s = softmax(s + 1);", "softmax(s + 1)", "exp((s + 1) - rowmax(s + 1)) / rowsum(exp((s + 1) - rowmax(s + 1)))"),
    ("s = s / sum(s);", "sum(s)", "rowsum(s)"),
    ("s = s / tl.sum(s, 0);", "tl.sum(s, 0)", "colsum(s)"),
    ("s = s - torch.mean(s, dim=1, keepdim=true);", "torch.mean(s, dim=1, keepdim=true)", "rowmean(s)"),
    ("s = s - s.max(1);", "s.max(1)", "rowmax(s)"),
    ("s = s - max(s);", "max(s)", "rowmax(s)"),
    ("s = tl.dot(s, w[:, :]);", "tl.dot(s, w[:, :])", "s @ w[:, :]"),
    ("s = tl.dot(s, w[:, :], s + 1);", "tl.dot(s, w[:, :], s + 1)", "(s + 1) + s @ w[:, :]"),
    ("s = torch.matmul(s, w[:, :]);", "torch.matmul(s, w[:, :])", "s @ w[:, :]"),
    ("s = (tl.trans(s)).T;", "tl.trans(s)", "s.T"),
    ("s = f32(s.to(bfloat16));", "s.to(bfloat16)", "bf16(s)"),
    ("s = f32(half(s));", "half(s)", "f16(s)"),
    ("s = float(s);", "float(s)", "f32(s)"),
    ("s = s.float();", "s.float()", "f32(s)"),
    ("s = __expf(s);", "__expf(s)", "exp(s)"),
    ("s = pow(s, 3);", "pow(s, 3)", "exp2(3 * log2(s))"),
    ("s = s ** 2;", "s ** 2", "s * s"),
    ("s = fmaf(s, 2, 1);", "fmaf(s, 2, 1)", "s * 2 + 1"),
    ("s = tl.where(s > 0, s, 0);", "tl.where(s > 0, s, 0)", "where(s > 0, s, 0)"),
    ("s = s > 0 ? s : 0;", "s > 0 ? s : 0", "where(s > 0, s, 0)"),
    ("s = where(s > 0 && s < 1, s, 0);", "&&", "and"),
    ("s = where(!(s > 0), s, 0);", "!", "not "),
    ("s = s + tl.arange(64);", "tl.arange(64)", "iota(1, 64)"),
    ("let blocks = cdiv(M, 16); s = s + f32(blocks);", "cdiv(M, 16)", "(M + 16 - 1) / 16"),
    ("for i in range(3) { s = s + 1; }", "range(3)", "0..3"),
    ("for (int i = 0; i < 3; i++) { s = s + 1; }", "(int i = 0; i < 3; i++)", "i in 0..3"),
    ("int i = 0; s = s + f32(i);", "int", "var"),
    ("var i = 0; i++; s = s + f32(i);", "i++", "i += 1"),
    ("store(y[m, :], s + 1);", "store(y[m, :], s + 1)", "y[m, :] = s + 1"),
    ("__syncthreads();", "__syncthreads();", ""),
    ("let t = threadIdx.x;", "let t = threadIdx.x;", ""),
    ("let t = tl.program_id(0);", "let t = tl.program_id(0);", ""),
    ("let t = tl.load(x);", "let t = tl.load(x);", ""),
    ("while (true) { s = s + 1; }", "while (true) { s = s + 1; }", ""),
    ("let t = x.shape[0];", "let t = x.shape[0];", ""),
]
TYPES = ["float", "float32", "fp32", "double"]
KEYS = [("num_warps", "warps"), ("num_stages", "stages"), ("split_k", "split")]


def main():
    tkc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0

    def compiled(text):
        file = folder / "words.tk"
        file.write_text(text)
        return subprocess.run([tkc, "--emit=tile", str(file), "-o", "/dev/null"], capture_output=True, text=True)

    def expect(typed, fixed, advice):
        nonlocal failures
        wrong, right = compiled(typed), compiled(fixed)
        told = wrong.returncode == 1 and advice in wrong.stderr and wrong.stderr.count("error:") == 1
        if told and right.returncode == 0:
            return
        failures += 1
        print(f"--- expected advice: {advice}\n{typed}{wrong.stderr}\n--- and this to compile:\n{fixed}{right.stderr}")

    for statement, wrong, right in WORDS:
        advice = right.strip() or " here: "
        expect(KERNEL.format(type="f32", statement=statement), KERNEL.format(type="f32", statement=statement.replace(wrong, right)), advice)
    for word in TYPES:
        right = "f64" if word == "double" else "f32"
        fixed = KERNEL.format(type=right, statement="")
        expect(KERNEL.format(type=word, statement=""), fixed.replace("out y: f32", f"out y: {right}"), f"did you mean `{right}`?")
    for word, right in KEYS:
        schedule = KERNEL.format(type="f32", statement="") + "schedule k for hopper { KEY = 1; }\n"
        file = folder / "words.tk"
        file.write_text(schedule.replace("KEY", word))
        told = subprocess.run([tkc, str(file), "-o", "/dev/null"], capture_output=True, text=True).stderr
        if f"did you mean `{right}`?" not in told:
            failures += 1
            print(f"--- key {word}: {told}")
    print(f"{len(WORDS) + len(TYPES) + len(KEYS)} words, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
