# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels of families.py are timed beside. Each function prepares a call in the layout that the peer asks for, outside of
what is timed, and returns one that does the work and gives its results in our layout. What a peer needs is imported here, when it
is asked for, so that one that is missing costs no more than its own column:

- flash-linear-attention: the package fla-core;
- mamba_ssm: its Triton code, found in the folder MAMBA_SSM if the package with its CUDA extensions is not installed;
- LoLCATS: its sources in the folder LOLCATS;
- FlashMLA: the package flash_mla;
- all else is PyTorch's."""
import ast
import functools
import importlib
import math
import os
import sys
import types
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def swapped(x):
    """[B, H, N, …] as [B, N, H, …] in memory, and back without a copy."""
    return x.transpose(1, 2)


def placed(*tensors):
    return [swapped(x).contiguous() for x in tensors]


def folder_of(variable):
    if variable not in os.environ:
        raise ImportError(f"{variable} names no folder")
    return Path(os.environ[variable])


# ---- flash-linear-attention ---------------------------------------------------------------------------------------------------


def fla(module, name):
    return getattr(importlib.import_module(f"fla.ops.{module}"), name)


def chunked(module, name, tensors, state=True, **keywords):
    """`tensors` by the names of the operator's parameters. The last state is asked for where ours stores it."""
    operator, arguments = fla(module, name), dict(zip(tensors, placed(*tensors.values())))
    if state:
        keywords["output_final_state"] = True

    def launch():
        o, last = operator(**arguments, **keywords)
        return [swapped(o), last] if state else [swapped(o)]

    return launch


def based(name, q, k, v):
    operator, arguments = fla("based", name), placed(q, k, v)
    return lambda: [swapped(operator(*arguments, use_norm=False))]


def based_gradients(q, k, v, grad):
    """The backward pass alone."""
    inputs, upstream = [x.requires_grad_() for x in placed(q, k, v)], swapped(grad).contiguous()
    o = fla("based", "parallel_based")(*inputs, use_norm=False)
    return lambda: [swapped(x) for x in torch.autograd.grad(o, inputs, upstream, retain_graph=True)]


def recurrent_step(module, name, tensors, state, scale):
    """One step for each sequence, from tensors [B, H, …]; the state [B, H, D, E] is given and returned."""
    operator, arguments = fla(module, name), {key: x[:, None] for key, x in tensors.items()}

    def launch():
        o, last = operator(**arguments, scale=scale, initial_state=state, output_final_state=True)
        return [last, o[:, 0]]

    return launch


def gradients(module, name, q, k, v, grad, **keywords):
    """The backward pass of q, k and v alone."""
    inputs, upstream = [x.requires_grad_() for x in placed(q, k, v)], swapped(grad).contiguous()
    o, _ = fla(module, name)(*inputs, **keywords)
    return lambda: [swapped(x) for x in torch.autograd.grad(o, inputs, upstream, retain_graph=True)]


def gated_gradients(q, k, v, grad, gate, scale):
    """The backward pass of gated linear attention, with the gates' gradient."""
    inputs, upstream = [x.requires_grad_() for x in placed(q, k, v, gate)], swapped(grad).contiguous()
    o, _ = fla("gla", "chunk_gla")(**dict(zip("qkvg", inputs)), scale=scale)
    return lambda: [swapped(x) for x in torch.autograd.grad(o, inputs, upstream, retain_graph=True)]


def delta_gradients(tensors, grad, scale, module=None):
    """The backward pass of the delta rule, where `tensors` have gates of the gated one, or of the rule of another module, with gradients in
    the order of `tensors`."""
    module = module or ("gated_delta_rule" if "g" in tensors else "delta_rule")
    inputs, upstream = [x.requires_grad_() for x in placed(*tensors.values())], swapped(grad).contiguous()
    o, _ = fla(module, f"chunk_{module}")(**dict(zip(tensors, inputs)), scale=scale)
    return lambda: [swapped(x) for x in torch.autograd.grad(o, inputs, upstream, retain_graph=True)]


# ---- PyTorch's Fourier transforms ----------------------------------------------------------------------------------------------


def gated_convolution(x, before, after, spectrum):
    """after times the causal convolution of before · x, in f32."""
    n = x.shape[-1]
    z = torch.fft.irfft(torch.fft.rfft(before.float() * x, n=2 * n) * spectrum, n=2 * n)[..., :n]
    return (after * z).to(x.dtype)


def gated_convolution_gradients(x, before, after, spectrum, grad):
    """The backward pass alone: of x and of both gates; that of the spectrum is computed, too."""
    inputs = [each.detach().requires_grad_() for each in (x, before, after, spectrum)]
    y = gated_convolution(*inputs)
    return lambda: list(torch.autograd.grad(y, inputs, grad, retain_graph=True))[:3]


# ---- mamba_ssm ----------------------------------------------------------------------------------------------------------------


def mamba(module, name):
    """Of mamba_ssm's Triton code. The package's own __init__ asks for extensions that are not needed for it, so that where
    they are missing a package of the same name stands for it that has the folder alone."""
    try:
        return getattr(importlib.import_module(f"mamba_ssm.ops.triton.{module}"), name)
    except ImportError:
        folder = folder_of("MAMBA_SSM") / "mamba_ssm"
    for key in [key for key in sys.modules if key.split(".")[0] == "mamba_ssm"]:
        del sys.modules[key]
    package = types.ModuleType("mamba_ssm")
    package.__path__ = [str(folder)]
    sys.modules["mamba_ssm"] = package
    return getattr(importlib.import_module(f"mamba_ssm.ops.triton.{module}"), name)


def chunk_scan(c, b, x, dt, a, skip):
    operator, steps = mamba("ssd_combined", "mamba_chunk_scan_combined"), swapped(dt).contiguous()
    return lambda: operator(x, steps, a, b, c, chunk_size=256, D=skip, return_final_states=True)


def chunk_scan_gradients(c, b, x, dt, a, skip, grad):
    """The backward pass alone."""
    c, b, x, steps, a, skip = inputs = [each.detach().requires_grad_() for each in (c, b, x, swapped(dt).contiguous(), a, skip)]
    y = mamba("ssd_combined", "mamba_chunk_scan_combined")(x, steps, a, b, c, chunk_size=256, D=skip)

    def launch():
        dc, db, dx, ddt, da, dskip = torch.autograd.grad(y, inputs, grad, retain_graph=True)
        return [dc, db, dx, swapped(ddt), da, dskip]

    return launch


def chunk_scan_step(c, b, x, dt, a, skip, state):
    operator, (batch, count, width, n) = mamba("selective_state_update", "selective_state_update"), state.shape
    steps = dt[:, :, None].expand(batch, count, width)
    decays, skips = a[:, None, None].expand(count, width, n), skip[:, None].expand(count, width)
    bias = torch.zeros_like(a)[:, None].expand(count, width)  # it asks for one where steps are the same in a head

    def launch():
        y = operator(state, x, steps, decays, b, c, D=skips, dt_bias=bias)
        return [state, y]

    return launch


# ---- LoLCATS ------------------------------------------------------------------------------------------------------------------


def definitions(path, names, scope):
    """Functions and classes of a source file, without what the file imports besides."""
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    exec(compile(tree, str(path), "exec"), scope)
    return [scope[name] for name in names]


def lolcats_layer(chunk, n, device):
    """LoLCATS's attention and feature map. Its masks are made once, outside of what is timed: its own function makes them on the CPU in
    every call."""
    from typing import Callable, List, Optional, Tuple

    source = folder_of("LOLCATS") / "src" / "model"
    scope = {"torch": torch, "nn": torch.nn, "F": F, "math": math, "Callable": Callable, "List": List, "Optional": Optional, "Tuple": Tuple}
    _, softmax_dim = definitions(source / "feature_map.py", ["FeatureMapAct", "SoftmaxDim"], scope)
    make_masks, attention = definitions(source / "linear_attention" / "linear_window_attention_tk.py",
                                        ["get_masks", "hybrid_attention_quadratic"], scope)
    masks, activation = make_masks(chunk, n, n, device), softmax_dim()
    scope["get_masks"] = lambda *_: masks

    def layer(q, k, v, wq, wk, alpha, beta):
        features = [activation(torch.einsum("hdf,bhld->bhlf", w, x)) for x, w in ((q, wq), (k, wk))]
        factors = [x[None, :, None, None] for x in (alpha, beta)]
        return attention(q, k, *features, v, *factors, window_size=chunk)[0]

    torch._dynamo.reset()
    return torch.compile(layer, dynamic=False)


def lolcats(*inputs):
    """The layer of `inputs`, the last of which is the chunk, under torch.compile."""
    *tensors, chunk = inputs
    compiled = lolcats_layer(chunk, tensors[0].shape[2], tensors[0].device)

    def launch():
        with torch.no_grad():
            return [compiled(*tensors)]

    return launch


def lolcats_gradients(*inputs):
    """The backward pass alone, with the gradients of all tensors. Its graph is walked more than once, so no buffer may be given away."""
    import torch._functorch.config

    torch._functorch.config.donated_buffer = False
    *tensors, chunk, grad = inputs
    tensors = [x.detach().requires_grad_() for x in tensors]
    o = lolcats_layer(chunk, tensors[0].shape[2], tensors[0].device)(*tensors)
    return lambda: list(torch.autograd.grad(o, tensors, grad, retain_graph=True))


# ---- attention ----------------------------------------------------------------------------------------------------------------


def latent_attention(backend, q, k, kr, v, scale, causal):
    """The shared part of the keys is copied to all heads outside of what is timed, and so are values to heads as long as those of the
    keys for FlashAttention-2, which takes no others."""
    keys = torch.cat((k, kr[:, None].expand(-1, k.shape[1], -1, -1)), -1)
    values = F.pad(v, (0, q.shape[3] - v.shape[3])) if backend == SDPBackend.FLASH_ATTENTION else v

    def launch():
        with sdpa_kernel(backend):
            return [F.scaled_dot_product_attention(q, keys, values, is_causal=causal, scale=scale)[..., : v.shape[3]]]

    return launch


def flash3(q, k, kr, v, scale, causal):
    from flash_attn_interface import flash_attn_func

    keys = torch.cat((k, kr[:, None].expand(-1, k.shape[1], -1, -1)), -1)
    queries, keys, values = placed(q, keys, v)

    def launch():
        result = flash_attn_func(queries, keys, values, softmax_scale=scale, causal=causal)
        return [swapped(result[0] if isinstance(result, tuple) else result)]

    return launch


def flash_mla(q, kv, pages, lens, scale):
    from flash_mla import flash_mla_with_kvcache, get_mla_metadata

    schedule, splits = get_mla_metadata()
    queries, cache = q[:, None], kv[:, :, None]
    return lambda: [flash_mla_with_kvcache(queries, cache, pages, lens, 512, schedule, splits, softmax_scale=scale)[0][:, 0]]


ATTENTION_BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION,
                      "PyTorch's own": SDPBackend.EFFICIENT_ATTENTION}


# ---- experts ------------------------------------------------------------------------------------------------------------------


def grouped_products(x, h, ends, both, down):
    """The two products alone, of rows that are sorted already: x · [gate, up]ᵀ and h · downᵀ for the rows of each expert."""
    def launch():
        return [F.grouped_mm(x, both.mT, offs=ends), F.grouped_mm(h, down.mT, offs=ends)]

    return launch


def scaled_grouped_products(x, h, ends, both, down):
    """The same in float8, with one scale for each row of either operand."""
    scales = [torch.ones(w.shape[:2], device=x.device) for w in (both, down)]
    ones = torch.ones(x.shape[0], device=x.device)

    def launch():
        return [torch._scaled_grouped_mm(rows, w.mT, ones, scale, offs=ends, out_dtype=torch.bfloat16)
                for rows, w, scale in ((x, both, scales[0]), (h, down, scales[1]))]

    return launch


def experts_layer(x, logits, both, down, k):
    """The whole layer with grouped products, under torch.compile."""
    def layer(x, logits, both, down):
        weight, expert = logits.float().softmax(-1).topk(k, -1)
        weight = weight / weight.sum(-1, keepdim=True)
        order = expert.flatten().sort(stable=True).indices
        numbers = torch.arange(logits.shape[1], device=x.device)
        ends = (expert.flatten()[:, None] == numbers).sum(0).cumsum(0).to(torch.int32)
        rows = order // k
        gate, up = F.grouped_mm(x[rows], both.mT, offs=ends).chunk(2, -1)
        y = F.grouped_mm(F.silu(gate) * up, down.mT, offs=ends)
        return torch.zeros(x.shape, device=x.device).index_add_(0, rows, y.float() * weight.flatten()[order][:, None])

    torch._dynamo.reset()
    compiled = torch.compile(layer, dynamic=False)
    return lambda: [compiled(x, logits, both, down)]


# ---- sampling and losses ------------------------------------------------------------------------------------------------------


def sampled(x, temperature, top_k, top_p):
    """topk where a number is given and a sort otherwise, then the sum of probabilities and multinomial, as inference servers do it."""
    def launch():
        scaled = x.float() / temperature[:, None]
        values, columns = scaled.topk(top_k, -1) if top_k else scaled.sort(-1, descending=True)
        p = values.softmax(-1)
        if top_p < 1:
            p = torch.where(p.cumsum(-1) - p < top_p, p, 0)
        return [columns.gather(1, torch.multinomial(p, 1))]

    return launch


def compiled(function, *arguments):
    torch._dynamo.reset()
    call = torch.compile(function, dynamic=False)
    return lambda: call(*arguments)


def head_loss(x, w, target):
    """The product, then the loss of its rows."""
    return [F.cross_entropy((x @ w.T).float(), target, reduction="none")]


def head_gradients(loss, x, w, target, grad):
    """The backward pass alone of `loss`, which is head_loss or what torch.compile made of it."""
    inputs = [each.detach().requires_grad_() for each in (x, w)]
    (rows,) = loss(*inputs, target)
    return lambda: list(torch.autograd.grad(rows, inputs, grad, retain_graph=True))


# ---- Triton -------------------------------------------------------------------------------------------------------------------


def shorten_trials(share=(0, 1), milliseconds=20):
    """Triton's autotuner tries each configuration for some milliseconds instead of 125, and believes nothing that another process
    measured. With share (i, n) an autotuner has every n-th configuration alone, from the i-th on, and at least two: so n processes compile
    them all, and Triton's cache keeps the code."""
    try:
        import triton
        from triton.runtime import autotuner
    except ImportError:
        return
    trial = functools.partial(triton.testing.do_bench, warmup=max(1, milliseconds // 4), rep=milliseconds)
    make = autotuner.Autotuner.__init__

    def initialise(self, *arguments, **keywords):
        make(self, *arguments, **keywords)
        parts = max(1, min(share[1], len(self.configs) // 2))
        self.configs = self.configs[share[0] % parts::parts]
        self._do_bench, self.cache_results = trial, False

    autotuner.Autotuner.__init__ = initialise
