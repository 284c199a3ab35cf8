# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's functions by kernels of the library: which calls they take, and that results are PyTorch's.

They run on the GPU if there is one, else on the interpreter; `TKC_TEST_DEVICE=cpu` or `cuda` says which.
"""

import pytest
from conftest import torch_device

import tkc

torch = pytest.importorskip("torch")

import tkc.torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

DEVICE = torch_device()
pytestmark = [pytest.mark.usefixtures("operators"), *([pytest.mark.gpu] if DEVICE == "cuda" else [])]
BF16 = torch.bfloat16


def rand(*shape, dtype=BF16):
    return torch.randn(*shape, device=DEVICE).to(dtype)


def check(operators, name, found, wanted, bits=8):
    """Called by kernel `name`, or by PyTorch if None; as PyTorch computes it in f32, to the rounding of results of `bits`."""
    assert operators == ([name] if name else [])
    assert found.dtype == BF16
    torch.testing.assert_close(found.float(), wanted, rtol=2.0**-bits, atol=2.0**-bits * wanted.abs().max().item())


def own(name, *args, **kwargs):
    from tkc import _patch

    wide = [one.float() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in args]
    return _patch._OWN[name](*wide, **kwargs)


@pytest.mark.parametrize(
    "heads,length,options,is_taken",
    [
        (2, 33, {}, True),
        (2, 33, {"is_causal": True}, True),
        (2, 40, {}, True),
        (2, 40, {"is_causal": True}, False),  # PyTorch lines the beginnings up
        (1, 33, {"enable_gqa": True, "scale": 0.3}, True),
        (2, 33, {"scale": -1.0}, False),
        (2, 33, {"attn_mask": torch.ones(33, 33, dtype=torch.bool, device=DEVICE)}, False),
    ],
)
def test_attention(operators, heads, length, options, is_taken):
    q, k, v = rand(1, 2, 33, 64), rand(1, heads, length, 64), rand(1, heads, length, 64)
    # Of PyTorch's own kernels the plain ones: where the scale is negative, its flash attention gives NaN on an H100.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        found = F.scaled_dot_product_attention(q, k, v, **options)
    wanted = own("scaled_dot_product_attention", q, k, v, **options)
    check(operators, "attn_fwd" if is_taken else None, found, wanted, bits=6)


def test_attention_of_other_shapes(operators):
    for shape, dtype in (((1, 2, 33, 80), BF16), ((2, 33, 64), BF16), ((1, 2, 33, 64), torch.float32)):
        x = rand(*shape, dtype=dtype)
        F.scaled_dot_product_attention(x, x, x)
    x = rand(1, 2, 64, 33).transpose(2, 3)
    F.scaled_dot_product_attention(x, x, x)
    x = rand(1, 2, 0, 64)
    F.scaled_dot_product_attention(x, x, x)
    assert operators == []


def test_attention_backward(operators):
    q, k, v = (rand(1, 2, 33, 64).requires_grad_() for _ in range(3))
    upstream = rand(1, 2, 33, 64)
    found = torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v), upstream)
    wide = [one.detach().float().requires_grad_() for one in (q, k, v)]
    wanted = torch.autograd.grad(own("scaled_dot_product_attention", *wide, is_causal=True), wide, upstream.float())
    for one, other in zip(found, wanted):
        check(operators, "attn_fwd", one, other, bits=6)


@pytest.mark.parametrize("columns,name", [(1024, "rms_norm"), (77, "rms_norm_any")])
def test_rms_norm(operators, columns, name):
    layer = torch.nn.RMSNorm(columns, eps=1e-5, device=DEVICE, dtype=BF16)
    torch.nn.init.normal_(layer.weight)
    x = rand(2, 3, columns)
    with torch.no_grad():
        check(operators, name, layer(x), own("rms_norm", x, (columns,), layer.weight, 1e-5), bits=7)
    torch.nn.RMSNorm(columns, device=DEVICE, dtype=BF16)(x.detach())  # whose eps depends on the version
    assert operators == [name]


@pytest.mark.parametrize("columns,name", [(1024, "layer_norm"), (77, "layer_norm_any")])
def test_layer_norm(operators, columns, name):
    layer = torch.nn.LayerNorm(columns, device=DEVICE, dtype=BF16)
    torch.nn.init.normal_(layer.weight)
    x = rand(2, 3, columns)
    with torch.no_grad():
        check(operators, name, layer(x), own("layer_norm", x, (columns,), layer.weight, layer.bias), bits=7)
        F.layer_norm(x, (3, columns))
        F.layer_norm(x, (columns,), layer.weight)
    assert operators == [name]


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_gradients_of_norms(operators, name):
    inputs = [rand(2, 3, 77), rand(77), rand(77)][: 2 if name == "rms_norm" else 3]
    wide = [one.float().requires_grad_() for one in inputs]
    narrow = [one.requires_grad_() for one in inputs]
    upstream = rand(2, 3, 77)
    found = torch.autograd.grad(getattr(F, name)(narrow[0], (77,), *narrow[1:], eps=1e-5), narrow, upstream)
    wanted = torch.autograd.grad(own(name, wide[0], (77,), *wide[1:], eps=1e-5), wide, upstream.float())
    for one, other in zip(found, wanted):
        check(operators, f"{name}_any", one, other, bits=7)


@pytest.mark.parametrize("ignore_index", [-100, 5])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(operators, reduction, ignore_index):
    logits, target = rand(9, 50).requires_grad_(), torch.arange(9, device=DEVICE) * 5
    target[4] = ignore_index
    layer = torch.nn.CrossEntropyLoss(reduction=reduction, ignore_index=ignore_index)
    found = layer(logits, target)
    wide = logits.detach().float().requires_grad_()
    wanted = own("cross_entropy", wide, target, reduction=reduction, ignore_index=ignore_index)
    check(operators, "cross_entropy", found, wanted.detach(), bits=8)
    upstream = torch.ones_like(found)
    check(
        operators,
        "cross_entropy",
        *torch.autograd.grad(found, logits, upstream),
        *torch.autograd.grad(wanted, wide, upstream.float()),
    )
    F.cross_entropy(logits, target, weight=rand(50), ignore_index=ignore_index)
    F.cross_entropy(logits, target, label_smoothing=0.1, ignore_index=ignore_index)
    F.cross_entropy(logits[None].transpose(1, 2), target[None], ignore_index=ignore_index)
    assert operators == ["cross_entropy"]


@pytest.mark.parametrize("activation,name", [(torch.nn.GELU(), "linear_gelu"), (torch.nn.SiLU(), "linear_silu")])
def test_linear_with_activation(operators, activation, name):
    model = torch.nn.Sequential(torch.nn.Linear(40, 24), activation, torch.nn.Linear(24, 8)).to(DEVICE, BF16)
    keys, x = list(model.state_dict()), rand(2, 5, 40)
    with torch.no_grad():
        wanted = model.float()(x.float())
        patched = tkc.torch.patch(model.to(BF16))
        assert patched is model and list(model.state_dict()) == keys
        check(operators, name, model(x), wanted, bits=6)
    assert model(x).requires_grad and operators == [name]  # no gradient of it is declared
    tanh = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(approximate="tanh"))
    assert type(tkc.torch.patch(tanh)[0]) is torch.nn.Linear


def test_a_model(operators):
    """PyTorch's own encoder finds the replacements, also when it is compiled."""
    layer = torch.nn.TransformerDecoderLayer(128, 2, 256, dropout=0.0, batch_first=True, device=DEVICE, dtype=BF16)
    x = rand(2, 9, 128)
    found = layer(x, x)
    assert operators.count("attn_fwd") == 2
    with torch.no_grad():
        wanted = layer.float()(x.float(), x.float())
    torch.testing.assert_close(found.float(), wanted, rtol=2**-6, atol=2**-6 * wanted.abs().max().item())


def test_compile(operators):
    def model(q, weight):
        y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return F.rms_norm(y.flatten(2), (y.shape[2] * 64,), weight, 1e-5).sin()

    q, weight = rand(1, 2, 16, 64), rand(1024)
    compiled = torch.compile(model, fullgraph=True, backend="inductor" if DEVICE == "cuda" else "aot_eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(q, weight), model(q, weight))


def test_autocast(operators):
    """Which, on a GPU, computes norms and losses in f32, and attention in bf16."""
    x, weight = rand(3, 1024), rand(1024)
    with torch.autocast(DEVICE, BF16):
        F.layer_norm(x, (1024,), weight, weight)
        F.cross_entropy(x, torch.arange(3, device=DEVICE))
        assert operators == []
        assert F.scaled_dot_product_attention(*[rand(1, 2, 9, 64)] * 3).dtype == BF16
    assert operators == ["attn_fwd"]


def test_what_is_patched(operators):
    x, weight = rand(3, 1024), rand(1024)
    with tkc.torch.patched():
        pass
    F.rms_norm(x, (1024,), weight, 1e-5)
    assert operators == ["rms_norm"]
    tkc.torch.unpatch()
    F.rms_norm(x, (1024,), weight, 1e-5)
    with tkc.torch.patched():
        F.rms_norm(x.cpu(), (1024,), weight.cpu(), 1e-5)
    assert operators == ["rms_norm"] and F.rms_norm.__module__ == "torch.nn.functional"
