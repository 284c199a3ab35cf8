# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the library on shapes drawn at random, beside the best of what PyTorch has for each. Nobody tuned for these.

    bench/build.sh OUT gemm attention attention_backward norms softmax rotary extra/decode   # where tkc and nvcc are
    python3 bench/random_shapes.py SEED OUT --log LOG                           # on the GPU

SEED is any word: the hash of the last commit that touches backends/, kernels/ or runtime/ is one that nobody chose. Products are timed
beside cuBLAS and cuBLASLt, attention and decoding beside cuDNN and FlashAttention-2 (and 3, where its package is installed), rows beside
torch.compile. Every result is checked. LOG is JSON, a line a shape: after an interrupt, or where --seconds ran out, the same command
goes on. Then a table says how it stands. The ratio is the time of the fastest other over ours. With --workspace our kernels may copy operands to
workspace first, in the time that counts. `--before OUT` times libraries of another build beside, without workspace; it may be given several
times. `--workspace --before OUT`, with OUT the folder itself, says what workspace is worth."""
import argparse
import ctypes
import hashlib
import json
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend

import drawn_shapes
from attentions import called_by
from side_by_side import Bench, Library, check_with, normal
from split_keys import parts_of_keys

LIBRARIES = {"gemm": ["gemm"], "gemm_f8": ["gemm"], "attention": ["attention"],
             "attention backward": ["attention", "attention_backward"], "rows": ["norms", "softmax", "rotary"], "decoding": ["decode"]}
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}
NORM_LENGTHS, SOFTMAX_LENGTHS = (1024, 2048, 4096, 8192), (512, 1024, 2048, 4096, 8192, 16384)


class WithWorkspace(Library):
    """Kernels that can use workspace have it: what they copy there counts as their time."""

    def bind(self, name, *values):
        if not hasattr(self.library, f"{name}_with_workspace"):
            return super().bind(name, *values)
        size = self.workspace_bytes(name, *values)
        workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)
        launch = super().bind(f"{name}_with_workspace", *values, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(size))
        return lambda keep=workspace: launch()


class WorkspaceBench(Bench):
    def library(self, name):
        return WithWorkspace(self.folder / f"{name}.so")


def by_blas(library, multiply):
    def run():
        torch.backends.cuda.preferred_blas_library(library)
        return multiply()

    return run


def with_room(library, program, *arguments):
    """What launches a program, with the workspace that it needs."""
    size = library.workspace_bytes(program, *arguments)
    workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)
    launch = library.bind(program, *arguments, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(size))
    return lambda keep=workspace: launch()


def both_blas(multiply):
    return {"cuBLAS": by_blas("cublas", multiply), "cuBLASLt": by_blas("cublaslt", multiply)}


# Each gives what launches ours with the libraries of a folder, the others by name, and what checks ours.


def gemm(bench, s):
    m, n, k, (ta, tb) = s["m"], s["n"], s["k"], (letter == "t" for letter in s["layout"])
    a, b, c = normal(k, m) if ta else normal(m, k), normal(n, k) if tb else normal(k, n), normal(m, n)
    x, y = a.T if ta else a, b.T if tb else b
    name = "gemm" if s["layout"] == "nn" else f"gemm_{s['layout']}"
    return (lambda library: library("gemm").bind(name, a, b, c), both_blas(lambda: torch.mm(x, y)),
            check_with([c], lambda: [x.float() @ y.float()]))


def gemm_f8(bench, s):
    a, b = (normal(size, s["k"], dtype=torch.float8_e4m3fn) for size in (s["m"], s["n"]))
    c, one = normal(s["m"], s["n"]), torch.ones((), device="cuda")

    def scaled():
        return torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    return (lambda library: library("gemm").bind("gemm_f8", a, b, 1.0, c), {"cuBLASLt": scaled},
            check_with([c], lambda: [a.float() @ b.float().T]))


def attention(bench, s):
    q = normal(s["b"], s["h"], s["n"], s["d"])
    k, v = (normal(s["b"], s["g"], s["l"], s["d"]) for _ in range(2))
    o, lse, causal = torch.empty_like(q), torch.empty(s["b"], s["h"], s["n"], device="cuda"), s["causal"]
    sides = {name: lambda call=called_by(backend): call(q, k, v, is_causal=causal, enable_gqa=s["g"] != s["h"])
             for name, backend in BACKENDS.items()}
    sides |= {name: guest.attention(q, k, v, causal) for name, guest in bench.guests.items()}
    return (lambda library: library("attention").bind("attn_fwd", q, k, v, 1 / math.sqrt(s["d"]), o, lse, causal), sides,
            check_with([o], lambda: [first_of(sides)()]))


def attention_backward(bench, s):
    causal, scale = s["causal"], 1 / math.sqrt(s["d"])
    q, grad = normal(s["b"], s["h"], s["n"], s["d"]), normal(s["b"], s["h"], s["n"], s["d"])
    k, v = (normal(s["b"], s["h"], s["l"], s["d"]) for _ in range(2))
    o, lse, gradients = torch.empty_like(q), torch.empty(s["b"], s["h"], s["n"], device="cuda"), [torch.empty_like(x) for x in (q, k, v)]
    bench.library("attention").bind("attn_fwd", q, k, v, scale, o, lse, causal)()
    arguments = (q, k, v, o, grad, lse, scale, *gradients, causal)
    sides = {}
    for name, backend in BACKENDS.items():
        inputs = [x.detach().requires_grad_() for x in (q, k, v)]
        try:
            result = called_by(backend)(*inputs, is_causal=causal)
        except RuntimeError:
            continue  # this backend does not take it
        sides[name] = lambda result=result, inputs=inputs: torch.autograd.grad(result, inputs, grad, retain_graph=True)
    sides |= {name: guest.gradients(q, k, v, grad, causal) for name, guest in bench.guests.items()}

    return (lambda library: with_room(library("attention_backward"), "attn_bwd", *arguments), sides,
            check_with(gradients, lambda: first_of(sides)()))


def decoding(bench, s):
    """One query a sequence, whose keys are split in as many parts as their number asks for."""
    q, o, ratio = normal(s["b"], s["h"], 1, s["d"]), normal(s["b"], s["h"], s["d"]), s["h"] // s["g"]
    k, v = (normal(s["b"], s["g"], s["l"], s["d"]) for _ in range(2))
    splits, scale = parts_of_keys(s["b"] * s["g"], s["l"], s["d"]), 1 / math.sqrt(s["d"])
    sides = {name: lambda call=called_by(backend): call(q, k, v, enable_gqa=ratio != 1) for name, backend in BACKENDS.items()}

    def wanted():
        packed = q.view(s["b"], s["g"], ratio, s["d"]).float()
        return [((packed @ k.float().mT * scale).softmax(-1) @ v.float()).view_as(o)]

    return (lambda library: with_room(library("decode"), "decode", q[:, :, 0], k, v, scale, splits, o, ratio), sides, check_with([o], wanted))


def rotate(x, cosine, sine):
    lo, hi = (part.float() for part in x.chunk(2, -1))
    return torch.cat((lo * cosine - hi * sine, hi * cosine + lo * sine), -1).to(x.dtype)


def rows(bench, s):
    torch._dynamo.reset()
    if s["kind"] == "rotary":
        x = normal(s["b"], s["h"], s["n"], s["d"])
        cosine, sine = (normal(s["n"], s["d"] // 2, dtype=torch.float32) for _ in range(2))
        y, compiled = torch.empty_like(x), torch.compile(rotate, dynamic=False)
        return (lambda library: library("rotary").bind("rotary", x, cosine, sine, y),
                {"torch.compile": lambda: compiled(x, cosine, sine)}, check_with([y], lambda: [rotate(x, cosine, sine)]))
    n, c = s["n"], s["c"]
    x, y, weight, bias = normal(n, c), normal(n, c), normal(c), normal(c)
    if s["kind"] == "softmax":
        compiled = torch.compile(lambda t: torch.softmax(t, -1), dynamic=False)
        name = "softmax" if c in SOFTMAX_LENGTHS else "softmax_any"
        return (lambda library: library("softmax").bind(name, x, y), {"torch.compile": lambda: compiled(x)},
                check_with([y], lambda: [torch.softmax(x.float(), -1)]))
    is_rms = s["kind"] == "RMSNorm"
    name = ("rms_norm" if is_rms else "layer_norm") + ("" if c in NORM_LENGTHS else "_any")
    parameters = (weight,) if is_rms else (weight, bias)

    def norm(t, *parameters):
        return F.rms_norm(t, (c,), *parameters, 1e-6) if is_rms else F.layer_norm(t, (c,), *parameters, 1e-5)

    compiled = torch.compile(norm, dynamic=False)
    return (lambda library: library("norms").bind(name, x, *parameters, y, 1e-6 if is_rms else 1e-5),
            {"torch.compile": lambda: compiled(x, *parameters)},
            check_with([y], lambda: [norm(x.float(), *(each.float() for each in parameters))]))


WORKS = {"gemm": gemm, "gemm_f8": gemm_f8, "attention": attention, "attention backward": attention_backward, "rows": rows,
         "decoding": decoding}


def first_of(sides):
    """The first that takes the call."""
    for side in sides.values():
        try:
            side()
            return side
        except RuntimeError:
            continue
    raise RuntimeError("nothing of PyTorch takes this call")


def takes(side):
    try:
        side()
        return True
    except RuntimeError:
        return False


def measure(bench, shape, before):
    """The row of a shape. `before`: by name, what other builds time it with."""
    work = shape["work"]
    row = shape | {"name": drawn_shapes.title(shape)}
    try:
        bind, sides, check = WORKS[work](bench, shape)
        ours = bind(bench.library)
        error = check(ours)
        row |= {"error": error, "right": error < (5e-2 if work.startswith("attention") or work == "decoding" else 2e-2)}
        sides = {name: side for name, side in sides.items() if takes(side)}
        builds = {name: bind(other.library) for name, other in before.items()}
        ms, others = bench.in_turns(ours, *sides.values(), *builds.values())
        times = [{"ms": t, "ratio": ratio} for t, ratio, _ in others]
        row |= {"ms": ms, "others": dict(zip(sides, times)), "before": dict(zip(builds, times[len(sides):]))}
        peer = min(row["others"], key=lambda name: row["others"][name]["ratio"])
        row |= {"peer": peer, "ratio": row["others"][peer]["ratio"], "peer_ms": row["others"][peer]["ms"]}
    except Exception as problem:  # one broken row must not hide the others
        row |= {"failed": str(problem) or type(problem).__name__, "right": False}
    torch.cuda.synchronize()
    return row


def state_of(folder, works):
    """Hashes of the libraries that are timed: a log is of one build."""
    names = sorted({name for work in works for name in LIBRARIES[work]})
    return {name: hashlib.sha256((folder / f"{name}.so").read_bytes()).hexdigest()[:16] for name in names}


def read_log(path, header):
    """The rows that a log of the same run has; it begins with `header`, which is written if there is none."""
    lines = path.read_text().splitlines() if path.exists() else []
    if not lines:
        path.write_text(json.dumps(header, ensure_ascii=False) + "\n")
        return []
    if json.loads(lines[0]) != header:
        sys.exit(f"{path} is of another seed, GPU, PyTorch or build: {lines[0]}")
    return [json.loads(text) for text in lines[1:]]


def report(row):
    if "failed" in row:
        return f"{row['name']:44} FAILED: {row['failed']}"
    sides = ", ".join(f"{name} {side['ms'] * 1e3:8.1f} ({side['ratio']:.3f})" for name, side in (row["others"] | row["before"]).items())
    wrong = "" if row["right"] else " WRONG"
    return f"{row['name']:44} {row['class']:10} error {row['error']:7.1e}{wrong} {row['ms'] * 1e3:8.1f} µs, {sides}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed")
    parser.add_argument("folder", type=Path, help="where bench/build.sh put the libraries")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--works", nargs="*", choices=list(WORKS), default=list(WORKS))
    parser.add_argument("--counts", nargs="*", type=int, help="shapes of each kind of work, instead of the usual numbers")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=math.inf, help="no shape is begun after so many")
    parser.add_argument("--before", type=Path, action="append", default=[], help="libraries of another build, timed beside, without workspace")
    parser.add_argument("--workspace", action="store_true", help="calls NAME_with_workspace of the kernels that have it")
    options = parser.parse_args()
    start = time.monotonic()
    counts = {work: drawn_shapes.COUNTS[work] for work in options.works}
    if options.counts:
        counts = dict(zip(options.works, options.counts, strict=True))
    header = {"seed": options.seed, "device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "libraries": state_of(options.folder, options.works), "workspace": options.workspace}
    done = read_log(options.log, header)
    known = {row["name"] for row in done}
    bench = (WorkspaceBench if options.workspace else Bench)(options.folder, options.rounds, [], ["flash3"])
    before = {f"before: {folder.name}": Bench(folder, options.rounds, []) for folder in options.before}
    left = 0
    with options.log.open("a") as log:
        for shape in drawn_shapes.shapes(options.seed, counts):
            if drawn_shapes.title(shape) in known:
                continue
            if time.monotonic() - start > options.seconds:
                left += 1
                continue
            row = measure(bench, shape, before)
            done.append(row)
            log.write(json.dumps(row, ensure_ascii=False) + "\n")
            log.flush()
            print(report(row), flush=True)
    print(f"\nseed {options.seed}, {header['device']}, torch {header['torch']}\n\n{drawn_shapes.table(done)}")
    if left:
        print(f"{left} shapes are left: the same command goes on")
    return 0 if not left and all(row.get("right") for row in done) else 1


if __name__ == "__main__":
    sys.exit(main())
