# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models' own rotary embedding by kernels: which functions are replaced, which calls are taken, and that results are theirs.

They run on the GPU if there is one, else on the interpreter; `TKC_TEST_DEVICE=cpu` or `cuda` says which.
"""

import os
import subprocess
import sys
import types

import pytest
from conftest import torch_device

import tkc

torch = pytest.importorskip("torch")

import tkc.torch  # noqa: E402

DEVICE = torch_device()
ON_CPU = DEVICE == "cpu"
pytestmark = [pytest.mark.usefixtures("operators"), *([] if ON_CPU else [pytest.mark.gpu])]
BF16 = torch.bfloat16

HALVES = """
import torch
def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)
def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    "What it says."
    cos, sin, n = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim), cos.shape[-1]
    turned = [one[..., :n] * cos + rotate_half(one[..., :n]) * sin for one in (q, k)]
    if n < q.shape[-1]:
        turned = [torch.cat([one, other[..., n:]], -1) for one, other in zip(turned, (q, k))]
    return tuple(turned)
class Layer(torch.nn.Module):
    def forward(self, *args, **options):
        return apply_rotary_pos_emb(*args, **options)
"""
NEIGHBOURS = "torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)"


def rand(*shape, dtype=BF16):
    return torch.randn(*shape, device=DEVICE).to(dtype)


@pytest.fixture
def module(request):
    """A module of Python as a model's file is one, of the given text."""
    made = types.ModuleType("a_model_for_tests")
    sys.modules[made.__name__] = made
    made.__dict__["__name__"] = made.__name__
    exec(getattr(request, "param", HALVES), made.__dict__)
    made.own = made.apply_rotary_pos_emb
    yield made
    del sys.modules[made.__name__]


def check(found, wanted, bits=7):
    assert found.dtype == BF16 and found.shape == wanted.shape
    torch.testing.assert_close(found.float(), wanted, rtol=2.0**-bits, atol=2.0**-bits * wanted.abs().max().item())


@pytest.mark.parametrize("D", [64, 96, 128, 256])
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_results(operators, module, D, batches, dim, is_transposed):
    """Tables whose halves differ, heads in either dim, either of them one after the other in memory."""
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    shapes = [(2, heads, 9, D) if (dim == 1) != is_transposed else (2, 9, heads, D) for heads in (4, 2)]
    q, k = (rand(*shape).transpose(1, 2) if is_transposed else rand(*shape) for shape in shapes)
    cos, sin = rand(batches, 9, D), rand(batches, 9, D)
    options = {} if dim == 1 else {"unsqueeze_dim": 2}
    found = model(q, k, cos, sin, **options)
    assert operators == ["rotary_heads" if (dim == 1) != is_transposed else "rotary_tokens"] * 2
    own = module.own(q, k, cos, sin, **options)
    wanted = module.own(q.float(), k.float(), cos.float(), sin.float(), **options)
    for one, other, exact in zip(found, own, wanted):
        check(one, exact)
        if is_transposed:
            assert one.transpose(1, 2).is_contiguous()
        else:
            assert one.is_contiguous()
        assert one.shape == other.shape


def test_parts_of_a_product(operators, module):
    """Queries, keys and values of one product, and one token."""
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    for tokens in (5, 1):
        qkv = rand(2, tokens, 8, 64).transpose(1, 2)
        cos, sin = rand(1, tokens, 64), rand(1, tokens, 64)
        wanted = module.own(qkv[:, :4].float(), qkv[:, 4:6].float(), cos.float(), sin.float())
        for one, other in zip(model(q=qkv[:, :4], k=qkv[:, 4:6], cos=cos, sin=sin), wanted):
            check(one, other)
    assert len(operators) == 4


@pytest.mark.parametrize("is_transposed", [False, True])
def test_gradients(operators, module, is_transposed):
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    q, k = rand(2, 4, 9, 64), rand(2, 2, 9, 64)
    if is_transposed:
        q, k = (one.transpose(1, 2).contiguous().transpose(1, 2) for one in (q, k))
    cos, sin, upstream = rand(2, 9, 64), rand(2, 9, 64), [torch.randn_like(q), torch.randn_like(k)]
    narrow = [one.requires_grad_() for one in (q, k)]
    wide = [one.detach().float().requires_grad_() for one in (q, k)]
    found = torch.autograd.grad(model(*narrow, cos, sin), narrow, upstream)
    wanted = torch.autograd.grad(module.own(*wide, cos.float(), sin.float()), wide, [one.float() for one in upstream])
    assert len(operators) == 2
    for one, other in zip(found, wanted):
        check(one, other)
    cos.requires_grad_()  # of which no gradient is declared
    assert torch.autograd.grad(model(*narrow, cos, sin)[0].sum(), cos)[0].shape == cos.shape
    assert len(operators) == 2


def test_other_calls(operators, module):
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    q, k, cos, sin = rand(2, 4, 9, 64), rand(2, 2, 9, 64), rand(1, 9, 64), rand(1, 9, 64)
    for arguments in (
        (q, k, cos[..., :32].contiguous(), sin[..., :32].contiguous()),  # the rest of a head is not turned
        (q, k, cos.float(), sin.float()),  # computed, and returned, in f32
        (q.float(), k.float(), cos.float(), sin.float()),
        (q[..., :40], k[..., :40], cos[..., :40], sin[..., :40]),
        (q[:1], k[:1], rand(2, 9, 64), rand(2, 9, 64)),  # one sequence at several places
        (q, k[:1], rand(2, 9, 64), rand(2, 9, 64)),
        (q, k, rand(1, 1, 64), rand(1, 1, 64)),
        (q, k, rand(2, 9, 64), sin),
        (q.mT.contiguous().mT, k, cos, sin),
        (q[0], k[0], cos, sin),
        (q[:, :0], k, cos, sin),
        (q, k, cos, sin, 1),
    ):
        operators.clear()
        for one, other in zip(model(*arguments), module.own(*arguments)):
            assert one.dtype == other.dtype and one.shape == other.shape
            torch.testing.assert_close(one, other, rtol=2**-6, atol=2**-6)
        assert len(operators) < 2
    operators.clear()
    with pytest.raises(TypeError):
        model(q, k, cos, sin, position_ids=None)
    with pytest.raises(TypeError):
        model(q, k)
    model(q.cpu().float(), k.cpu().float(), cos.cpu().float(), sin.cpu().float())
    assert operators == []


@pytest.mark.parametrize(
    "module",
    [
        HALVES.replace("torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)", NEIGHBOURS),
        HALVES.replace("(-x[", "(x["),
        HALVES.replace("* cos", "* cos[..., : cos.shape[-1] // 2].repeat_interleave(2, -1)"),
        HALVES.replace("return tuple", "return list"),
        HALVES.replace("tuple(turned)", "tuple(turned[::-1])"),
        HALVES.replace("unsqueeze_dim=1", "unsqueeze_dim=2"),
        HALVES.replace("unsqueeze_dim=1", "scale, unsqueeze_dim=1"),
        HALVES.replace("(q, k, cos, sin,", "(q, k, sin, cos,"),
        HALVES.replace("(q, k, cos, sin,", "(q, k=None, cos=None, sin=None,"),
        HALVES.replace("cos, sin, n = ", "q, k = q.float(), k.float(); cos, sin, n = "),
        HALVES.replace("def apply_rotary_pos_emb", "@staticmethod\ndef apply_rotary_pos_emb"),
    ],
    indirect=True,
)
def test_other_functions(module):
    tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    assert module.apply_rotary_pos_emb is module.own


@pytest.mark.parametrize(
    "module", [HALVES.replace("unsqueeze_dim=1", "position_ids=None, unsqueeze_dim=1")], indirect=True
)
def test_positions(operators, module):
    """An argument that older models have, and do not use."""
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)
    arguments = [rand(2, 4, 9, 64), rand(2, 2, 9, 64), rand(1, 9, 64), rand(1, 9, 64)]
    model(*arguments, None)
    model(*arguments, position_ids=torch.arange(9))
    assert operators == []
    model(*arguments, unsqueeze_dim=1)
    assert len(operators) == 2


def test_what_is_patched(module):
    model, other = module.Layer(), type("Other", (module.Layer,), {"__module__": __name__})()
    with tkc.torch.patched(on_cpu=ON_CPU):
        tkc.torch.patch(torch.nn.Sequential(other))  # by the class that it comes from
        replacement = module.apply_rotary_pos_emb
        assert replacement is not module.own and replacement.__doc__ == "What it says."
        tkc.torch.patch(model)
        assert module.apply_rotary_pos_emb is replacement
        with tkc.torch.patched():
            tkc.torch.unpatch()
            assert module.apply_rotary_pos_emb is module.own
        assert module.apply_rotary_pos_emb is not module.own
    assert module.apply_rotary_pos_emb is module.own
    tkc.torch.patch(model)
    module.apply_rotary_pos_emb = None  # which is not for tkc to undo
    tkc.torch.unpatch()
    assert module.apply_rotary_pos_emb is None


def test_compile(operators, module):
    model = tkc.torch.patch(module.Layer(), on_cpu=ON_CPU)

    def call(q, k, cos, sin):
        q, k = model(q.transpose(1, 2), k.transpose(1, 2), cos, sin)
        return (q @ k.mT).sin()

    arguments = [rand(2, 9, 4, 64), rand(2, 9, 4, 64), rand(1, 9, 64), rand(1, 9, 64)]
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager" if ON_CPU else "inductor")
    with torch.no_grad():
        torch.testing.assert_close(compiled(*arguments), call(*arguments), rtol=2**-6, atol=2**-6)


def test_cases():
    """Of the kernels' file: each against its reference."""
    file = os.path.join(os.path.dirname(tkc.__file__), "_patch.tk")
    done = subprocess.run([sys.executable, "-m", "tkc", "test", file], capture_output=True, text=True)
    assert done.returncode == 0 and "12 passed, 0 failed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("family", ["Llama", "Qwen3", "Gemma"])
@pytest.mark.filterwarnings("ignore")
def test_models(operators, family):
    """Of transformers, where that is installed: they find the replacement, and train with it."""
    transformers = pytest.importorskip("transformers")
    options = dict(hidden_size=128, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=50)
    config = getattr(transformers, f"{family}Config")(num_key_value_heads=1, head_dim=64, pad_token_id=0, **options)
    model = getattr(transformers, f"{family}Model")(config).to(DEVICE, BF16)
    tokens = torch.arange(12, device=DEVICE).view(2, 6) + 1
    wanted = model(tokens).last_hidden_state
    upstream = torch.randn_like(wanted)
    wanted.backward(upstream)
    gradients = [one.grad.clone() for one in model.parameters()]
    operators.clear()
    model.zero_grad()
    found = tkc.torch.patch(model, on_cpu=ON_CPU)(tokens).last_hidden_state
    assert sum(name.startswith("rotary") for name in operators) == 4
    torch.testing.assert_close(found, wanted, rtol=2**-4, atol=2**-4 * wanted.abs().max().item())
    found.backward(upstream)
    for one, other in zip(model.parameters(), gradients):
        torch.testing.assert_close(one.grad, other, rtol=2**-3, atol=2**-3 * other.abs().max().item())
