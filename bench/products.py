# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products beside cuBLAS (as PyTorch calls it), and a fused epilogue beside the product without it."""
import ctypes

import torch
import torch.nn.functional as F

from side_by_side import check_with, normal

CUBES = [(size,) * 3 for size in (2048, 3072, 4096, 6144, 8192, 12288, 16384)]
LARGE = [(8192, 28672, 8192), (8192, 8192, 28672)]
SMALL = [(4096, 4096, k) for k in (64, 128, 256, 512, 1024)] + [(128, 4096, 4096), (16, 8192, 8192), (1000, 777, 136), (4000,) * 3]


def name_of(m, n, k):
    return f"{m}³" if m == n == k else f"{m}×{n}×{k}"


def gemm(bench):
    library = bench.library("gemm")
    for m, n, k in CUBES + LARGE + SMALL:
        a, b, c = normal(m, k), normal(k, n), normal(m, n)
        bench.row(f"gemm bf16 {name_of(m, n, k)}", library.bind("gemm", a, b, c), lambda: torch.mm(a, b),
                  check_with([c], lambda: [a.float() @ b.float()]), 2.0 * m * n * k, beside={"Triton": lambda t: t.matmul(a, b)})
    for name, ta, tb in [("gemm_nt", False, True), ("gemm_tn", True, False), ("gemm_tt", True, True)]:
        a, b, c = normal(4096, 4096), normal(4096, 4096), normal(4096, 4096)
        x, y = (a.T if ta else a), (b.T if tb else b)
        bench.row(f"{name} bf16 4096³", library.bind(name, a, b, c), lambda: torch.mm(x, y),
                  check_with([c], lambda: [x.float() @ y.float()]), 2.0 * 4096**3, beside={"Triton": lambda t: t.matmul(x, y)})


def gemm_f8(bench):
    """Both sides accumulate as the instruction does (`use_fast_accum`)."""
    library, one = bench.library("gemm"), torch.ones((), device="cuda")
    for m, n, k in CUBES:
        a, b = (normal(rows, k, dtype=torch.float8_e4m3fn) for rows in (m, n))
        c = normal(m, n)
        bench.row(f"gemm f8e4m3 {name_of(m, n, k)}", library.bind("gemm_f8", a, b, 1.0, c),
                  lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True),
                  check_with([c], lambda: [a.float() @ b.float().T]), 2.0 * m * n * k, beside={"Triton": lambda t: t.matmul(a, b.T)})


def gemm_f8_nn(bench):
    """`theirs` is our own product of operands that both lie as float8 is multiplied: the ratio says what copying one costs."""
    library = bench.library("gemm")
    for size in (2048, 4096, 8192):
        a, b = (normal(size, size, dtype=torch.float8_e4m3fn) for _ in range(2))
        c, plain = normal(size, size), normal(size, size)
        bytes_needed = library.workspace_bytes("gemm_f8_nn", a, b, 1.0, c)
        workspace = torch.empty(bytes_needed, device="cuda", dtype=torch.uint8)
        bench.row(f"gemm_f8_nn {size}³ / gemm_f8",
                  library.bind("gemm_f8_nn", a, b, 1.0, c, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(bytes_needed)),
                  library.bind("gemm_f8", a, b, 1.0, plain),
                  check_with([c], lambda: [a.float() @ b.float()]), 2.0 * size**3)


def epilogue(bench):
    """`theirs` is our own plain product of the same operands: the ratio says what the epilogue costs."""
    library, (m, n, k) = bench.library("gemm"), (3072, 12288, 3072)
    x, w, bias, y, plain = normal(m, k), normal(n, k), normal(n), normal(m, n), normal(m, n)
    bench.row(f"gelu(gemm + bias) {name_of(m, n, k)} / plain", library.bind("linear_gelu", x, w, bias, y, None),
              library.bind("gemm_nt", x, w, plain),
              check_with([y], lambda: [F.gelu(x.float() @ w.float().T + bias.float())]), 2.0 * m * n * k)


PARTS = [gemm, gemm_f8, gemm_f8_nn, epilogue]
