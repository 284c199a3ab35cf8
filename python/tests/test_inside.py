# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel sees of PyTorch's tensors where the object in C++ reads them (_inside.h): the same as PyTorch says, whatever
happened to a tensor. On the CPU, with a function that only notes what it was given."""

import subprocess

import pytest
from conftest import needs_cxx

import tkc
from tkc import _devices, _native, _tensors, _toolchain

torch = pytest.importorskip("torch")
tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = needs_cxx

RANKS = {1: "A", 2: "A, B", 3: "A, B, C", 5: "A, B, C, D, E", 6: "A, B, C, D, E, F", 8: "A, B, C, D, E, F, G, H"}
TEXT = "".join(
    f"kernel of_{rank}<T: {{f32, bf16}}>(x: T[{dims}], out y: f32[A]) {{ parallel i in tiles(A, 16) {{ y[i] = zeros(16); }} }}\n"
    for rank, dims in RANKS.items()
)
SEEN = r"""
#include <string>
#include <tvm/ffi/extra/c_env_api.h>

static std::string noted;
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_seen(void *, const TVMFFIAny *values, int32_t, TVMFFIAny *) {
  if (values->type_index != kTVMFFIDLTensorPtr)
    return noted += "the long way", 0;
  const DLTensor &x = *static_cast<const DLTensor *>(values->v_ptr);
  for (long long one : {(long long)x.data, (long long)x.byte_offset, (long long)x.device.device_type, (long long)x.device.device_id,
                        (long long)x.dtype.code, (long long)x.dtype.bits, (long long)x.dtype.lanes, (long long)x.ndim})
    noted += std::to_string(one) + " ";
  for (int d = 0; d < x.ndim; ++d)
    noted += std::to_string(x.shape[d]) + ":" + std::to_string(x.strides[d]) + " ";
  return 0;
}
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_take_notes(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", noted.c_str()); // the simplest way to hand a string on
  return noted.clear(), -1;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    source = tmp_path_factory.mktemp("seen") / "seen.cpp"
    source.write_text(SEEN)
    includes = [word for one in _toolchain.ffi_folders() for word in ("-I", one)]
    result = source.with_suffix(".so")
    subprocess.run([_toolchain.host_compiler(), "-shared", "-fPIC", *includes, source, "-o", result], check=True)
    return tvm_ffi.load_module(str(result))


@pytest.fixture
def see(library, monkeypatch):
    """What the function is given of a tensor, by a call that goes the short way."""
    of_torch = _tensors._of_torch
    monkeypatch.setattr(_tensors, "_of_torch", lambda *of: of_torch(*of)._replace(gpu=0))
    monkeypatch.setattr(_devices, "count", lambda: 1)
    monkeypatch.setattr(_devices, "capability", lambda index: (9, 0))
    module = tkc.load(TEXT)

    class Functions:
        get_function = staticmethod(lambda name: library.get_function("seen"))

    monkeypatch.setattr(type(module), "compiled", lambda *of: Functions)
    y = torch.zeros(2)

    def seen(x):
        module[f"of_{x.dim()}"](x, out=y)
        with pytest.raises(ValueError) as error:
            library.get_function("take_notes")()
        return str(error.value).splitlines()[0].strip()

    with tkc.device("cuda"):
        for rank in RANKS:
            for dtype in (torch.float32, torch.bfloat16):
                assert seen(torch.zeros((2,) * rank, dtype=dtype)) == "the long way"
        if not getattr(module.of_1.func, "reads", False):
            pytest.skip("this PyTorch's tensors are not read")
        yield seen


def of_python(x):
    kind = {torch.float32: "2 32 1", torch.bfloat16: "4 16 1"}[x.dtype]
    dims = "".join(f" {size}:{stride if size > 1 else 1}" for size, stride in zip(x.shape, x.stride()))
    return f"{x.data_ptr()} 0 1 0 {kind} {x.dim()}{dims}"


def test_views(see):
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.arange(720).reshape(2, 3, 4, 5, 6).to(dtype)
        for one in (
            x, x[1], x[1, 1], x[1, 1, 1, 1], x[:, 1:], x.transpose(0, 4), x.permute(4, 2, 0, 3, 1), x[..., ::2], x[1:, :1],
            x[0, 0, 0, 0, 2:], x.unsqueeze(1), x[:, None, :, None, :, None], x[:, 1:].unsqueeze(5)[:, :, 2:], x[:0], x[0, 1:1],
            x.expand(2, 3, 4, 5, 6)[0], x[0, 0, :, :1, 0].expand(4, 7), x.new_zeros(1, 1, 1), x.contiguous(memory_format=torch.preserve_format),
            torch.nn.Parameter(x, requires_grad=False), x.detach(), x[0, 0, 0].to(memory_format=torch.contiguous_format),
        ):  # fmt: skip
            if one.dim() in RANKS:
                for _ in range(2):
                    assert see(one) == of_python(one), (dtype, one.shape, one.stride())


def test_a_tensor_changes(see):
    """It has what it has when it is passed."""
    x, other = torch.arange(12.0).reshape(3, 4), torch.ones(5, 2)

    def to(dtype):
        x.data = x.data.to(dtype)

    for change in (
        x.t_, lambda: x.resize_(2, 2), lambda: x.resize_(40, 3), lambda: x.set_(other), lambda: x.set_(other.untyped_storage(), 2, (2, 2), (1, 3)),
        lambda: to(torch.bfloat16), lambda: to(torch.float32), lambda: x.resize_(0, 3), lambda: x.resize_(3, 0), lambda: x.resize_(4, 4),
        lambda: x.squeeze_().unsqueeze_(0), x.neg_, lambda: x.untyped_storage().resize_(4000), lambda: x.resize_(1, 1, 1), x.share_memory_,
    ):  # fmt: skip
        change()
        for one in (x, x[..., :1]):
            assert see(one) == of_python(one)


def test_a_lazy_copy_has_memory_of_its_own(see):
    """Once someone asks where its memory is."""
    if not hasattr(torch, "_lazy_clone"):
        pytest.skip("has no lazy copies")
    x = torch.arange(6.0)
    for of in (lambda copy: copy, lambda copy: copy[1:], lambda copy: copy.detach()):
        copy = torch._lazy_clone(x)
        passed = of(copy)
        seen = see(passed)
        assert not torch._C._is_cow_tensor(copy) and copy.data_ptr() != x.data_ptr()
        assert seen == of_python(passed) == see(passed)


def test_modes(see):
    x = torch.ones(4)
    with torch.inference_mode():
        y = torch.ones(4)
        for one in (x, y, y[1:], x):
            assert see(one) == of_python(one)
    assert see(y) == of_python(y)
    with torch.no_grad():
        w = torch.ones(4, requires_grad=True)
        assert see(w) == of_python(w)
    with pytest.raises(tkc.Error, match="`x` requires a gradient"):
        see(w)
    with pytest.raises(tkc.Error, match="`x` requires a gradient"):
        see(w[1:])
    assert see(w.detach()) == of_python(w)
    w.requires_grad_(False)
    assert see(w) == of_python(w)


def test_more_kinds_than_are_kept(see):
    """The oldest are asked again."""
    x, y = torch.ones(4, 4), torch.ones(4, 4).bfloat16()
    some = [one for t in (x, y) for one in (t, t.t(), t[1:, 1:], t[:1], t[:, :1], t[::2], t.expand(4, 4))]
    with torch.inference_mode():
        some += [one for t in (x.clone(), y.clone()) for one in (t, t.t(), t[1:, 1:], t[:1], t[:, :1])]
    for _ in range(3):
        for one in some:
            assert see(one) == of_python(one)


@pytest.mark.parametrize("at, value, asks, reads", [(4, 0, False, False), (4, 64, False, False), (5, True, False, False)])
def test_it_is_read_where_examples_show_it(at, value, asks, reads):
    """An example whose storage is elsewhere, and one that would be a lazy copy, each only by what is said of it."""
    calls = _native.calls()
    if calls is None:
        pytest.skip("needs Python's headers")
    examples = [list(one) for one in _tensors.examples(torch)]
    whole = calls(torch, [tuple(one) for one in examples], _devices.asked_here, len, 0, [], [], [], None)
    examples = [list(one) for one in _tensors.examples(torch)]
    examples[2][at] = value
    made = calls(torch, [tuple(one) for one in examples], _devices.asked_here, len, 0, [], [], [], None)
    assert made.asks_python == asks and made.reads == reads
    without = [tuple(one) for one in _tensors.examples(torch) if not one[5]]
    assert not calls(torch, without, _devices.asked_here, len, 0, [], [], [], None).reads
    if torch.__version__.startswith("2.11."):
        assert whole.reads
