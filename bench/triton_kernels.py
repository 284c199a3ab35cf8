# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Triton's tutorials teach, written anew for this comparison: a product of matrices, fused attention, layer norm and
softmax, autotuned where the tutorials are. Each function returns one that launches the work and returns its result.
Source: triton-lang.org, "Tutorials", 02, 03, 05 and 06."""
import torch
import triton
import triton.language as tl

NAME = "Triton"


def matmul_configs():
    """Tiles of the tutorial's lists, for 16-bit types and for float8."""
    shapes = [(128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4),
              (64, 32, 32, 5, 2), (128, 256, 128, 3, 8), (256, 128, 128, 3, 8), (128, 128, 64, 4, 4), (128, 128, 128, 4, 4),
              (64, 128, 64, 4, 4)]
    return [triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_stages=stages, num_warps=warps)
            for m, n, k, stages, warps in shapes]


@triton.autotune(configs=matmul_configs(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a, b, c, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = program // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    at_m = first + program % (GROUP * across) % height
    at_n = program % (GROUP * across) // height
    # Beyond an edge the tile wraps around, so that no load of the loop needs a mask along m and n.
    rows, cols = (at_m * BM + tl.arange(0, BM)) % M, (at_n * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    a_at, b_at = a + rows[:, None] * a_m + ks[None, :] * a_k, b + ks[:, None] * b_k + cols[None, :] * b_n
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = tl.load(a_at, mask=ks[None, :] < K - step * BK, other=0.0)
        right = tl.load(b_at, mask=ks[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(left, right, acc)
        a_at += BK * a_k
        b_at += BK * b_k
    out_m, out_n = at_m * BM + tl.arange(0, BM), at_n * BN + tl.arange(0, BN)
    tl.store(c + out_m[:, None] * c_m + out_n[None, :] * c_n, acc.to(c.dtype.element_ty),
             mask=(out_m[:, None] < M) & (out_n[None, :] < N))


def matmul(a, b):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=torch.bfloat16)
    (m, k), n = a.shape, b.shape[1]

    def launch():
        matmul_kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](
            a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
        return c

    return launch


def attention_configs():
    return [triton.Config({"BM": m, "BN": n}, num_stages=stages, num_warps=warps)
            for m, n in ((64, 64), (128, 64), (128, 128)) for stages in (2, 3, 4) for warps in (4, 8) if (m, warps) != (64, 8)]


@triton.jit
def attention_steps(acc, total, top, q, k, v, k_n, v_n, k_d, v_d, start, until, N, scale, rows,
                    BN: tl.constexpr, D: tl.constexpr, masked: tl.constexpr):
    ds = tl.arange(0, D)
    for at in tl.range(start, until, BN):
        at = tl.multiple_of(at, BN)
        cols = at + tl.arange(0, BN)
        keys = tl.load(k + cols[None, :] * k_n + ds[:, None] * k_d, mask=cols[None, :] < N, other=0.0)
        s = tl.dot(q, keys)
        if masked:
            s = tl.where((cols[None, :] < N) & (cols[None, :] <= rows[:, None]), s, -1.0e30)
        new_top = tl.maximum(top, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - new_top[:, None])
        factor = tl.math.exp2(top - new_top)
        total = total * factor + tl.sum(p, 1)
        values = tl.load(v + cols[:, None] * v_n + ds[None, :] * v_d, mask=cols[:, None] < N, other=0.0)
        acc = tl.dot(p.to(values.dtype), values, acc * factor[:, None])
        top = new_top
    return acc, total, top


@triton.autotune(configs=attention_configs(), key=["N", "D", "causal"])
@triton.jit
def attention_kernel(q, k, v, o, scale, H, N, q_h, q_n, q_d, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                     causal: tl.constexpr):
    """All four tensors have the same strides."""
    rows, ds = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    head = tl.program_id(1).to(tl.int64) * q_h
    here = head + rows[:, None] * q_n + ds[None, :] * q_d
    queries = tl.load(q + here, mask=rows[:, None] < N, other=0.0)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    top, total = tl.full((BM,), -1.0e30, tl.float32), tl.zeros((BM,), tl.float32)
    whole = tl.program_id(0) * BM // BN * BN if causal else N // BN * BN
    end = min(N, (tl.program_id(0) + 1) * BM) if causal else N
    limit = rows if causal else rows * 0 + N
    acc, total, top = attention_steps(acc, total, top, queries, k + head, v + head, q_n, q_n, q_d, q_d, 0, whole, N, scale,
                                      limit, BN, D, False)
    acc, total, top = attention_steps(acc, total, top, queries, k + head, v + head, q_n, q_n, q_d, q_d, whole, end, N, scale,
                                      limit, BN, D, True)
    tl.store(o + here, (acc / total[:, None]).to(o.dtype.element_ty), mask=rows[:, None] < N)


def attention(q, k, v, causal):
    batch, heads, n, d = q.shape
    o = torch.empty_like(q)
    scale = d**-0.5 * 1.4426950408889634

    def launch():
        attention_kernel[lambda meta: (triton.cdiv(n, meta["BM"]), batch * heads)](
            q, k, v, o, scale, heads, n, q.stride(1), q.stride(2), q.stride(3), D=d, causal=causal)
        return o

    return launch


@triton.jit
def layer_norm_kernel(x, y, weight, bias, stride, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    summed = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, C, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        summed += tl.load(x + row + cols, mask=cols < C, other=0.0).to(tl.float32)
    mean = tl.sum(summed, 0) / C
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, C, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        apart = tl.load(x + row + cols, mask=cols < C, other=0.0).to(tl.float32) - mean
        squares += tl.where(cols < C, apart * apart, 0.0)
    factor = 1 / tl.sqrt(tl.sum(squares, 0) / C + eps)
    for at in range(0, C, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        inside = cols < C
        normed = (tl.load(x + row + cols, mask=inside, other=0.0).to(tl.float32) - mean) * factor
        w, b = tl.load(weight + cols, mask=inside), tl.load(bias + cols, mask=inside)
        tl.store(y + row + cols, (normed * w + b).to(y.dtype.element_ty), mask=inside)


def layer_norm(x, weight, bias, eps):
    rows, columns = x.shape
    y, block = torch.empty_like(x), min(65536 // x.element_size(), triton.next_power_of_2(columns))

    def launch():
        layer_norm_kernel[(rows,)](x, y, weight, bias, x.stride(0), columns, eps, BLOCK=block,
                                   num_warps=min(max(block // 256, 1), 8))
        return y

    return launch


@triton.jit
def softmax_kernel(x, y, x_stride, y_stride, rows, C, BLOCK: tl.constexpr, stages: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=stages):
        row = row.to(tl.int64)
        values = tl.load(x + row * x_stride + cols, mask=cols < C, other=-float("inf")).to(tl.float32)
        powers = tl.exp(values - tl.max(values, 0))
        tl.store(y + row * y_stride + cols, (powers / tl.sum(powers, 0)).to(y.dtype.element_ty), mask=cols < C)


def softmax(x):
    """As many programs as the multiprocessors hold at once, by what the compiled kernel takes."""
    rows, columns = x.shape
    y, block = torch.empty_like(x), triton.next_power_of_2(columns)
    properties = triton.runtime.driver.active.utils.get_device_properties(x.device.index or 0)
    stages = 4 if properties["max_shared_mem"] > 200000 else 2
    compiled = softmax_kernel.warmup(x, y, x.stride(0), y.stride(0), rows, columns, BLOCK=block, stages=stages, num_warps=8,
                                     grid=(1,))
    compiled._init_handles()
    held = properties["max_num_regs"] // (max(compiled.n_regs, 1) * 32 * 8)
    if compiled.metadata.shared:
        held = min(held, properties["max_shared_mem"] // compiled.metadata.shared)
    programs = min(properties["multiprocessor_count"] * max(held, 1), rows)

    def launch():
        softmax_kernel[(programs,)](x, y, x.stride(0), y.stride(0), rows, columns, BLOCK=block, stages=stages, num_warps=8)
        return y

    return launch
