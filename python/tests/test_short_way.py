# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repeated calls with PyTorch's tensors, by the object in C++, which asks PyTorch past its Python or not, and by the method in
Python: the same arguments arrive, and the same calls go the long way. On the CPU, with functions that only note what they
were asked."""

import ctypes
import functools
import gc
import weakref

import numpy as np
import pytest
from conftest import needs_cxx
from test_ffi import TEXT, functions, notes  # noqa: F401  # a fixture

import tkc
from tkc import _devices, _native, _tensors

torch = pytest.importorskip("torch")
pytest.importorskip("tvm_ffi")
pytestmark = needs_cxx

SHAPES = """
kernel wide<T: {f32, bf16}>(x: T[N, M], w: f32[M] = none, out y: T[M, N + 2], out norm: f32[N], const up: bool = false) where M in {64, 128} {
  parallel i in tiles(N, 16) { norm[i] = zeros(16); }
}
"""


@pytest.fixture(params=["C++", "C++ that asks Python", "Python"])
def module(request, functions, monkeypatch):  # noqa: F811
    """Tensors on the CPU are taken for those on a GPU; the functions do not mind."""
    if request.param == "Python":
        monkeypatch.setattr(_native, "calls", lambda: None)
    elif _native.calls() is None:
        pytest.skip("needs Python's headers")
    elif request.param == "C++ that asks Python":
        monkeypatch.setattr(_tensors, "examples", lambda torch: [])
    of_torch = _tensors._of_torch
    monkeypatch.setattr(_tensors, "_of_torch", lambda *of: of_torch(*of)._replace(gpu=0))
    monkeypatch.setattr(_devices, "count", lambda: 1)
    monkeypatch.setattr(_devices, "capability", lambda index: (9, 0))
    module = tkc.load(TEXT)
    monkeypatch.setattr(type(module), "compiled", lambda self, *of: functions)
    with tkc.device("cuda"):
        yield module


@pytest.fixture
def scaled(module, monkeypatch):
    """The kernel after calls that went the long way, which `long` counts."""
    kernel = module.scaled
    x = torch.ones(5)
    kernel(x, s=1, n=0, out=torch.ones(5))
    kernel(x, x, 1, 0, True, out=torch.ones(5))
    kernel.long = 0
    call = tkc._kernel.Call

    def count(*of):
        kernel.long += 1
        return call(*of)

    monkeypatch.setattr("tkc._kernel.Call", count)
    return kernel


def test_arguments_arrive(scaled, functions):  # noqa: F811
    notes(functions)
    x, y = torch.ones(6), torch.zeros(6)
    assert scaled(x, s=2.5, n=-3, out=y) is y
    assert scaled(x, None, 2, 1, y=y) is y
    assert scaled(n=4, s=True, x=x, mask=x, square=1, out=y) is y
    assert scaled(x, x, 0.5, 5, True, y=torch.nn.Parameter(y, requires_grad=False)).shape == (6,)
    assert scaled(x, mask=None, s=1, n=6, out=None).shape == (6,)
    assert scaled.long == 0
    assert notes(functions) == "6 1 0 2.5 -3 0;6 1 0 2 1 0;6 1 1 1 4 1;6 1 1 0.5 5 1;6 1 0 1 6 0;"


def test_gradients_and_views(scaled):
    x, y = torch.ones(5), torch.ones(5)
    negated = torch.complex(x, x).conj().imag
    cases = [
        (lambda: scaled(x.clone().requires_grad_(), s=1, n=0, out=y), "`x` requires a gradient"),
        (lambda: scaled(x, s=1, n=0, out=y.clone().requires_grad_()), "`y` requires a gradient"),
        (lambda: scaled(negated, s=1, n=0, out=y), "`x` is a lazily negated view"),
        (lambda: scaled(x, negated, 1, 0, True, out=y), "`mask` is a lazily negated view"),
        (lambda: scaled(x, s=1, n=0, out=negated), "`y` is a lazily negated view"),
        (lambda: scaled(x.to_sparse(), s=1, n=0, out=y), "`x` is torch.sparse_coo"),
        (lambda: scaled(x.to("meta"), s=1, n=0, out=y), "`x` is on meta"),
        (lambda: scaled(x, s=1, n=0, out=y, device="gpu"), 'it may be "cpu"'),
        (lambda: scaled(x, s=1, n=0, out=y, stream=0, device="cpu"), "`x` is on a GPU"),
        (lambda: scaled(x, None, 1, 0, False, y), "it takes 5 arguments"),
        (lambda: scaled(x, s=1, n=0, out=(y, y)), "`out` has 2 tensors"),
        (lambda: scaled(x, s=1, n=0, y=y, out=y), "`out` has 1 tensors, there are 0 outputs"),
        (lambda: scaled(x, s=1, out=y), "`n` is missing"),
        (lambda: scaled(x, s=1, n=1.0, out=y), "`n` is not an integer"),
        (lambda: scaled(x, s=1, n=1 << 70, out=y), "more than 32 bits"),
        (lambda: scaled(None, s=1, n=0, out=y), "`x` is null"),
        (lambda: scaled(np.ones(5, "float32"), s=1, n=0, out=y), "`x` is not in the memory of a CUDA device"),
        (lambda: scaled(x, s=1, n=7, out=y), "scaled: no specialisation"),
    ]  # fmt: skip
    for at, (call, message) in enumerate(cases):
        with pytest.raises(tkc.Error) as error:
            call()
        assert message in str(error.value), at
    assert scaled.long == len(cases)
    with pytest.raises(tkc.Error, match="`x` is given twice"):
        scaled(x, x=x, s=1, n=0, out=y)
    with torch.no_grad():
        scaled(x.clone().requires_grad_(), s=1, n=0, out=y)
    assert scaled.long == len(cases)
    with tkc.device("cpu"), pytest.raises(tkc.Error, match="`x` is on a GPU"):
        scaled(x, s=1, n=0, out=y)


def test_a_number_of_another_kind_is_served(scaled, functions):  # noqa: F811
    """What is no number of Python goes the long way, which takes it."""
    notes(functions)
    x, y = torch.ones(5), torch.ones(5)
    scaled(x, s=np.float32(0.5), n=np.int64(3), out=y)
    scaled(x, s=torch.tensor(2.0), n=3, out=y)
    assert notes(functions) == "5 1 0 0.5 3 0;5 1 0 2 3 0;" and scaled.long <= 2


def test_shapes_and_types(functions, module, monkeypatch):  # noqa: F811
    """Which function serves a call, and what is allocated."""
    wide = tkc.load(SHAPES).wide
    asked = []

    def compiled(self, signature, types, constants, arch):
        asked.append((types["T"], *constants.values()))
        return Functions

    class Functions:
        @staticmethod
        def get_function(name):
            return functions.get_function("anything")

    monkeypatch.setattr(type(module), "compiled", compiled)
    for _ in range(2):
        for dtype in (torch.float32, torch.bfloat16):
            for columns in (64, 128):
                for up in (False, True):
                    for w in (None, torch.ones(columns)):
                        y, norm = wide(torch.ones(3, columns, dtype=dtype), w, up=up)
                        assert y.shape == (columns, 5) and y.dtype == dtype and y.stride() == (5, 1)
                        assert norm.shape == (3,) and norm.dtype == torch.float32
    assert asked == [(name, columns, up) for name in ("f32", "bf16") for columns in (64, 128) for up in (0, 1)]
    outputs = torch.ones(64, 2), torch.ones(0)
    assert wide(torch.ones(0, 64), out=outputs) == outputs
    y, norm = wide(torch.ones(0, 64))
    assert y.shape == (64, 2) and norm.shape == (0,)


def test_it_holds_nothing(module):
    """A kernel and what serves it go together."""
    x = torch.ones(5)
    kernel = tkc.load(TEXT).scaled
    kernel(x, s=1, n=0)
    kernel(x, s=1, n=0)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_streams_are_those_of_the_device(module, functions):  # noqa: F811
    """Nothing is left behind: the function of a later call by hand has no stream."""
    x = torch.ones(5)
    module.scaled(x, s=1, n=0)
    module.scaled(x, s=1, n=0)
    notes(functions)
    functions.twice(np.ones(5, "float32"), np.ones(5, "float32"))
    assert "on (nil)" in notes(functions)


@pytest.fixture
def freed_memory_is_overwritten():
    """By glibc's malloc, so that who reads it after all is seen."""
    perturb = -6  # M_PERTURB
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *of: None)
    mallopt(perturb, 85)
    yield
    mallopt(perturb, 0)


def test_a_kernel_changes_while_it_serves_a_call(module, freed_memory_is_overwritten):
    """PyTorch may run other code where an output is allocated: here one that calls the kernel in another way, and one that
    makes it forget what it knows."""
    from torch.utils._python_dispatch import TorchDispatchMode

    x = torch.ones(5)
    kernel = module.scaled

    class Meanwhile(TorchDispatchMode):
        def __init__(self, run):
            super().__init__()
            self.run = run

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            self.run()
            return function(*arguments, **(keywords or {}))

    def once_more():
        kernel(x, s=1, n=0, square=True)
        kernel(x, x, s=1, n=0)

    for run in (once_more, kernel.forget):
        for _ in range(2):
            kernel(x, s=1, n=0)
        with Meanwhile(run):
            assert kernel(x, s=1, n=0).shape == (5,)
        kernel.forget()


@pytest.mark.parametrize("change", [None, (1, 0), (2, True), (3, True)])
def test_pytorch_is_asked_past_its_python_where_it_answers_alike(functions, monkeypatch, change):  # noqa: F811
    """An example that has another address, is negated, or requires a gradient, each only by what is said of it."""
    calls = _native.calls()
    if calls is None:
        pytest.skip("needs Python's headers")
    examples = [list(one) for one in _tensors.examples(torch)]
    if change:
        at, value = change
        examples[1][at] = value
    made = calls(torch, [tuple(one) for one in examples], _devices.asked_here, len, 0, [], [], [], None)
    assert made.asks_python == (change is not None)


def test_a_class_is_called_as_its_base(module):
    """Before Python 3.12 that is asked for, and only where the class has no call of its own."""
    if _native._module() is None:
        pytest.skip("needs Python's headers")
    has_vectorcall = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
    module.scaled(torch.ones(5), s=1, n=0)
    assert tkc._kernel.Kernel.__flags__ & has_vectorcall

    class Same(functools.partial):
        pass

    class Other(functools.partial):
        def __call__(self, *of):
            return "other"

    for one in (Same, Other, int):
        _native.call_as_base(one)
    assert Same.__flags__ & has_vectorcall and Same(max, 3)(5, 4, key=lambda of: -of) == 3
    assert not Other.__flags__ & has_vectorcall and Other(max)(5) == "other"
    assert not int.__flags__ & has_vectorcall and int("3") == 3
    with pytest.raises(TypeError):
        _native.call_as_base(3)


def test_a_kernel_calls_past_functools_what_serves_it(module, functions):  # noqa: F811
    """And what it is given next, and what another partial function passes besides, as before."""
    x, kernel = torch.ones(5), module.scaled
    for _ in range(2):
        kernel(x, s=1, n=0)
    notes(functions)
    kernel(*(x,), **{"s": 2, "n": 3})
    served = kernel.func
    kernel.__setstate__((max, (), {}, vars(kernel)))
    assert kernel(3, 5) == 5 and kernel(3, 5, key=lambda of: -of) == 3
    kernel.__setstate__((served, (), {}, vars(kernel)))
    kernel(x, s=4, n=5)
    assert notes(functions) == "5 1 0 2 3 0;5 1 0 4 5 0;"
    if _native._module():
        for other in (functools.partial(served, x, s=6), functools.partial(max, 3)):
            _native.call_directly(other)
        assert other(2) == 3
        other = functools.partial(served, x, s=6)
        _native.call_directly(other)
        other(n=8)
        assert notes(functions) == "5 1 0 6 8 0;"
    kernel.__setstate__((kernel._call, (), {}, vars(kernel)))
    kernel(x, s=1, n=0)


@pytest.mark.parametrize("mode", ["inference", "another device", "another type", "vmap", "grad"])
def test_pytorch_may_be_in_any_mode(module, functions, mode):  # noqa: F811
    """In the calls that make the kernel's object, and in those that it serves."""
    x, y, kernel = torch.ones(5), torch.zeros(5), module.scaled
    notes(functions)

    def calls(t):
        for _ in range(2):
            kernel(x, s=1, n=0, out=y)
        with pytest.raises(tkc.Error):
            kernel(t.clone().requires_grad_() if mode.startswith("another") else t, s=1, n=7, out=y)
        return t.sum()

    if mode == "inference":
        with torch.inference_mode():
            calls(x)
    elif mode == "another device":
        with torch.device("meta"):
            calls(x)
    elif mode == "another type":
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            calls(x)
        finally:
            torch.set_default_dtype(before)
    else:
        getattr(torch.func, mode)(calls)(torch.ones(2))
    assert notes(functions) == "5 1 0 1 0 0;" * 2
