# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch on the CPU, where it is installed."""

import pytest
from conftest import needs_cxx
from test_ffi import TEXT, functions, notes  # noqa: F401  `functions` is a fixture

import tkc
from tkc import _native
from tkc._kernel import Kernel

torch = pytest.importorskip("torch")

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool"}  # fmt: skip


@pytest.mark.parametrize("elem", TYPES)
def test_types(elem):
    copy = tkc.load(
        f"kernel copy(x: {elem}[M, N], out y: {elem}[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = x[i, j]; }} }}"
    ).copy
    x = (torch.randn(5, 7) > 0).to(getattr(torch, TYPES[elem]))
    y = copy(x)
    assert y.dtype == x.dtype and torch.equal(y.float(), x.float())


def test_strides():
    scale = tkc.load(
        "kernel scale(x: f32[M, N], out y: f32[M, N]) { parallel i in tiles(M, 16), j in tiles(N, 16) { y[i, j] = 2 * x[i, j]; } }"
    ).scale
    wide, out = torch.randn(6, 10), torch.zeros(6, 10)
    scale(wide[::2, 3:7], out=out[1:4, 2:6])
    expected = torch.zeros(6, 10)
    expected[1:4, 2:6] = 2 * wide[::2, 3:7]
    assert torch.equal(out, expected)


def test_what_pytorch_would_hide():
    scale = tkc.load("kernel scale(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 16) { y[i] = 2 * x[i]; } }").scale
    x = torch.ones(4, requires_grad=True)
    with pytest.raises(tkc.Error, match="scale: `x` requires a gradient, and there is none"):
        scale(x)
    assert torch.equal(scale(x.detach()), torch.full((4,), 2.0))
    with torch.no_grad():
        scale(x)
    with pytest.raises(tkc.Error, match="scale: `x` is a lazily negated view"):
        scale(torch.ones(4, dtype=torch.complex64).conj().imag)
    with pytest.raises(tkc.Error, match="scale: `x` is complex64, which no kernel takes"):
        scale(torch.ones(4, dtype=torch.complex64))


@pytest.fixture(params=["in Python", "in C++"])
def short_way(request, monkeypatch):
    """Two do the same: a method that is written for a kernel, and an object in C++ where that can be compiled."""
    if request.param == "in Python":
        monkeypatch.setattr(_native, "calls", lambda: None)
    elif _native.calls() is None:
        pytest.skip("Python's headers or a C++ compiler are missing")
    with tkc.device("cuda"):
        yield


def called_before(functions):  # noqa: F811
    """A kernel whose function only notes its calls."""
    kernel = tkc.load(TEXT).scaled
    kernel._repeat(
        {"x": torch.ones(5), "mask": None, "s": 1.0, "n": 0, "square": 0}, functions.scaled, [torch.float32]
    )
    notes(functions)
    return kernel


def function_of(method):
    """A function as compiled code has it. `method` gets the tensors' addresses: the tensors live as long as the call."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    return tvm_ffi.convert(lambda *values: method([one.data_ptr() for one in values if hasattr(one, "data_ptr")]))


@needs_cxx
def test_the_short_way(functions, short_way):  # noqa: F811
    scaled = called_before(functions)
    x, y = torch.ones(5), torch.zeros(5)
    result = scaled(x, None, 2.5, -3)
    assert result.shape == (5,) and result.dtype == torch.float32
    assert scaled(x, s=2.5, n=-3, out=y) is y
    assert scaled(x, s=2, n=-3, y=y, square=False) is y
    with torch.no_grad():
        scaled(torch.nn.Parameter(x), None, 2.5, -3, out=y.requires_grad_())
    assert notes(functions) == "5 1 0 2.5 -3 0;" * 2 + "5 1 0 2 -3 0;" + "5 1 0 2.5 -3 0;"


@needs_cxx
def test_what_does_not_go_the_short_way(functions, short_way, monkeypatch):  # noqa: F811
    x = torch.ones(5)
    with_gradient, negative = x.clone().requires_grad_(), torch.ones(5, dtype=torch.complex64).conj().imag
    calls = []
    for value in (with_gradient, negative, None, 1.0, x.numpy()):
        calls += [((value, None, 2.5, -3), {}), ((x, None, 2.5, -3), {"y": value})]
    calls.append(((x, None, 2.5, -3), {"out": x, "y": x}))
    calls += [((x, x, 2.5, -3), {}), ((x, None, 2.5, -3), {"square": True})]  # other functions, which may not be there yet
    calls += [((x,), {}), ((x, None, 2.5, "3"), {}), ((x, None, 2.5, -3), {"stream": 1}), ((x, None, 2.5, -3, False, x), {"s": 2})]
    long_way = []
    with monkeypatch.context() as patched:
        patched.setattr(Kernel, "_call", lambda self, *args, **kwargs: long_way.append((args, kwargs)))
        scaled = called_before(functions)
        for args, kwargs in calls:
            scaled(*args, **kwargs)
        with tkc.device("cpu"):
            scaled(x, None, 2.5, -3)
    names = ["x", "mask", "s", "n", "square"]
    assert len(long_way) == len(calls) + 1
    for (args, kwargs), (found_args, found_kwargs) in zip([*calls, ((x, None, 2.5, -3), {})], long_way):
        if len(args) > len(names):
            assert found_args[:6] == args
            continue
        wanted = {**dict(zip(names, args)), **kwargs}
        found = {**dict(zip(names, found_args)), **found_kwargs}
        assert list(map(id, map(found.get, wanted))) == list(map(id, wanted.values()))
        assert {name: found[name] for name in set(found) - set(wanted)}.items() <= {"mask": None, "square": 0}.items()
    assert notes(functions) == ""
    scaled = called_before(functions)
    for refused in (lambda: scaled(x, None, 2.5, 7), lambda: scaled(x, None, 2.5, "3")):
        with pytest.raises(tkc.Error, match="is not in the memory of a CUDA device|`n` is not an integer"):
            refused()
    with pytest.raises(tkc.Error, match="scaled: `x` is given twice"):
        scaled(x, None, 2.5, 7, x=x)
    with pytest.raises(tkc.Error, match=r"scaled: it takes 5 arguments \(x, mask, s, n, square\), this call has 6"):
        scaled(x, None, 2.5, 7, False, x)


@needs_cxx
def test_the_short_way_by_types_and_choices(short_way):
    """Which function runs is said by the types, the chosen dims and the constants, whatever parameters are called."""
    kernel = tkc.load(
        "kernel pick<T: {f16, f32}>(type: T[N, D], out tuple: T[N, D], other: T[N + 1, D] = none, const out: bool = true)"
        " where D in {64, 128} { parallel i in tiles(N, 16), j in tiles(D, 64) { tuple[i, j] = type[i, j]; } }"
    ).pick
    called = []
    for dtype in (torch.float16, torch.float32):
        for size in (64, 128):
            kernel._repeat(
                {"type": torch.ones(3, size, dtype=dtype), "other": None, "out": 1},
                function_of(lambda addresses, at=(dtype, size): called.append(at)),
                [dtype],
            )
    result = kernel(torch.ones(3, 128, dtype=torch.float16))
    assert result.shape == (3, 128) and result.dtype == torch.float16
    kernel(torch.ones(3, 64), out=True)
    assert called == [(torch.float16, 128), (torch.float32, 64)]


@needs_cxx
@pytest.mark.parametrize("shape", [(5, 3, 4), (5, 1, 1), (0, 3, 4), (5, 0, 4), (5, 3, 0), (0, 0, 0)])
def test_the_short_way_allocates_as_pytorch_does(short_way, shape):
    kernel = tkc.load(
        "kernel turned(x: f32[A, B, C], out y: f32[C, A, B + 1]) { parallel a in tiles(A, 1), b in tiles(B, 1), c in tiles(C, 16) { } }"
    ).turned
    called = []
    kernel._repeat({"x": torch.ones(shape)}, function_of(called.append), [torch.float16])
    y = kernel(torch.ones(shape))
    wanted = torch.empty((shape[2], shape[0], shape[1] + 1), dtype=torch.float16)
    assert called[0][1] == y.data_ptr() and (y.shape, y.stride(), y.dtype) == (wanted.shape, wanted.stride(), wanted.dtype)
