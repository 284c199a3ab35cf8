# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tkc explain` predicts beside what compare.py measured, row for row.

    python3 bench/compare.py OUT --json measured.json           # on the GPU
    python3 bench/predicted.py measured.json [--tkc TKC] [--arch sm_90a] [--table FILE]"""
import argparse
import json
import math
import re
import subprocess
from pathlib import Path

from split_keys import parts_of_keys

ROOT = Path(__file__).resolve().parent.parent


def sizes_of(text):
    """"4096³" or "4096×4096×64"."""
    return [int(text[:-1])] * 3 if text.endswith("³") else [int(part) for part in text.split("×")]


def call_of(work):
    """The file of kernels/, the kernel or program, the number of a bench or case with its types, and sizes; several where
    a row times several calls."""
    kind, _, rest = work.partition(" ")
    if kind.startswith("gemm"):
        plain = work.partition(" / ")[0]
        m, n, k = sizes_of(plain.rpartition(" ")[2])
        name = "gemm_f8" if "f8e4m3" in work else kind
        return [("gemm", name, 1, dict(M=m, N=n, K=k))]
    if kind == "gelu(gemm":
        m, n, k = sizes_of(work.split(") ")[1].split(" ")[0])
        return [("gemm", "linear_gelu", 2, dict(M=m, N=n, K=k))]  # the second is without a residual
    if kind == "attention":
        found = re.match(r"(\w+) D=(\d+) N=(\d+)( causal)?", rest)
        d, n, causal = int(found[2]), int(found[3]), bool(found[4])
        batch, h = max(16384 // n, 1), 2048 // d
        size = dict(B=batch, H=h, G=h, N=n, L=n, D=d, scale=1 / math.sqrt(d), causal=int(causal))
        return [("attention", "attn_fwd", 1, size)] if found[1] == "forward" else [("attention_backward", "attn_bwd", 1, size)]
    if kind == "decode":
        length, g = (int(part.split("=")[1]) for part in rest.split())
        size = dict(B=16, H=32, G=g, L=length, D=128, R=32 // g, splits=parts_of_keys(16 * g, length, 128), scale=0.088)
        return [("extra/decode", "decode", 1, size)]
    if kind in ("RMSNorm", "LayerNorm"):
        n, c = sizes_of(rest.split()[-1])
        name = ("add_" if "residual" in rest else "") + ("rms_norm" if kind == "RMSNorm" else "layer_norm")
        return [("norms", name, 1, dict(N=n, C=c))]
    if kind == "softmax":
        n, c = sizes_of(rest)
        return [("softmax", "softmax" if c <= 8192 else "softmax_any", 1, dict(N=n, C=c))]
    if kind == "rotary":
        b, h, n, d = sizes_of(rest)
        return [("rotary", "rotary", 1, dict(B=b, H=h, N=n, D=d))]
    if kind == "cross-entropy":
        n, v = sizes_of(rest.split()[-1])
        calls = [("cross_entropy", "cross_entropy", 1, dict(N=n, V=v))]
        return calls + [("cross_entropy", "cross_entropy_grad", 1, dict(N=n, V=v))] if "gradient" in rest else calls
    return []


def predict(tkc, arch, calls):
    """Seconds, and the busiest unit of the longest launch."""
    seconds, longest = 0, None
    for file, name, number, sizes in calls:
        tuned = ROOT / "kernels" / f"{file}.tks"  # which build.sh uses, too
        command = [tkc, "explain", str(ROOT / "kernels" / f"{file}.tk"), "--arch", arch, "--filter", name, "--case", str(number),
                   "--json", "--no-advice", "--clean-cache", "--size", ",".join(f"{key}={value}" for key, value in sizes.items()),
                   *(["--schedules", str(tuned)] if tuned.exists() else [])]
        told = subprocess.run(command, capture_output=True, text=True)
        if told.returncode != 0:
            raise RuntimeError(told.stderr.strip().splitlines()[0] if told.stderr else "tkc failed")
        case = next(case for case in json.loads(told.stdout)["cases"] if case["name"] == name)
        seconds += case["seconds"]
        longest = max(case["steps"] + ([longest] if longest else []), key=lambda step: step["seconds"])
    return seconds, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, help="what compare.py wrote with --json")
    parser.add_argument("--tkc", default=str(ROOT / "build" / "release" / "tkc" / "tkc"))
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    parser.add_argument("--table", type=Path, help="writes the rows (Markdown) here")
    options = parser.parse_args()
    errors, lines = [], ["| work | measured | predicted | | busiest |", "|---|---|---|---|---|"]
    for row in json.loads(options.measured.read_text())["rows"]:
        if "ms" not in row or (options.only and not any(part in row["work"] for part in options.only)):
            continue
        calls = call_of(row["work"])
        if not calls:
            continue
        try:
            seconds, step = predict(options.tkc, options.arch, calls)
        except (RuntimeError, StopIteration) as problem:
            print(f"{row['work']:42} FAILED: {problem}")
            continue
        error = seconds * 1e3 / row["ms"] - 1
        errors.append(error)
        share = step["units"].get(step["busiest"], 0)
        print(f"{row['work']:42} measured {row['ms']:8.4f} ms, predicted {seconds * 1e3:8.4f} ms, {error:+6.1%}"
              f"{'' if abs(error) <= 0.15 else '  *'}  {step['busiest']} {share:.0%}", flush=True)
        lines.append(f"| {row['work']} | {row['ms']:.4f} ms | {seconds * 1e3:.4f} ms | {error:+.1%} | {step['busiest']} {share:.0%} |")
    if errors:
        within = sum(abs(error) <= 0.15 for error in errors)
        mean = math.exp(sum(abs(math.log1p(error)) for error in errors) / len(errors)) - 1
        print(f"{within} of {len(errors)} within 15 %, {sum(abs(error) <= 0.1 for error in errors)} within 10 %; "
              f"mean error {mean:.1%}")
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
