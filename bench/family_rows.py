# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of families.py: for each kernel fresh random inputs, its f64 reference, its peers, and what it is asked to reach."""
import functools
import math

import torch

import family_peers as peers
import family_references as references
from family_attention import grouped_backward, ragged_backward, window_backward
from family_work import Row, Work, bytes_of
from side_by_side import largest_error

FLA, CHUNK = "flash-linear-attention", 64


def chunk_flops(rows, d, e):
    """Of linear attention by chunks: what a step sees of its chunk, half of it masked, and of the state, which it also changes."""
    return rows * (CHUNK * (d + e) + 4.0 * d * e)


# ---- linear attention ---------------------------------------------------------------------------------------------------------


def linear(kit, kind, d, e=64):
    b, h, n = kit.sizes((16, 16, 4096), (1, 2, 130))
    q, k, v, scale = kit.normal(b, h, n, d), kit.normal(b, h, n, d), kit.normal(b, h, n, e), d**-0.5
    o, last = torch.empty_like(v), kit.empty(b, h, d, e, dtype=torch.float32)
    tensors, gates, each_gate = {"q": q, "k": k, "v": v}, (), None
    if kind == "retention":  # flash-linear-attention has the gates of the paper
        gates = (torch.log(1 - 2.0 ** (-5 - torch.arange(h, device=kit.device, dtype=torch.float32))),)
        each_gate = gates[0][None, :, None, None].expand(b, h, n, 1)
    elif kind == "simple_gated":
        gates = (kit.uniform(b, h, n, low=-0.2, high=0),)
        each_gate, tensors = gates[0][..., None], tensors | {"g": gates[0]}
    call = kit.kernel("linear_attention/linear_attention.tk", kind)
    module = {"linear_attention": "linear_attn", "retention": "retention", "simple_gated": "simple_gla"}[kind]
    extra = {"normalize": False} if kind == "linear_attention" else {}
    sides = {FLA: lambda: peers.chunked(module, f"chunk_{module}", tensors, scale=scale, **extra)}
    if kind == "linear_attention":
        sides[f"{FLA}, fused"] = lambda: peers.chunked(module, "fused_chunk_linear_attn", tensors, scale=scale, **extra)
    return Work(lambda: call(q, k, v, *gates, scale, out=[o, last]), [o, last],
                lambda: references.recurrent(q, k, v, scale, each_gate), sides, bytes_of(q, k, v, o, last, *gates),
                chunk_flops(b * h * n, d, e))


def linear_backward(kit, has_gates):
    """With gates of 0 it is the backward pass of linear attention."""
    b, h, n = kit.sizes((16, 16, 4096), (1, 2, 130))
    q, k, v, grad = (kit.normal(b, h, n, 64) for _ in range(4))
    gate = kit.uniform(b, h, n, low=-0.2, high=0) if has_gates else torch.zeros(b, h, n, device=kit.device)
    scale, outputs = 0.125, [torch.empty_like(q) for _ in range(3)]
    call = kit.kernel("linear_attention/linear_attention_backward.tk", "simple_gated_backward")
    module, extra = ("simple_gla", {"g": peers.placed(gate)[0]}) if has_gates else ("linear_attn", {"normalize": False})
    return Work(lambda: call(q, k, v, grad, gate, scale, out=outputs), outputs,
                lambda: references.simple_gated_gradients(q, k, v, grad, gate, scale),
                {FLA: lambda: peers.gradients(module, f"chunk_{module}", q, k, v, grad, scale=scale, **extra)},
                bytes_of(q, k, v, grad, gate, *outputs), 3 * chunk_flops(b * h * n, 64, 64))


def gated(kit, d):
    b, h, n = kit.sizes((16, 16, 4096), (1, 2, 130))
    q, k, v, scale = kit.normal(b, h, n, d), kit.normal(b, h, n, d), kit.normal(b, h, n, 64), d**-0.5
    gate, o, last = kit.uniform(b, h, n, d, low=-0.3, high=0), torch.empty_like(v), kit.empty(b, h, d, 64, dtype=torch.float32)
    call = kit.kernel("linear_attention/gated.tk", "gated")
    return Work(lambda: call(q, k, v, gate, scale, out=[o, last]), [o, last],
                lambda: references.recurrent(q, k, v, scale, gate),
                {FLA: lambda: peers.chunked("gla", "chunk_gla", {"q": q, "k": k, "v": v, "g": gate}, scale=scale)},
                bytes_of(q, k, v, gate, o, last), chunk_flops(b * h * n, d, 64))


def gated_backward(kit, d):
    b, h, n = kit.sizes((16, 16, 4096), (1, 2, 130))
    q, k, v, grad = kit.normal(b, h, n, d), kit.normal(b, h, n, d), kit.normal(b, h, n, 64), kit.normal(b, h, n, 64)
    gate, scale = kit.uniform(b, h, n, d, low=-0.3, high=0), d**-0.5
    outputs = [torch.empty_like(each) for each in (q, k, v, gate)]
    call = kit.kernel("linear_attention/gated_backward.tk", "gated_backward")
    return Work(lambda: call(q, k, v, gate, scale, grad, out=outputs), outputs,
                lambda: references.gated_gradients(q, k, v, grad, gate, scale),
                {FLA: lambda: peers.gated_gradients(q, k, v, grad, gate, scale)},
                bytes_of(q, k, v, grad, gate, *outputs), 3 * chunk_flops(b * h * n, d, 64))


# ---- delta rules --------------------------------------------------------------------------------------------------------------


def unit_keys(kit, *dims):
    """The rule's keys have length 1: with longer ones its state grows without bound."""
    x = kit.normal(*dims, dtype=torch.float32)
    return (x / x.norm(dim=-1, keepdim=True)).to(torch.bfloat16)


def delta_flops(rows, d, e):
    """Of a chunk: k kᵀ, the inverse (about two products of its size and as many again), q kᵀ, and five products with state or values."""
    return rows * (CHUNK * 2.0 * d + CHUNK * 2 * CHUNK + 2.0 * CHUNK * e + 6.0 * d * e)


def delta(kit, kind, d, batch):
    b, h, n = kit.sizes((batch, 16, 4096), (1, 2, 130))
    q, k, v, scale = kit.normal(b, h, n, d), unit_keys(kit, b, h, n, d), kit.normal(b, h, n, d), d**-0.5
    beta, o = kit.uniform(b, h, n), torch.empty_like(v)
    gate = torch.zeros_like(beta) if kind == "delta" else kit.uniform(b, h, n, low=-0.2, high=0)
    call = kit.kernel("linear_attention/delta.tk", "gated_delta")
    tensors, module = {"q": q, "k": k, "v": v, "beta": beta}, "delta_rule"
    if kind != "delta":
        tensors, module = tensors | {"g": gate}, "gated_delta_rule"
    return Work(lambda: call(q, k, v, gate, beta, scale, out=[o]), [o],
                lambda: references.recurrent(q, k, v, scale, gate[..., None], beta)[:1],
                {FLA: lambda: peers.chunked(module, f"chunk_{module}", tensors, state=False, scale=scale)},
                bytes_of(q, k, v, gate, beta, o), delta_flops(b * h * n, d, d))


def delta_backward(kit, kind, d, batch):
    b, h, n = kit.sizes((batch, 16, 4096), (1, 2, 130))
    q, k, v, grad, scale = kit.normal(b, h, n, d), unit_keys(kit, b, h, n, d), kit.normal(b, h, n, d), kit.normal(b, h, n, d), d**-0.5
    beta = kit.uniform(b, h, n)
    gate = torch.zeros_like(beta) if kind == "delta" else kit.uniform(b, h, n, low=-0.2, high=0)
    dq, dk, dv, dgate, dbeta = [torch.empty_like(x) for x in (q, k, v, gate, beta)]
    call = kit.kernel("linear_attention/delta_backward.tk", "gated_delta_backward")
    tensors = {"q": q, "k": k, "v": v} | ({} if kind == "delta" else {"g": gate}) | {"beta": beta}

    def outputs_of(results):
        return results if kind != "delta" else [*results[:3], *results[4:]]

    return Work(lambda: call(q, k, v, gate, beta, scale, grad, out=[dq, dk, dv, dgate, dbeta]),
                outputs_of([dq, dk, dv, dgate, dbeta]),
                lambda: outputs_of(references.delta_gradients(q, k, v, grad, gate, beta, scale)),
                {FLA: lambda: peers.delta_gradients(tensors, grad, scale)},
                bytes_of(q, k, v, grad, gate, beta, dq, dk, dv, dgate, dbeta), 3 * delta_flops(b * h * n, d, d))


def kimi(kit):
    b, h, n = kit.sizes((4, 16, 4096), (1, 2, 130))
    q, k, v, scale = kit.normal(b, h, n, 128), unit_keys(kit, b, h, n, 128), kit.normal(b, h, n, 128), 128**-0.5
    gate, beta, o = kit.uniform(b, h, n, 128, low=-0.2, high=0), kit.uniform(b, h, n), torch.empty_like(v)
    last = kit.empty(b, h, 128, 128, dtype=torch.float32)
    call = kit.kernel("linear_attention/kimi_delta.tk", "kimi_delta")
    return Work(lambda: call(q, k, v, gate, beta, scale, out=[o, last]), [o, last],
                lambda: references.recurrent(q, k, v, scale, gate, beta),
                {FLA: lambda: peers.chunked("kda", "chunk_kda", {"q": q, "k": k, "v": v, "g": gate, "beta": beta}, scale=scale)},
                bytes_of(q, k, v, gate, beta, o, last), delta_flops(b * h * n, 128, 128))


def kimi_backward(kit, d, batch):
    b, h, n = kit.sizes((batch, 16, 4096), (1, 2, 130))
    q, k, v, grad, scale = kit.normal(b, h, n, d), unit_keys(kit, b, h, n, d), kit.normal(b, h, n, d), kit.normal(b, h, n, d), d**-0.5
    gate, beta = kit.uniform(b, h, n, d, low=-0.2, high=0), kit.uniform(b, h, n)
    outputs = [torch.empty_like(x) for x in (q, k, v, gate, beta)]
    call = kit.kernel("linear_attention/kimi_backward.tk", "kimi_delta_backward")
    tensors = {"q": q, "k": k, "v": v, "g": gate, "beta": beta}
    return Work(lambda: call(q, k, v, gate, beta, scale, grad, out=outputs), outputs,
                lambda: references.delta_gradients(q, k, v, grad, gate, beta, scale),
                {FLA: lambda: peers.delta_gradients(tensors, grad, scale, "kda")},
                bytes_of(q, k, v, grad, gate, beta, *outputs), 3 * delta_flops(b * h * n, d, d))


def delta_step(kit, kind):
    b, h = kit.sizes((64, 32), (2, 2))
    q, k, v, scale = kit.normal(b, h, 128), unit_keys(kit, b, h, 128), kit.normal(b, h, 128), 128**-0.5
    beta, start = kit.uniform(b, h), kit.normal(b, h, 128, 128, dtype=torch.float32)
    gate = kit.uniform(b, h, 128, low=-0.5, high=0) if kind == "kimi" else kit.uniform(b, h, low=-0.5, high=0)
    state, o = start.clone(), torch.empty_like(v)
    file, name = ("kimi_delta.tk", "kimi_delta_step") if kind == "kimi" else ("delta.tk", "gated_delta_step")
    call = kit.kernel(f"linear_attention/{file}", name)
    module = "kda" if kind == "kimi" else "gated_delta_rule"

    def wanted():
        decay = gate.double().exp()
        y, after = references.delta_step(q, k, v, beta, scale, start.double() * (decay[..., None] if kind == "kimi" else decay[..., None, None]))
        return [after, y]

    tensors = {"q": q, "k": k, "v": v, "g": gate, "beta": beta}
    return Work(lambda: call(q, k, v, gate, beta, scale, state, out=[o]), [state, o], wanted,
                {FLA: lambda: peers.recurrent_step(module, f"fused_recurrent_{module}", tensors, start, scale)},
                2 * bytes_of(state) + bytes_of(q, k, v, gate, o), 8.0 * state.numel(), before=lambda: state.copy_(start))


# ---- Based and Hedgehog -------------------------------------------------------------------------------------------------------


def based(kit, batch):
    b, h, n = kit.sizes((batch, 16, 4096), (1, 2, 130))
    q, k, v = kit.normal(b, h, n, 16), kit.normal(b, h, n, 16), kit.normal(b, h, n, 64)
    o, state = torch.empty_like(v), kit.empty(b, h, 192, 64, dtype=torch.float32)
    call = kit.kernel("linear_attention/based.tk", "based")
    sides = {f"{FLA}, parallel": lambda: peers.based("parallel_based", q, k, v),
             f"{FLA}, chunked": lambda: peers.based("fused_chunk_based", q, k, v)}
    return Work(lambda: call(q, k, v, out=[o, state]), [o, state], lambda: references.based(q, k, v), sides,
                bytes_of(q, k, v, o, state), b * h * n * (CHUNK * (16 + 64) + 4.0 * 273 * 64))


def based_backward(kit, batch):
    b, h, n = kit.sizes((batch, 16, 4096), (1, 2, 130))
    q, k, v, grad = kit.normal(b, h, n, 16), kit.normal(b, h, n, 16), kit.normal(b, h, n, 64), kit.normal(b, h, n, 64)
    outputs = [torch.empty_like(x) for x in (q, k, v)]
    call = kit.kernel("linear_attention/based_backward.tk", "based_backward")
    return Work(lambda: call(q, k, v, grad, out=outputs), outputs, lambda: references.based_gradients(q, k, v, grad),
                {f"{FLA}, parallel": lambda: peers.based_gradients(q, k, v, grad)}, bytes_of(q, k, v, grad, *outputs),
                3 * b * h * n * (CHUNK * (16 + 64) + 4.0 * 273 * 64))


def hedgehog_inputs(kit, batch):
    (b, h, n), d, f = kit.sizes((batch, 32, 4096), (1, 2, 192)), 128, 64
    q, k, v = (kit.normal(b, h, n, d) for _ in range(3))
    wq, wk = kit.normal(h, d, f, std=0.1), kit.normal(h, d, f, std=0.1)
    alpha, beta = kit.uniform(h, low=0.3, high=0.7), torch.ones(h, device=kit.device)
    return (q, k, v, wq, wk, alpha, beta), d**-0.5, b * h * n * (4.0 * d * f + 4.0 * d * 1.5 * CHUNK + 8.0 * f * d)


def hedgehog(kit):
    inputs, scale, flops = hedgehog_inputs(kit, 4)
    o, call = torch.empty_like(inputs[0]), kit.kernel("linear_attention/hedgehog.tk", "hedgehog")
    return Work(lambda: call(*inputs, scale, out=[o]), [o], lambda: [references.hedgehog(*inputs, scale, CHUNK)],
                {"LoLCATS, torch.compile": lambda: peers.lolcats(*inputs, CHUNK)}, bytes_of(*inputs, o), flops)


def hedgehog_backward(kit, batch):
    """About three times the products of the forward pass: those again, and two for each of them."""
    inputs, scale, flops = hedgehog_inputs(kit, batch)
    grad = torch.randn_like(inputs[0])
    o, wanted = references.hedgehog_gradients(*inputs, scale, CHUNK, grad)
    o, outputs = o.to(torch.bfloat16), [torch.empty_like(x) for x in inputs[:3]]
    outputs += [torch.empty_like(x, dtype=torch.float32) for x in inputs[3:]]
    call = kit.kernel("linear_attention/hedgehog_backward.tk", "hedgehog_backward")
    return Work(lambda: call(*inputs, scale, o, grad, out=outputs), outputs, lambda: wanted,
                {"LoLCATS, torch.compile": lambda: peers.lolcats_gradients(*inputs, CHUNK, grad)},
                bytes_of(*inputs, o, grad, *outputs), 3 * flops, limit=5e-2)


# ---- Mamba-2 ------------------------------------------------------------------------------------------------------------------


def mamba(kit, groups, n):
    (b, length, h), d = kit.sizes((16, 4096, 32), (1, 130, 16)), 64
    c, bt, x = kit.normal(b, length, groups, n, std=0.3), kit.normal(b, length, groups, n, std=0.3), kit.normal(b, length, h, d)
    dt, a, skip = kit.uniform(b, h, length, low=0.01, high=0.2), -kit.uniform(h, low=1, high=16), kit.normal(h, dtype=torch.float32)
    y, last = torch.empty_like(x), kit.empty(b, h, d, n, dtype=torch.float32)
    call, inputs = kit.kernel("state_space/mamba2.tk", "chunk_scan"), (c, bt, x, dt, a, skip)
    return Work(lambda: call(*inputs, out=[y, last]), [y, last], lambda: references.mamba(*inputs),
                {"mamba_ssm": lambda: peers.chunk_scan(*inputs)}, bytes_of(*inputs, y, last), chunk_flops(b * h * length, n, d))


def mamba_backward(kit, groups, n):
    (b, length, h), d = kit.sizes((16, 4096, 32), (1, 130, 16)), 64
    c, bt, x = kit.normal(b, length, groups, n, std=0.3), kit.normal(b, length, groups, n, std=0.3), kit.normal(b, length, h, d)
    dt, a, skip = kit.uniform(b, h, length, low=0.01, high=0.2), -kit.uniform(h, low=1, high=16), kit.normal(h, dtype=torch.float32)
    inputs = (c, bt, x, dt, a, skip, kit.normal(b, length, h, d))
    outputs = [torch.empty_like(each) for each in inputs[:6]]
    call = kit.kernel("state_space/mamba2_backward.tk", "chunk_scan_backward")
    return Work(lambda: call(*inputs, out=outputs), outputs, lambda: references.mamba_gradients(*inputs),
                {"mamba_ssm": lambda: peers.chunk_scan_gradients(*inputs)}, bytes_of(*inputs, *outputs),
                3 * chunk_flops(b * h * length, n, d))


def mamba_step(kit):
    (b, h), d, n = kit.sizes((64, 32), (2, 2)), 64, 128
    c, bt, x = kit.normal(b, 1, n), kit.normal(b, 1, n), kit.normal(b, h, d)
    dt, a, skip = kit.uniform(b, h, low=0.01, high=0.2), -kit.uniform(h, low=1, high=16), kit.normal(h, dtype=torch.float32)
    start = kit.normal(b, h, d, n, dtype=torch.float32)
    state, theirs, y = start.clone(), start.clone(), torch.empty_like(x)
    call = kit.kernel("state_space/mamba2.tk", "chunk_scan_step")

    def wanted():
        step = dt.double()[..., None, None]
        after = start.double() * (step * a.double()[:, None, None]).exp() + step * x.double()[..., None] * bt.double()[:, :, None]
        return [after, (after * c.double()[:, :, None]).sum(-1) + skip.double()[:, None] * x.double()]

    return Work(lambda: call(c, bt, x, dt, a, skip, state, out=[y]), [state, y], wanted,
                {"mamba_ssm": lambda: peers.chunk_scan_step(c, bt, x, dt, a, skip, theirs)},
                2 * bytes_of(state) + bytes_of(c, bt, x, y), 5.0 * state.numel(), before=lambda: state.copy_(start))


# ---- long convolution ---------------------------------------------------------------------------------------------------------


def turns(x):
    """exp(-2π · i · x): the real and the imaginary part."""
    return torch.stack([torch.cos(2 * math.pi * x), -torch.sin(2 * math.pi * x)])


def outer_factors(rows, columns, dtype, device):
    """g and t of causal convolutions of sequences of rows · columns elements, 64 / rows of them in a tile."""
    p, j = torch.arange(rows, dtype=torch.float64) + 0.25, torch.arange(columns, dtype=torch.float64)
    g = torch.stack([torch.block_diag(*[part] * (64 // rows)) for part in turns(p[:, None] * p / rows)])
    t = p[:, None] * j / (rows * columns) - p[:, None] / (4 * rows)
    if dtype == torch.float32:  # of fft_convolution_tf32: g is f, too, but for factors that depend on j or on q alone
        t = t - p / 256
    return g.to(device, dtype), turns(t).repeat(1, 64 // rows, 1).float().to(device)


def transform_factors(rows, columns, dtype, device):
    """g, f and t of fft_convolution for causal convolutions of sequences of rows · columns elements, 64 / rows of them in a tile."""
    g, t = outer_factors(rows, columns, dtype, device)
    j = torch.arange(columns, dtype=torch.float64)
    f = turns(j[:, None] * j / columns)
    return g, torch.cat([f, -f[1:]]).to(device, dtype), t


def quarter_transform(taps):
    """The transform at the points k + 1/4, over their number."""
    n = taps.shape[-1]
    angles = torch.arange(n, dtype=torch.float64, device=taps.device) * (math.pi / (2 * n))
    return torch.fft.fft(taps.double() * torch.polar(torch.ones_like(angles), -angles)) / n


def transformed_filters(taps, rows, columns):
    """k of fft_convolution: [2, channels / c, 64, columns], with c = 64 / rows channels in a tile."""
    by_rows = quarter_transform(taps).view(-1, columns, rows).mT.reshape(-1, 64, columns)
    return torch.stack([by_rows.real, by_rows.imag]).float()


def gradient_of_taps(dk, rows, columns):
    """That of the filters' elements, from that of their transforms."""
    n = rows * columns
    by_rows = torch.complex(*dk.double()).reshape(-1, rows, columns).mT.reshape(-1, n)
    angles = torch.arange(n, dtype=torch.float64, device=dk.device) * (math.pi / (2 * n))
    return (torch.fft.ifft(by_rows) * torch.polar(torch.ones_like(angles), angles)).real


def convolution(kit, rows, columns, dtype=torch.bfloat16, backward=False):
    """Causal, of sequences of rows · columns elements, 64 / rows of them in a tile."""
    n = rows * columns
    b, h = kit.sizes((16, 1024 if n == 4096 else 768), (3, 2 * (64 // rows)))
    x, dy = kit.normal(b, h, n, dtype=dtype), kit.normal(b, h, n, dtype=dtype)
    taps = kit.normal(h, n, dtype=torch.float64) / math.sqrt(n)
    g, f, t = transform_factors(rows, columns, dtype, kit.device)
    k = transformed_filters(taps, rows, columns)
    spectrum = torch.fft.rfft(taps, n=2 * n)
    half = spectrum.to(torch.complex64)
    y, tiles = torch.empty_like(x), (b, -1, 64, columns)

    def fft():
        return [torch.fft.irfft(torch.fft.rfft(x.float(), n=2 * n) * half, n=2 * n)[..., :n].to(dtype)]

    def fft_backward():
        of_x, of_dy = torch.fft.rfft(x.float(), n=2 * n), torch.fft.rfft(dy.float(), n=2 * n)
        dx = torch.fft.irfft(of_dy * half.conj(), n=2 * n)[..., :n].to(dtype)
        return [dx, torch.fft.irfft((of_dy * of_x.conj()).sum(0), n=2 * n)[..., :n]]

    file, moved = "long_convolution/fft_convolution.tk", bytes_of(x, y, g, f, t, k)
    products = b * h * 2.0 * n * (4 * 64 + 8 * columns)
    limit = 4e-2 if dtype == torch.bfloat16 else 4e-3
    if dtype == torch.float32:
        call = kit.kernel("long_convolution/fft_convolution_tf32.tk", "fft_convolution_tf32")
        return Work(lambda: call(x.view(tiles), g, t, k, out=[y.view(tiles)]), [y], lambda: [references.convolved(x, spectrum)],
                    {"torch.fft": lambda: fft}, moved, products, limit=limit)
    if not backward:
        call = kit.kernel(file, "fft_convolution")
        return Work(lambda: call(x.view(tiles), g, f, t, k, out=[y.view(tiles)]), [y], lambda: [references.convolved(x, spectrum)],
                    {"torch.fft": lambda: fft}, moved, products, limit=limit)
    dx, dk, call = torch.empty_like(x), torch.empty_like(k), kit.kernel(file, "fft_convolution_backward")

    wanted = functools.partial(references.convolution_gradients, x, dy, spectrum)
    return Work(lambda: call(x.view(tiles), dy.view(tiles), g, f, t, k, out=[dx.view(tiles), dk]), [dx, dk], wanted,
                {"torch.fft": lambda: fft_backward}, moved + bytes_of(dy, dk), 1.5 * products, limit=limit,
                error=lambda: largest_error([dx, gradient_of_taps(dk, rows, columns)], wanted()))


def gated_convolution(kit, backward):
    """Causal, of sequences of 4096 elements, with a gate before and one behind."""
    (b, h), n, tiles = kit.sizes((16, 1024), (3, 2)), 4096, (-1, 64, 64)
    x, before, after, dy = (kit.normal(b, h, n) for _ in range(4))
    taps = kit.normal(h, n, dtype=torch.float64) / math.sqrt(n)
    (g, f, t), k = transform_factors(64, 64, torch.bfloat16, kit.device), transformed_filters(taps, 64, 64)
    spectrum = torch.fft.rfft(taps, n=2 * n)
    half, file = spectrum.to(torch.complex64), "long_convolution/fft_convolution.tk"
    gates, products = [each.view(b, *tiles) for each in (x, before, after)], b * h * 2.0 * n * (4 * 64 + 8 * 64)
    if not backward:
        y, call = torch.empty_like(x), kit.kernel(file, "gated_fft_convolution")
        return Work(lambda: call(*gates, g, f, t, k, out=[y.view(b, *tiles)]), [y],
                    lambda: [references.convolved(x.double() * before, spectrum) * after],
                    {"torch.fft": lambda: lambda: [peers.gated_convolution(x, before, after, half)]},
                    bytes_of(x, before, after, y, g, f, t, k), products, limit=4e-2)
    outputs, dk, call = [torch.empty_like(x) for _ in range(3)], torch.empty_like(k), kit.kernel(file, "gated_fft_convolution_backward")
    results = [each.view(b, *tiles) for each in outputs]

    def wanted():
        dz, dtaps = references.convolution_gradients(x.double() * before, dy.double() * after, spectrum)
        return [dz * before, dz * x, references.convolved(x.double() * before, spectrum) * dy, dtaps]

    return Work(lambda: call(*gates, dy.view(b, *tiles), g, f, t, k, out=[*results, dk]), [*outputs, dk], wanted,
                {"torch.fft": lambda: peers.gated_convolution_gradients(x, before, after, half, dy)},
                bytes_of(x, before, after, dy, *outputs, g, f, t, k, dk), 2 * products, limit=4e-2,
                error=lambda: largest_error([*outputs, gradient_of_taps(dk, 64, 64)], wanted()))


def long_convolution(kit, rows):
    """Of sequences of rows · 4096 elements, 64 / rows of them in a tile."""
    n = rows * 4096
    b, h = kit.sizes((16, 1024 // rows), (2, 64 // rows))
    x = kit.normal(b, h, n)
    taps = kit.normal(h, n, dtype=torch.float64) / math.sqrt(n)
    g, t = outer_factors(rows, 4096, torch.bfloat16, kit.device)
    j = torch.arange(64, dtype=torch.float64)
    f, u = (turns(j[:, None] * j / points).to(kit.device) for points in (64, 4096))
    f = torch.cat([f, -f[1:]]).bfloat16()
    u = u.float()
    k = quarter_transform(taps).view(h, 64, 64, rows).permute(0, 3, 2, 1).reshape(h * rows, 64, 64)  # point p' + rows · (p + 64 · q)
    k = torch.stack([k.real, k.imag]).float()
    spectrum = torch.fft.rfft(taps, n=2 * n)
    half, y, tiles = spectrum.to(torch.complex64), torch.empty_like(x), (b, -1, 64, 4096)
    call = kit.kernel("long_convolution/long_fft_convolution.tk", "long_fft_convolution")

    def fft():
        return [torch.fft.irfft(torch.fft.rfft(x.float(), n=2 * n) * half, n=2 * n)[..., :n].bfloat16()]

    return Work(lambda: call(x.view(tiles), g, t, f, f, u, k, out=[y.view(tiles)]), [y], lambda: [references.convolved(x, spectrum)],
                {"torch.fft": lambda: fft}, bytes_of(x, y, t, k), b * h * 2.0 * n * (4 * 64 + 16 * 64), limit=4e-2)


# ---- latent attention ---------------------------------------------------------------------------------------------------------


def prefill(kit, causal):
    b, h, n = kit.sizes((2, 16, 8192), (1, 2, 130))
    q, k, kr, v, scale = kit.normal(b, h, n, 192), kit.normal(b, h, n, 128), kit.normal(b, n, 64), kit.normal(b, h, n, 128), 192**-0.5
    o, lse = torch.empty_like(v), kit.empty(b, h, n, dtype=torch.float32)
    call = kit.kernel("latent_attention/latent_prefill.tk", "latent_prefill")
    inputs = (q, k, kr, v, scale, causal)
    sides = {"FlashAttention-3": lambda: peers.flash3(*inputs)}
    for name, backend in peers.ATTENTION_BACKENDS.items():
        sides[name] = functools.partial(peers.latent_attention, backend, *inputs)
    return Work(lambda: call(q, k, kr, v, scale, causal=causal, out=[o, lse]), [o, lse],
                lambda: references.latent_prefill(*inputs), sides, bytes_of(q, k, kr, v, o, lse),
                2.0 * b * h * n * n * (192 + 128) * (0.5 if causal else 1), limit=5e-2)


def decode(kit, b, h, splits, step):
    pages = kit.sizes(64, 3)
    b, h = kit.sizes((b, h), (2, h))
    lens = kit.integers([max(1, pages * 64 - i * step) for i in range(b)])
    q, kv = kit.normal(b, h, 576), kit.normal(b * pages, 64, 576)
    table = torch.randperm(b * pages, device=kit.device).to(torch.int32).view(b, pages)
    o, scale = kit.empty(b, h, 512), 576**-0.5
    call = kit.kernel("latent_attention/latent_decode.tk", "latent_decode")
    tokens = int(lens.sum())
    return Work(lambda: call(q, kv, table, lens, scale, splits, out=[o]), [o],
                lambda: [references.latent_decode(q, kv, table, lens, scale)],
                {"FlashMLA": lambda: peers.flash_mla(q, kv, table, lens, scale)}, tokens * 1152 + bytes_of(q, o),
                2.0 * tokens * h * (576 + 512), limit=5e-2)


# ---- experts ------------------------------------------------------------------------------------------------------------------


def experts_inputs(kit):
    n, c, e, f, k = kit.sizes((4096, 2048, 128, 1024, 8), (40, 64, 8, 64, 2))
    x, logits = kit.normal(n, c), kit.normal(n, e)
    both, down = kit.normal(e, 2 * f, c, std=c**-0.5), kit.normal(e, c, f, std=f**-0.5)
    expert, weight = references.chosen_experts(logits, k)
    return x, logits, both, down, expert, weight, k


def experts_layer(kit):
    x, logits, both, down, expert, weight, k = experts_inputs(kit)
    f = both.shape[1] // 2
    gate, up, y = both[:, :f], both[:, f:], kit.empty(*x.shape, dtype=torch.float32)
    call = kit.kernel("experts/moe.tk", "moe")
    return Work(lambda: call(x, logits, gate, up, down, K=k, out=[y]), [y],
                lambda: [references.experts(x, expert, weight, gate, up, down)],
                {"grouped_mm, torch.compile": lambda: peers.experts_layer(x, logits, both, down, k)},
                bytes_of(x, logits, both, down, y), 6.0 * expert.numel() * x.shape[1] * f)


def by_expert(expert, number):
    """The order of the pairs of a token and an expert by their experts, where each expert's begin, and where they end."""
    order = expert.flatten().sort(stable=True).indices
    ends = torch.bincount(expert.flatten(), minlength=number).cumsum(0).to(torch.int32)
    return order, torch.cat((torch.zeros_like(ends[:1]), ends)), ends


def grouped(kit):
    """The two products of rows that are sorted already, as the peer has them; gate_up also applies silu."""
    x, logits, both, down, expert, weight, k = experts_inputs(kit)
    f, count = both.shape[1] // 2, expert.numel()
    gate, up = both[:, :f], both[:, f:]
    order, offsets, ends = by_expert(expert, both.shape[0])
    rows, h, y = x[order // k], kit.empty(count, f), kit.empty(count, x.shape[1])
    first, second = (kit.kernel("experts/moe.tk", name) for name in ("gate_up", "down_rows"))

    def run():
        first(rows, offsets, gate, up, out=[h])
        second(h, offsets, down, out=[y])

    hidden = kit.normal(count, f)
    return Work(run, [y], lambda: [references.expert_rows(rows, offsets, gate, up, down)],
                {"grouped_mm": lambda: peers.grouped_products(rows, hidden, ends, both, down)},
                bytes_of(rows, both, down, y), 6.0 * count * x.shape[1] * f, compared=lambda results: [])


def grouped_float8(kit):
    """The two products of rows that are sorted already, as the peer has them; gate_up_float8 also applies silu and quantises. The peer has
    one scale a row of either operand."""
    n, c, e, f, k = kit.sizes((4096, 2048, 128, 1024, 8), (40, 136, 8, 128, 2))
    eight, blocks = torch.float8_e4m3fn, (c + 127) // 128
    x, scale_x = kit.normal(n, c, dtype=eight), kit.uniform(blocks, n, low=0.5, high=1.5)
    both, down = kit.normal(e, 2 * f, c, dtype=eight), kit.normal(e, c, f, dtype=eight)
    scale_both = kit.uniform(e, 2 * f // 128, blocks, low=0.5, high=1.5) * c**-0.5
    scale_down = kit.uniform(e, blocks, f // 128, low=0.5, high=1.5) * f**-0.5
    expert, _ = references.chosen_experts(kit.normal(n, e), k)
    order, offsets, ends = by_expert(expert, e)
    count, sorted_x = order.numel(), x.view(torch.uint8)[order // k].view(eight)
    sorted_scale = scale_x[:, order // k].contiguous()
    weights = (both[:, :f], scale_both[:, :f // 128], both[:, f:], scale_both[:, f // 128:])
    h, scale_h = kit.empty(count, f, dtype=eight), kit.empty(f // 128, count, dtype=torch.float32)
    y = kit.empty(count, c)
    first, second = (kit.kernel("experts/moe_float8.tk", name) for name in ("gate_up_float8", "down_float8"))

    def run():
        first(sorted_x, sorted_scale, offsets, *weights, out=[h, scale_h])
        second(h, scale_h, offsets, down, scale_down, out=[y])

    return Work(run, [y], lambda: [references.experts_float8(sorted_x, sorted_scale, offsets, *weights, down, scale_down)],
                {"_scaled_grouped_mm, a scale a row": lambda: peers.scaled_grouped_products(sorted_x, h, ends, both, down)},
                bytes_of(sorted_x, both, down, y), 3.0 * count * c * f, compared=lambda results: [])  # products: at twice bf16's rate


# ---- sparse attention ---------------------------------------------------------------------------------------------------------


def indexer(kit, dtype):
    n, length, h = kit.sizes((4096, 32768, 64), (40, 200, 3))
    q, k, w = kit.normal(1, n, h, 128, dtype=dtype), kit.normal(1, length, 128, dtype=dtype), kit.uniform(1, n, h)
    lens, scale = kit.integers([length]), None if dtype == torch.bfloat16 else kit.uniform(1, length, low=0.5)
    logits = kit.empty(1, n, length, dtype=torch.float32)
    call = kit.kernel("sparse_attention/sparse_attention.tk", "index_logits")
    pairs = n * (length - n) + n * (n + 1) / 2
    peak = 1 if dtype == torch.bfloat16 else 2  # float8 is multiplied at twice the rate
    return Work(lambda: call(q, w, k, lens, scale=scale, out=[logits]), [logits],
                lambda: [references.index_logits(q, w, k, lens, scale)], {}, bytes_of(q, k, w, logits), 256.0 * h * pairs / peak)


def top_k(kit):
    (n, v), k = kit.sizes((4096, 32768), (3, 500)), kit.sizes(2048, 40)
    x, order = kit.normal(n, v, dtype=torch.float32), kit.empty(n, k, dtype=torch.int32)
    call = kit.kernel("sampling.tk", "top_k")
    return Work(lambda: call(x, k, out=[order]), [order], lambda: [references.largest_columns(x, k)],
                {"torch.topk": lambda: lambda: [x.topk(k, -1).indices]}, bytes_of(x, order), 0.0, limit=1e-12, peer_limit=1e-12,
                compared=lambda results: [results[0].sort(-1).values])


def sparse_decode(kit):
    (b, h, length), k = kit.sizes((64, 128, 8192), (2, 16, 200)), kit.sizes(2048, 64)
    q, kv, scale = kit.normal(b, 1, h, 576), kit.normal(b, length, 576), 576**-0.5
    chosen = torch.rand(b, 1, length, device=kit.device).topk(k, -1).indices.to(torch.int32)
    lens, o = kit.integers([length] * b), kit.empty(b, 1, h, 512)
    call = kit.kernel("sparse_attention/sparse_attention.tk", "sparse_decode")
    return Work(lambda: call(q, kv, chosen, lens, scale, 1, out=[o]), [o],
                lambda: [references.sparse_decode(q, kv, chosen, lens, scale)], {}, b * k * 1152 + bytes_of(q, o, chosen),
                2.0 * b * h * k * (576 + 512), limit=5e-2)


# ---- products and losses ------------------------------------------------------------------------------------------------------


def gemv(kit):
    m, k = kit.sizes((8192, 8192), (37, 300))
    a, x, y = kit.normal(m, k), kit.normal(k), kit.empty(m)
    call = kit.kernel("gemv.tk", "gemv")
    return Work(lambda: call(a, x, out=[y]), [y], lambda: [a.double() @ x.double()],
                {"cuBLAS": lambda: lambda: [torch.mv(a, x)]}, bytes_of(a, x, y), 2.0 * m * k)


def batched(kit):
    b, size = kit.sizes((64, 1024), (2, 130))
    a, w, c = kit.normal(b, size, size), kit.normal(b, size, size), kit.empty(b, size, size)
    call = kit.kernel("batched_gemm.tk", "batched_gemm")
    return Work(lambda: call(a, w, out=[c]), [c], lambda: [a.double() @ w.double()],
                {"cuBLAS": lambda: lambda: [torch.bmm(a, w)]}, bytes_of(a, w, c), 2.0 * b * size**3)


def head(kit):
    n, k, v = kit.sizes((8192, 4096, 128256), (40, 64, 500))
    x, w, target = kit.normal(n, k), kit.normal(v, k, std=k**-0.5), torch.randint(v, (n,), device=kit.device)
    loss, total = (kit.empty(n, dtype=torch.float32) for _ in range(2))
    call = kit.kernel("head_cross_entropy.tk", "head_cross_entropy")
    return Work(lambda: call(x, w, target, 2, out=[loss, total]), [loss, total],
                lambda: references.head_cross_entropy(x, w, target),
                {"PyTorch": lambda: lambda: peers.head_loss(x, w, target),
                 "torch.compile": lambda: peers.compiled(peers.head_loss, x, w, target)}, bytes_of(x, w, loss, total), 2.0 * n * k * v)


def head_backward(kit):
    n, k, v = kit.sizes((8192, 4096, 128256), (40, 64, 500))
    x, w, target = kit.normal(n, k), kit.normal(v, k, std=k**-0.5), torch.randint(v, (n,), device=kit.device)
    grad, outputs = kit.uniform(n, low=0.5 / n, high=2 / n), [kit.empty(n, k), kit.empty(v, k)]
    total = references.head_cross_entropy(x, w, target)[1].float()
    call = kit.kernel("head_cross_entropy_backward.tk", "head_cross_entropy_backward")
    return Work(lambda: call(x, w, target, total, grad, out=outputs), outputs, lambda: references.head_gradients(x, w, target, grad),
                {"PyTorch": lambda: peers.head_gradients(peers.head_loss, x, w, target, grad),
                 "torch.compile": lambda: peers.head_gradients(torch.compile(peers.head_loss, dynamic=False), x, w, target, grad)},
                bytes_of(x, w, *outputs), 6.0 * n * k * v)


def sample(kit, dtype, number, share):
    n, v = kit.sizes((64, 131072), (3, 600))
    x, u = kit.normal(n, v, dtype=dtype), kit.uniform(n)
    temperature, top_p = torch.full((n,), 0.8, device=kit.device), torch.full((n,), share, device=kit.device)
    count, token = kit.integers([number] * n), kit.empty(n, dtype=torch.int32)
    call = kit.kernel("sampling.tk", "sample")
    return Work(lambda: call(x, u, temperature, count, top_p, out=[token]), [token], lambda: [],
                {"PyTorch": lambda: peers.sampled(x, temperature, number, share)}, bytes_of(x, u, token), 0.0, limit=1e-4,
                error=lambda: references.outside_of_token(token, x, u, temperature, count, top_p), compared=lambda results: [])


def nvfp4(kit):
    size = kit.sizes(8192, 160)
    a, b = (torch.randint(256, (size, size // 2), device=kit.device, dtype=torch.uint8) for _ in range(2))
    sa, sb = (kit.uniform(size, size // 16, low=0.1, high=4, dtype=torch.float8_e4m3fn) for _ in range(2))
    c, scale = kit.empty(size, size), 0.01
    widened = [references.from_nvfp4(x, s).bfloat16() for x, s in ((a, sa), (b, sb))]  # exactly
    call = kit.kernel("extra/mx_gemm.tk", "gemm_nvfp4_widened")
    codes = [x.view(torch.float4_e2m1fn_x2) for x in (a, b)]
    return Work(lambda: call(codes[0], sa, codes[1], sb, scale, out=[c]), [c],
                lambda: [scale * (widened[0].double() @ widened[1].double().T)],
                {"cuBLAS in bf16": lambda: lambda: [torch.mm(widened[0], widened[1].T)]}, bytes_of(a, b, sa, sb, c), 2.0 * size**3,
                compared=lambda results: [results[0].double() * scale])


def rows():
    for d in (64, 128):
        for kind, name in (("linear_attention", "linear attention"), ("retention", "retention"), ("simple_gated", "simple gated")):
            yield Row(f"{name} {d}", functools.partial(linear, kind=kind, d=d), share=0.6, ratio=1.5, processes=4)
    yield Row("simple gated 64, backward", functools.partial(linear_backward, has_gates=True), ratio=1.5, processes=6, seconds=120)
    yield Row("linear attention 64, backward", functools.partial(linear_backward, has_gates=False), ratio=1.5, processes=6, seconds=120)
    yield Row("Mamba-2, 1 group, state 128", functools.partial(mamba, groups=1, n=128), share=0.5, ratio=3, processes=3)
    for n in (128, 64):
        yield Row(f"Mamba-2, 16 groups, state {n}", functools.partial(mamba, groups=16, n=n), share=0.6, ratio=2, processes=3)
    yield Row("Mamba-2, 1 group, state 128, backward", functools.partial(mamba_backward, groups=1, n=128), ratio=1.5, processes=4,
              seconds=120)
    yield Row("Mamba-2, 16 groups, state 64, backward", functools.partial(mamba_backward, groups=16, n=64), ratio=1.5, processes=4,
              seconds=120)
    yield Row("Mamba-2, a step", mamba_step)
    for d in (64, 128):
        yield Row(f"gated linear attention {d}", functools.partial(gated, d=d), ratio=3, processes=8, seconds=120)
    yield Row("gated linear attention 64, backward", functools.partial(gated_backward, d=64), ratio=1.5, processes=8, seconds=120)
    for d, batch in ((64, 16), (128, 4)):
        yield Row(f"delta {d}", functools.partial(delta, kind="delta", d=d, batch=batch), ratio=2, processes=3)
        yield Row(f"gated delta {d}", functools.partial(delta, kind="gated", d=d, batch=batch), ratio=2, processes=3)
    for d, batch in ((64, 16), (128, 4)):
        for kind, name in (("delta", "delta"), ("gated", "gated delta")):
            yield Row(f"{name} {d}, backward", functools.partial(delta_backward, kind=kind, d=d, batch=batch), ratio=1.5, processes=4,
                      seconds=120)
    yield Row("Kimi delta 128", kimi, ratio=2, processes=4)
    for d, batch in ((64, 16), (128, 4)):
        yield Row(f"Kimi delta {d}, backward", functools.partial(kimi_backward, d=d, batch=batch), ratio=1.5, processes=4, seconds=120)
    yield Row("gated delta, a step", functools.partial(delta_step, kind="gated"))
    yield Row("Kimi delta, a step", functools.partial(delta_step, kind="kimi"))
    for batch in (4, 16):
        yield Row(f"Based, batch {batch}", functools.partial(based, batch=batch), ratio=6)
    for batch in (4, 16):
        yield Row(f"Based, batch {batch}, backward", functools.partial(based_backward, batch=batch), ratio=1.5)
    yield Row("FFT convolution 4096, bf16", functools.partial(convolution, rows=64, columns=64), ratio=4)
    yield Row("FFT convolution 4096, tf32", functools.partial(convolution, rows=64, columns=64, dtype=torch.float32), ratio=2.5)
    yield Row("FFT convolution 4096, backward", functools.partial(convolution, rows=64, columns=64, backward=True), ratio=1.5)
    yield Row("FFT convolution 4096, gated", functools.partial(gated_convolution, backward=False), ratio=4)
    yield Row("FFT convolution 4096, gated, backward", functools.partial(gated_convolution, backward=True), ratio=1.5)
    yield Row("FFT convolution 16384, bf16", functools.partial(long_convolution, rows=4), ratio=2.5)
    yield Row("FFT convolution 65536, bf16", functools.partial(long_convolution, rows=16), ratio=2.5)
    yield Row("FFT convolution 2048, bf16", functools.partial(convolution, rows=64, columns=32), ratio=4)
    yield Row("FFT convolution 512, bf16", functools.partial(convolution, rows=16, columns=32), ratio=4)
    yield Row("latent prefill, causal", functools.partial(prefill, causal=True), ratio=1, of="FlashAttention-3")
    yield Row("latent prefill, full", functools.partial(prefill, causal=False), ratio=1, of="FlashAttention-3")
    yield Row("latent decode, 32 × 128 heads", functools.partial(decode, b=32, h=128, splits=2, step=0), ratio=0.9)
    yield Row("latent decode, 128 × 16 heads", functools.partial(decode, b=128, h=16, splits=1, step=16), ratio=0.9)
    yield Row("experts, the grouped products", grouped, ratio=1)
    yield Row("experts in float8, the grouped products", grouped_float8, ratio=1, of="DeepGEMM",
              note="asked of DeepGEMM, which is not among the peers; torch's has one scale a row")
    yield Row("experts, the layer", experts_layer, ratio=1.1, seconds=90)
    yield Row("indexer's logits, bf16", functools.partial(indexer, dtype=torch.bfloat16), share=0.5)
    yield Row("indexer's logits, f8e4m3", functools.partial(indexer, dtype=torch.float8_e4m3fn), share=0.5)
    yield Row("top_k, 2048 of 32768", top_k, share=0.5)
    yield Row("sparse decode", sparse_decode, share=0.5)
    yield Row("GEMV 8192²", gemv, share=0.9)
    yield Row("batched GEMM 64 × 1024³", batched, ratio=1)
    yield Row("head with cross-entropy", head, share=0.9, seconds=90)
    yield Row("head with cross-entropy, backward", head_backward, share=0.9, ratio=1.5, seconds=120)
    yield Row("sampling, top-k and top-p, bf16", functools.partial(sample, dtype=torch.bfloat16, number=50, share=0.9), ratio=2)
    yield Row("sampling, top-p, f32", functools.partial(sample, dtype=torch.float32, number=0, share=0.9), ratio=2)
    yield Row("NVFP4 weights 8192³", nvfp4, ratio=0.5)
    yield Row("attention backward, grouped", grouped_backward, ratio=0.85)
    for causal in (True, False):
        yield Row(f"attention backward, ragged, {'causal' if causal else 'full'}", functools.partial(ragged_backward, causal=causal), ratio=0.85)
    for window, b, n, plain in ((1024, 4, 4608, (2, 4096)), (4096, 2, 10240, (2, 8192))):
        yield Row(f"attention backward, window of {window}", functools.partial(window_backward, b=b, n=n, window=window, plain=plain), ratio=0.85)
    yield Row("Hedgehog, batch 1, backward", functools.partial(hedgehog_backward, batch=1), ratio=1.5, seconds=120)
    yield Row("Hedgehog, batch 4, backward", functools.partial(hedgehog_backward, batch=4), ratio=1.5, processes=0, seconds=150)
    yield Row("Hedgehog", hedgehog, ratio=3, processes=0, seconds=150)  # its peer's matrices fill the memory: nothing beside it
