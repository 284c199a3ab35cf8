# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of shared libraries that tkc's code was compiled to, and timing them beside something else in one process.

Inputs are random and fresh; outputs are poisoned before the checked call; L2 is flushed before every timed call, and holds
nothing then that is yet to be written to memory; the call is queued while the GPU still waits, so that no launch is timed; a
ratio is the median over rounds in which both sides run one after the other."""
import ctypes
import importlib
import math
import statistics
import time
from pathlib import Path

import torch

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


# Seconds after which a GPU that long products have slowed down has its full clock again, so that a row meets its own heat and not
# its neighbour's. An H200 kept 1.46 of 1.95 GHz for some tenths of a second, in which short products took a fifth longer.
RECOVERY = 0.3

# Cycles in which the CPU gets ahead, so that what is timed is the GPU's time alone: a millisecond of the fastest clock. In 0.15 ms
# PyTorch's backward pass of attention was not queued whole: it looked 4 % slower than it is.
LEAD = 2_000_000

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


def largest_error(got, want):
    """Of a tensor, or of several."""
    if isinstance(got, torch.Tensor):
        return error_of(got, want)
    return max(error_of(a, b) for a, b in zip(got, want, strict=True))


def check_with(outputs, wanted):
    def check(run):
        poison(*outputs)
        run()
        return largest_error(outputs, wanted())

    return check


class Bench:
    """Rows of a table: each checks our result, then times both sides in turns. Failed rows are rows, too."""

    def __init__(self, folder, rounds, only, guests=()):
        """`guests`: names of modules of kernels that rows are measured beside, too, where what they need is installed (guest)."""
        self.folder, self.rounds, self.only, self.rows = Path(folder), rounds, only, []
        self.guests = {module.NAME: module for module in map(guest, guests) if module}
        self.flush = torch.zeros(2, 64 << 20, device="cuda", dtype=torch.float32)

    def library(self, name):
        return Library(self.folder / f"{name}.so")

    def lead_of(self, run):
        """Cycles that the GPU waits while the CPU queues this call."""
        return LEAD

    def timed(self, run):
        # What is written takes the place of all that was there, and what is read that of the written, which the timed call
        # would else write back to memory: an L2 full of it, 50 MB, beside the 33 to 134 MB that the smallest rows move.
        self.flush[0].zero_()
        self.flush[1].sum()
        torch.cuda._sleep(self.lead_of(run))
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def in_turns(self, ours, *others):
        """The median of ours in milliseconds, and of each of the others: theirs, and median and range of theirs / ours."""
        torch.cuda.synchronize()
        time.sleep(RECOVERY)
        for _ in range(3):
            for side in (ours, *others):
                side()
        torch.cuda.synchronize()
        rounds = [[self.timed(side) for side in (ours, *others)] for _ in range(self.rounds)]

        def beside(i):
            ratios = sorted(times[i] / times[0] for times in rounds)
            tenth = len(ratios) // 10
            return (statistics.median(times[i] for times in rounds), statistics.median(ratios),
                    (ratios[tenth], ratios[-1 - tenth]))

        return statistics.median(times[0] for times in rounds), [beside(i + 1) for i in range(len(others))]

    def with_guests(self, work, beside, theirs, limit):
        """What the guests that `beside` has a side for do for the work, where they do it right: {name: launch}."""
        sides = {}
        for name, make in beside.items():
            if name not in self.guests:
                continue
            try:
                launch = make(self.guests[name])
                error = largest_error(launch(), theirs())
                if error < limit:
                    sides[name] = launch
                else:
                    print(f"{work:42} {name}: error {error:7.1e} WRONG", flush=True)
            except Exception as problem:  # a column that is missing must not cost the row
                print(f"{work:42} {name}: {problem}", flush=True)
        return sides

    def row(self, work, ours, theirs, check, flops=0, moved=0, limit=2e-2, theirs_flops=0, beside=None):
        """With `theirs_flops`, what theirs does is other work, and the ratio that of the rates. `beside`: by the name of a guest,
        what makes a further side of its module."""
        if self.only and not any(part in work for part in self.only):
            return
        try:
            error = check(ours)
            further = self.with_guests(work, beside or {}, theirs, limit)
            a, ((b, ratio, spread), *others) = self.in_turns(ours, theirs, *further.values())
            share = flops / theirs_flops if theirs_flops else 1
            ratio, spread = ratio * share, [end * share for end in spread]
        except Exception as problem:  # one broken row must not hide the others
            print(f"{work:42} FAILED: {problem}", flush=True)
            self.rows.append({"work": work, "failed": str(problem)})
            return
        rate = f"{flops / a / 1e9:6.0f} TFLOP/s" if flops else f"{moved / a / 1e6:6.0f} GB/s   "
        wrong = "" if error < limit else " WRONG"
        measured = dict(zip(further, others))
        ends = "".join(f", {name} {t:8.4f} ms, ratio {r:5.3f} [{s[0]:.3f}, {s[1]:.3f}]" for name, (t, r, s) in measured.items())
        print(f"{work:42} error {error:7.1e}{wrong} {a:8.4f} ms {rate} theirs {b:8.4f} ms, ratio {ratio:5.3f} "
              f"[{spread[0]:.3f}, {spread[1]:.3f}]{ends}", flush=True)
        self.rows.append({"work": work, "error": error, "right": error < limit, "ms": a, "theirs_ms": b, "ratio": ratio,
                          "spread": spread, "tflops": flops / a / 1e9, "gbytes": moved / a / 1e6})
        if measured:
            self.rows[-1]["beside"] = {name: {"ms": t, "ratio": r, "spread": s} for name, (t, r, s) in measured.items()}


def guest(module):
    """The module of this folder, or None where what it needs is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def normal(*dims, dtype=torch.bfloat16):
    return torch.randn(*dims, device="cuda").to(dtype)
