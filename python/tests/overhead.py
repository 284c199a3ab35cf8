# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs the CPU, on a GPU: overhead.py prints microseconds a call, queued without waiting, beside PyTorch's own."""

import time

import torch

import tkc

TEXT = "kernel add(x: f32[N], y: f32[N], out z: f32[N]) { parallel i in tiles(N, 256) { z[i] = x[i] + y[i]; } }"


def microseconds(call, calls=2000, rounds=7):
    """The median of some rounds, each short enough for the queue of launches."""
    for _ in range(100):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 10):
            call()
        times.append((time.perf_counter() - start) / (calls // 10))
    return sorted(times)[rounds // 2] * 1e6


def main():
    start = time.perf_counter()
    module = tkc.load(TEXT)
    x, y, z = (torch.ones(256, device="cuda") for _ in range(3))
    torch.cuda.synchronize()
    ready = time.perf_counter()
    module.add(x, y, out=z)
    torch.cuda.synchronize()
    first = time.perf_counter()
    module = tkc.load(TEXT)
    module.add(x, y, out=z)
    torch.cuda.synchronize()
    print(
        f"load {ready - start:.3f} s, first call {first - ready:.3f} s, load and call from the cache {time.perf_counter() - first:.4f} s"
    )
    import tvm_ffi

    function = next(iter(module.add._functions.values()))[0]
    assert isinstance(function, tvm_ffi.Function)
    rows = {
        "tkc, out=z": lambda: module.add(x, y, out=z),
        "tkc, allocated": lambda: module.add(x, y),
        "the tvm_ffi function alone": lambda: function(x, y, z),
        "torch.add, out=z": lambda: torch.add(x, y, out=z),
        "torch.add": lambda: x + y,
        "torch.empty": lambda: torch.empty(256, device="cuda"),
    }
    for name, call in rows.items():
        print(f"{name:28} {microseconds(call):8.2f} us")


if __name__ == "__main__":
    main()
