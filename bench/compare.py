# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times kernels of the library beside what PyTorch calls for the same work, in one process.

    bench/build.sh OUT            # where tkc and nvcc are: one shared library a .tk file
    python3 bench/compare.py OUT  # on the GPU: checks each result, then times both sides in turns

Inputs are random and fresh; outputs are poisoned before the checked call; L2 is flushed before every timed call; a ratio is
the median over rounds in which both sides run one after the other.
"""

import argparse
import ctypes
import json
import math
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


class Tensor(ctypes.Structure):
    """tk_tensor of tk/host/tensor.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 252)]


TYPE_CODES = {
    torch.float64: (2, 64),
    torch.float32: (2, 32),
    torch.float16: (2, 16),
    torch.bfloat16: (4, 16),
    torch.float8_e4m3fn: (10, 8),
    torch.float8_e5m2: (12, 8),
    torch.int64: (0, 64),
    torch.int32: (0, 32),
    torch.int8: (0, 8),
    torch.uint8: (1, 8),
    torch.bool: (6, 8),
}
for name, code, bits in (("float8_e8m0fnu", 14, 8), ("float4_e2m1fn_x2", 17, 4)):
    if hasattr(torch, name):
        TYPE_CODES[getattr(torch, name)] = (code, bits)


def as_argument(value):
    """The ctypes argument for a tensor, a number or None, and what must outlive the call."""
    if value is None:
        return ctypes.c_void_p(None), None
    if isinstance(value, torch.Tensor):
        n = value.dim()
        dims = (ctypes.c_int64 * max(n, 1))(*value.shape)
        strides = (ctypes.c_int64 * max(n, 1))(*value.stride())
        code, bits = TYPE_CODES[value.dtype]
        lanes = 2 if bits == 4 else 1
        tensor = Tensor(value.data_ptr(), 2, value.device.index or 0, n, code, bits, lanes, dims, strides, 0)
        return ctypes.byref(tensor), (tensor, dims, strides)
    if isinstance(value, ctypes._SimpleCData):
        return value, None
    if isinstance(value, float):
        return ctypes.c_float(value), None
    return ctypes.c_int32(int(value)), None


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def workspace_bytes(self, program, *values):
        function = getattr(self.library, f"{program}_workspace_bytes")
        function.restype = ctypes.c_int64
        prepared = [as_argument(value) for value in values]
        return function(*(argument for argument, _ in prepared))

    def bind(self, name, *values):
        """A function of no arguments that launches kernel `name` on the current stream."""
        function = getattr(self.library, name)
        function.restype = Status
        prepared = [as_argument(value) for value in values]
        arguments = [argument for argument, _ in prepared]

        def launch(keep=(prepared, values)):
            status = function(*arguments, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            if status.code != 0:
                raise RuntimeError(status.message.decode())

        return launch


def poison(*tensors):
    for tensor in tensors:
        tensor.fill_(float("nan")) if tensor.is_floating_point() else tensor.fill_(-77)


def error_of(got, want):
    """Largest difference, in units of the largest magnitude wanted."""
    got, want = got.float(), want.float()
    difference = torch.where(got == want, torch.zeros_like(got), (got - want).abs())
    if difference.isnan().any():
        return math.inf
    return (difference.max() / want[want.isfinite()].abs().max().clamp_min(1e-30)).item()


def check_with(outputs, wanted):
    def check(run):
        poison(*outputs)
        run()
        return max(error_of(a, b) for a, b in zip(outputs, wanted()))

    return check


class Bench:
    def __init__(self, folder, rounds, only):
        self.folder, self.rounds, self.only, self.rows = Path(folder), rounds, only, []
        self.flush = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)

    def library(self, name):
        return Library(self.folder / f"{name}.so")

    def timed(self, run):
        self.flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def in_turns(self, ours, theirs):
        """Medians of both in milliseconds, and the median and range of theirs / ours."""
        for _ in range(3):
            ours()
            theirs()
        torch.cuda.synchronize()
        pairs = [(self.timed(ours), self.timed(theirs)) for _ in range(self.rounds)]
        ratios = sorted(b / a for a, b in pairs)
        tenth = len(ratios) // 10
        return (
            statistics.median(a for a, _ in pairs),
            statistics.median(b for _, b in pairs),
            statistics.median(ratios),
            (ratios[tenth], ratios[-1 - tenth]),
        )

    def row(self, work, ours, theirs, check, flops=0, moved=0, limit=2e-2):
        if self.only and self.only not in work:
            return
        try:
            error = check(ours)
            a, b, ratio, spread = self.in_turns(ours, theirs)
        except Exception as problem:  # one broken row must not hide the others
            print(f"{work:42} FAILED: {problem}", flush=True)
            self.rows.append({"work": work, "failed": str(problem)})
            return
        rate = f"{flops / a / 1e9:6.0f} TFLOP/s" if flops else f"{moved / a / 1e6:6.0f} GB/s   "
        wrong = "" if error < limit else " WRONG"
        print(f"{work:42} error {error:7.1e}{wrong} {a:8.4f} ms {rate} theirs {b:8.4f} ms, ratio {ratio:5.3f} "
              f"[{spread[0]:.3f}, {spread[1]:.3f}]", flush=True)
        self.rows.append({"work": work, "error": error, "ms": a, "theirs_ms": b, "ratio": ratio, "spread": spread})


def normal(*dims, dtype=torch.bfloat16):
    return torch.randn(*dims, device="cuda").to(dtype)


def gemm(bench):
    library = bench.library("gemm")
    for m, n, k in [(2048,) * 3, (4096,) * 3, (8192,) * 3, (1000, 777, 136), (4096, 4096, 64)]:
        a, b, c = normal(m, k), normal(k, n), normal(m, n)
        bench.row(f"gemm bf16 {m}×{n}×{k}", library.bind("gemm", a, b, c), lambda: torch.mm(a, b),
                  check_with([c], lambda: [a.float() @ b.float()]), 2.0 * m * n * k)
    for name, ta, tb in [("gemm_nt", False, True), ("gemm_tn", True, False), ("gemm_tt", True, True)]:
        a, b, c = normal(4096, 4096), normal(4096, 4096), normal(4096, 4096)
        x, y = (a.T if ta else a), (b.T if tb else b)
        bench.row(f"{name} bf16 4096³", library.bind(name, a, b, c), lambda: torch.mm(x, y),
                  check_with([c], lambda: [x.float() @ y.float()]), 2.0 * 4096**3)


def attention_shapes():
    for d in (128, 64):
        for n in (4096, 12288):
            for causal in (False, True):
                yield max(16384 // n, 1), 2048 // d, n, d, causal


def cudnn(*arguments, **keywords):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(*arguments, **keywords)


def attention(bench):
    library = bench.library("attention")
    for batch, h, n, d, causal in attention_shapes():
        q, k, v = (normal(batch, h, n, d) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(batch, h, n, device="cuda")
        run = library.bind("attn_fwd", q, k, v, 1 / math.sqrt(d), o, lse, causal)
        bench.row(f"attention forward D={d} N={n}{' causal' if causal else ''}", run,
                  lambda: cudnn(q, k, v, is_causal=causal), check_with([o], lambda: [cudnn(q, k, v, is_causal=causal)]),
                  4.0 * batch * h * n * n * d * (0.5 if causal else 1), limit=5e-2)


def attention_backward(bench):
    forward, library = bench.library("attention"), bench.library("attention_backward")
    for batch, h, n, d, causal in attention_shapes():
        scale = 1 / math.sqrt(d)
        q, k, v = (normal(batch, h, n, d).requires_grad_() for _ in range(3))
        grad = normal(batch, h, n, d)
        o = cudnn(q, k, v, is_causal=causal)
        lse = torch.empty(batch, h, n, device="cuda")
        forward.bind("attn_fwd", q.detach(), k.detach(), v.detach(), scale, torch.empty_like(grad), lse, causal)()
        dq, dk, dv = (torch.empty_like(grad) for _ in range(3))
        arguments = (q, k, v, o.detach(), grad, lse, scale, dq, dk, dv, causal)
        size = library.workspace_bytes("attn_bwd", *arguments)
        workspace = torch.empty(size, device="cuda", dtype=torch.uint8)
        ours = library.bind("attn_bwd", *arguments, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(size))

        def theirs():
            return torch.autograd.grad(o, (q, k, v), grad, retain_graph=True)

        bench.row(f"attention backward D={d} N={n}{' causal' if causal else ''}", ours, theirs,
                  check_with([dq, dk, dv], theirs), 10.0 * batch * h * n * n * d * (0.5 if causal else 1), limit=5e-2)


def memory_bound(bench):
    source = normal(1 << 28)
    target = torch.empty_like(source)
    bench.row("copy", lambda: target.copy_(source), lambda: target.copy_(source), lambda run: 0.0, moved=4 * (1 << 28))
    norms, c, n = bench.library("norms"), 4096, 1 << 16
    x, residual, y, stream = (normal(n, c) for _ in range(4))
    weight, bias = normal(c), normal(c)
    rms = torch.compile(lambda t: F.rms_norm(t, (c,), weight, 1e-6))
    bench.row("RMSNorm 65536×4096", norms.bind("rms_norm", x, weight, y, 1e-6), lambda: rms(x),
              check_with([y], lambda: [F.rms_norm(x.float(), (c,), weight.float(), 1e-6)]), moved=4 * n * c)

    def add_norm(t, r):
        s = t + r
        return s, F.layer_norm(s, (c,), weight, bias, 1e-5)

    compiled = torch.compile(add_norm)
    bench.row("LayerNorm + residual 65536×4096",
              norms.bind("add_layer_norm", x, residual, weight, bias, stream, y, 1e-5), lambda: compiled(x, residual),
              check_with([stream, y], lambda: add_norm(x, residual)), moved=8 * n * c)
    softmax = torch.compile(lambda t: torch.softmax(t, -1))
    bench.row("softmax 65536×4096", bench.library("softmax").bind("softmax", x, y), lambda: softmax(x),
              check_with([y], lambda: [torch.softmax(x.float(), -1)]), moved=4 * n * c)
    rows, d = 16384, 128
    x = normal(16, 16, rows, d)
    y = torch.empty_like(x)
    cosine, sine = normal(rows, d // 2, dtype=torch.float32), normal(rows, d // 2, dtype=torch.float32)

    def rotate(t):
        lo, hi = t[..., : d // 2].float(), t[..., d // 2 :].float()
        return torch.cat((lo * cosine - hi * sine, hi * cosine + lo * sine), -1).to(t.dtype)

    compiled_rotate = torch.compile(rotate)
    bench.row("rotary 16×16×16384×128", bench.library("rotary").bind("rotary", x, cosine, sine, y),
              lambda: compiled_rotate(x), check_with([y], lambda: [rotate(x)]), moved=4 * x.numel())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where bench/build.sh put the libraries")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", help="writes the rows here")
    options = parser.parse_args()
    bench = Bench(options.folder, options.rounds, options.only)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    for part in (gemm, attention, attention_backward, memory_bound):
        try:
            part(bench)
        except (OSError, AttributeError, RuntimeError) as problem:
            print(f"{part.__name__}: {problem}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(bench.rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
