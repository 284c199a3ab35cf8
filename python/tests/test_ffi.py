# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that --emit=ffi prints, compiled and called: with a CUDA runtime that only notes what it was asked, and as
nvcc compiles them."""

import ctypes
import os
import shutil
import subprocess
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest
from conftest import needs_cxx, needs_nvcc

import tkc
from tkc import _devices, _paths, _tool, _toolchain
from tkc._call import Call

TEXT = """
kernel scaled(x: f32[N], out y: f32[N], mask: f32[N] = none, s: f32, n: i32, const square: bool = false) {
  parallel i in tiles(N, 256) {
    var v = x[i] * s + f32(n);
    if mask != none { v = v * mask[i]; }
    if square { v = v * v; }
    y[i] = v;
  }
}
program twice(x: f32[N], out y: f32[N]) {
  let between = new f32[N];
  scaled(x, between, s = 2, n = 0);
  scaled(between, y, s = 2, n = 0);
}
kernel product(a: f16[M, K], b: f16[K, N], out c: f16[M, N]) {
  parallel m in tiles(M, 64), n in tiles(N, 64) {
    var acc = zeros(64, 64);
    for k in tiles(K, 64) { acc += a[m, k] @ b[k, n]; }
    c[m, n] = acc;
  }
}
"""

# What the entries of the first file would be, and the runtime's functions that ffi.h calls.
ENTRIES = r"""
#include "tk/host/tensor.h"
#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <cuda_runtime_api.h>
#include <string>
#include <tvm/ffi/extra/c_env_api.h>

static std::string noted;
static int device = 0;
template <class... Values> static void note(const char *format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  noted += text;
}
cudaError_t cudaGetDevice(int *id) { return *id = device, cudaSuccess; }
cudaError_t cudaSetDevice(int id) { note("device %d;", id); return device = id, cudaSuccess; }
cudaError_t cudaMallocAsync(void **block, size_t bytes, cudaStream_t stream) {
  note("take %d on %p;", int(bytes), (void *)stream);
  return *block = std::malloc(bytes), cudaSuccess;
}
cudaError_t cudaFreeAsync(void *block, cudaStream_t stream) { note("give on %p;", (void *)stream); return std::free(block), cudaSuccess; }

static tk_status status(int code, const char *text) {
  tk_status result{code, ""};
  std::strcpy(result.message, text);
  return result;
}
extern "C" tk_status scaled(const tk_tensor *x, const tk_tensor *, const tk_tensor *mask, float s, int32_t n, int square, CUstream_st *) {
  if (!x)
    return status(TK_BAD_ARGUMENT, "scaled: `x` is null");
  if (n == 7)
    return status(TK_NOT_COMPILED, "scaled: no specialisation");
  note("%d %d %d %g %d %d;", int(x->dims[0]), x->rank, mask != nullptr, s, n, square);
  return status(TK_OK, "");
}
/// Does nothing.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_anything(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) { return 0; }
extern "C" int64_t twice_workspace_bytes(const tk_tensor *x, const tk_tensor *) { return x ? x->dims[0] * 4 : -1; }
extern "C" tk_status twice(const tk_tensor *x, const tk_tensor *, void *workspace, int64_t bytes, CUstream_st *stream) {
  if (!x)
    return status(TK_BAD_ARGUMENT, "twice: `x` is null");
  note("twice with %d%s on %p;", int(bytes), workspace ? "" : " nowhere", (void *)stream);
  return status(TK_OK, "");
}
extern "C" tk_status product(const tk_tensor *, const tk_tensor *, const tk_tensor *, CUstream_st *) {
  note("product;");
  return status(TK_OK, "");
}
extern "C" int64_t product_workspace_bytes(const tk_tensor *, const tk_tensor *, const tk_tensor *) { return 512; }
extern "C" tk_status product_with_workspace(const tk_tensor *, const tk_tensor *, const tk_tensor *, void *, int64_t bytes,
                                            CUstream_st *) {
  note("product with %d;", int(bytes));
  return status(TK_OK, "");
}
extern "C" int __tvm_ffi_twice(void *, const TVMFFIAny *, int32_t, TVMFFIAny *);
/// Calls `twice` with a tensor on GPU 3, whose stream is 0x70.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_on_gpu_3(void *, const TVMFFIAny *, int32_t, TVMFFIAny *result) {
  int64_t dims[] = {64};
  DLTensor tensor{nullptr, {kDLCUDA, 3}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
  TVMFFIAny values[2] = {};
  for (TVMFFIAny &value : values)
    value.type_index = kTVMFFIDLTensorPtr, value.v_ptr = &tensor;
  TVMFFIStreamHandle before;
  TVMFFIEnvSetStream(kDLCUDA, 3, (void *)0x70, &before);
  const int code = __tvm_ffi_twice(nullptr, values, 2, result);
  TVMFFIEnvSetStream(kDLCUDA, 3, before, nullptr);
  return code;
}
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_take_notes(void *, const TVMFFIAny *, int32_t, TVMFFIAny *result) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", noted.c_str()); // the simplest way to hand a string on
  noted.clear();
  return -1;
}
"""
RUNTIME = """
#pragma once
#include <stddef.h>
enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
struct dim3 { dim3(unsigned); };
cudaError_t cudaGetDevice(int *), cudaSetDevice(int), cudaGetLastError(), cudaDeviceSynchronize(), cudaMalloc(void **, size_t),
    cudaFree(void *), cudaMemset(void *, int, size_t), cudaMemsetAsync(void *, int, size_t, cudaStream_t),
    cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind), cudaMallocAsync(void **, size_t, cudaStream_t),
    cudaFreeAsync(void *, cudaStream_t), cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t),
    cudaEventCreate(cudaEvent_t *), cudaEventDestroy(cudaEvent_t), cudaEventRecord(cudaEvent_t, cudaStream_t),
    cudaEventSynchronize(cudaEvent_t), cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
const char *cudaGetErrorString(cudaError_t);
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "cuda_runtime_api.h").write_text(RUNTIME)
    (folder / "entries.cpp").write_text(ENTRIES)
    file = folder / "two.tk"
    file.write_text(TEXT)
    _tool.tkc([str(file), "--emit=ffi", "-o", str(folder / "two.ffi.cpp")])
    compiler = shutil.which("c++") or shutil.which("clang++-22")
    includes = [folder, _paths.headers(), *set(_toolchain.ffi_folders())]
    subprocess.run(
        [compiler, "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
         *(f"-I{one}" for one in includes), "two.ffi.cpp", "entries.cpp", "-o", "two.so"],
        cwd=folder, check=True,
    )  # fmt: skip
    return tvm_ffi.load_module(str(folder / "two.so"))


def notes(functions):
    with pytest.raises(ValueError) as said:
        functions.take_notes()
    return str(said.value)


@needs_cxx
def test_arguments_arrive(functions):
    x = np.ones(5, "float32")
    functions.scaled(x, x, None, 2.5, -3, True)
    functions.scaled(x, x, x, 2, 0, 0)
    assert notes(functions) == "5 1 0 2.5 -3 1;5 1 1 2 0 0;"


@needs_cxx
@pytest.mark.parametrize(
    "kind, arguments, message",
    [
        (TypeError, ("x", "x"), "scaled: it takes 6 arguments, this call has 2"),
        (TypeError, ("x", "x", 1, 2.0, 0, 0), "scaled: `mask` is not a tensor"),
        (TypeError, ("x", "x", None, "x", 0, 0), "scaled: `s` is not a number"),
        (TypeError, ("x", "x", None, 1, 0.5, 0), "scaled: `n` is not an integer"),
        (ValueError, ("x", "x", None, 1, 1 << 31, 0), "scaled: `n` is 2147483648, which has more than 32 bits"),
        (ValueError, (None, "x", None, 1, 0, 0), "scaled: `x` is null"),
        (RuntimeError, ("x", "x", None, 1, 7, 0), "scaled: no specialisation"),
    ],
)
def test_what_it_refuses(functions, kind, arguments, message):
    x = np.ones(5, "float32")
    with pytest.raises(kind) as error:
        functions.scaled(*(x if one == "x" else one for one in arguments))
    assert str(error.value).splitlines()[0] == message


@needs_cxx
def test_the_tensors_device_is_made_current_and_its_stream_passed(functions):
    functions.on_gpu_3()
    assert notes(functions) == "device 3;take 256 on 0x70;twice with 256 on 0x70;give on 0x70;device 0;"


@needs_cxx
def test_a_program_takes_a_workspace(functions):
    x = np.ones(5, "float32")
    assert functions.twice_workspace_bytes(x, x) == 20
    functions.twice(x, x, np.empty(20, "uint8"))
    assert notes(functions) == "twice with 20 on (nil);"
    with pytest.raises(ValueError, match="twice: `x` is null"):
        functions.twice(None, x)


@needs_cxx
def test_workspace_is_asked_for_where_rows_are_not_aligned(functions):
    wide = np.ones((16, 17), "float16")
    aligned, shifted, odd = np.ones((16, 16), "float16"), np.ones((16, 24), "float16")[:, 1:17], wide[:, :16]
    functions.product(aligned, aligned, shifted)  # an output is not copied
    functions.product(aligned, odd[:1], odd)  # the stride of one row says nothing
    assert notes(functions) == "product;product;"
    for operands in ((shifted, aligned), (aligned, shifted), (odd, aligned)):
        functions.product(*operands, aligned)
    assert notes(functions) == "take 512 on (nil);product with 512;give on (nil);" * 3
    functions.product(aligned, aligned, aligned, np.empty(768, "uint8"))  # the entry sees whether it can be one
    assert notes(functions) == "product with 768;"


@needs_nvcc
def test_nvcc_compiles_them(tmp_path, fresh_cache):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    file = tmp_path / "two.tk"
    file.write_text(TEXT)
    tkc.build(file, tmp_path / "out" / "two.so", arch="sm_80,sm_90a")
    module = tvm_ffi.load_module(str(tmp_path / "out" / "two.so"))
    x = np.ones(5, "float32")
    for call in (lambda: module.scaled(x, x, None, 1.0, 0, False), lambda: module.twice(x, x)):
        with pytest.raises(ValueError, match="`x` is not in the memory of a CUDA device"):
            call()


@needs_nvcc
def test_compiling_ahead(fresh_cache, monkeypatch):
    module = tkc.load("kernel f<T: {f32, f16}>(x: T[N], out y: T[N]) { parallel i in tiles(N, 8) { y[i] = x[i]; } }")
    module.compile("sm_90a")
    assert len(list(fresh_cache.rglob("*.so"))) == 2
    monkeypatch.setattr(_toolchain, "compile_shared", None)  # everything is there
    module.compile("sm_90a")


@needs_nvcc
def test_calls_find_what_is_compiled_ahead(fresh_cache, monkeypatch):
    """Whatever the order in which a signature has constants."""
    module = tkc.load("""
        kernel f<T: {f32}>(x: T[N, M], out y: T[N, M], const A: bool = false) where M in {8} {
          parallel i in tiles(N, 8) { y[i, :] = x[i, :]; if A { y[i, :] = 2 * x[i, :]; } }
        }""")
    module.f.compile("sm_90a", A=True)
    monkeypatch.setattr(_toolchain, "compile_shared", None)
    monkeypatch.setattr(_devices, "capability", lambda gpu: (9, 0))
    call = Call(module.f.signature, (np.zeros((3, 8), "float32"),), {"A": True}, None)
    symbols, types = call.bind()
    module.f._function(call, types, call.constants(symbols), 0)


@needs_nvcc
def test_compiling_some_ahead(fresh_cache):
    module = tkc.load("""
        kernel f<T: {f32, f16}>(x: T[N], out y: T[N], const twice: bool = false) {
          parallel i in tiles(N, 8) { y[i] = x[i]; if twice { y[i] = 2 * x[i]; } }
        }""")
    module.f.compile("sm_90a", T="f16", twice=True)
    assert len(list(fresh_cache.rglob("*.so"))) == 1
    module.f.compile("sm_90a", T="f16")
    assert len(list(fresh_cache.rglob("*.so"))) == 2
    for wrong in ({"T": "bf16"}, {"U": 1}):
        with pytest.raises(tkc.Error, match="f: no specialisation has"):
            module.f.compile("sm_90a", **wrong)


class OnGpu:
    """An array that says it is on a GPU, as another framework's tensor would."""

    class _Managed(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                    ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip

    _release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)  # the object keeps what it has handed out

    def __init__(self, array, device=0):
        self.kept = []
        self.array, self.number = array, device
        self.shape, self.dtype, self.strides, self.itemsize = array.shape, array.dtype, array.strides, array.itemsize

    def __dlpack_device__(self):
        return 2, self.number

    def __dlpack__(self, **_):
        count = len(self.shape)
        numbers = ctypes.c_int64 * count
        sizes = numbers(*self.shape), numbers(*(one // self.itemsize for one in self.strides))
        code = {"f": 2, "i": 0, "u": 1, "b": 6}[self.dtype.kind]
        release = ctypes.cast(self._release, ctypes.c_void_p)
        managed = self._Managed(
            self.array.ctypes.data, 2, self.number, count, code, 8 * self.itemsize, 1, *sizes, 0, None, release
        )
        self.kept.append((managed, sizes))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(managed), b"dltensor", None)


@pytest.fixture
def on_gpus(functions, monkeypatch):
    """A module whose shared object is the one above, and two GPUs."""
    module = tkc.load(TEXT)
    monkeypatch.setattr(_devices, "count", lambda: 2)
    monkeypatch.setattr(_devices, "capability", lambda index: (9, 0))
    compiled = []
    monkeypatch.setattr(
        type(module), "compiled", lambda self, *of: compiled.append((of[0].name, of[2], of[3])) or functions
    )
    module.asked = compiled
    with tkc.device("cuda"):
        yield module


@needs_cxx
def test_a_call_on_a_gpu(on_gpus, functions):
    x, y = (OnGpu(np.ones(5, "float32")) for _ in range(2))
    assert on_gpus.scaled(x, s=2.5, n=-3, square=True, y=y) is y
    on_gpus.scaled(x, x, 1, 0, out=y)
    on_gpus.scaled(x, x, 1, 0, out=y)
    assert notes(functions) == "5 1 0 2.5 -3 1;5 1 1 1 0 0;5 1 1 1 0 0;"
    assert on_gpus.asked == [("scaled", {"square": 1}, "sm_90a"), ("scaled", {"square": 0}, "sm_90a")]


@needs_cxx
def test_streams_and_devices_of_a_call(on_gpus, functions):
    x, y = (OnGpu(np.ones(64, "float32"), device=1) for _ in range(2))
    on_gpus.twice(x, out=y)
    on_gpus.twice(x, out=y, stream=0x40)
    assert notes(functions) == (
        "device 1;take 256 on (nil);twice with 256 on (nil);give on (nil);device 0;"
        "device 1;take 256 on 0x40;twice with 256 on 0x40;give on 0x40;device 0;"
    )


@needs_cxx
def test_errors_of_a_call_on_a_gpu(on_gpus):
    x, y = (OnGpu(np.ones(64, "float32")) for _ in range(2))
    cases = [
        (
            lambda: on_gpus.scaled(np.ones(5, "float32"), s=1, n=0),
            "scaled: `x` is not in the memory of a CUDA device; device",
        ),
        (
            lambda: on_gpus.scaled(x, s=1, n=0, y=np.ones(5, "float32")),
            "scaled: `y` is not in the memory of a CUDA device",
        ),
        (lambda: on_gpus.scaled(x, s=1, n=7, y=y), "scaled: no specialisation"),
        (lambda: on_gpus.scaled(x, s=1, n=1 << 40, y=y), "scaled: `n` is 1099511627776, which has more than 32 bits"),
        (lambda: on_gpus.scaled(x, s=1, n=0), "scaled: `y` cannot be allocated as test_ffi does: pass it"),
        (lambda: on_gpus.scaled(x, s=1, n=0, y=y, device="cpu"), 'scaled: `x` is on a GPU, and device="cpu" asks'),
    ]
    for call, message in cases:
        with pytest.raises(tkc.Error) as error:
            call()
        assert message in str(error.value)


class Device(NamedTuple):
    type: str
    index: int


class Tensor(OnGpu):
    """As far as the package looks at one of PyTorch."""

    requires_grad, layout = False, "strided"

    def __init__(self, array, device=0):
        super().__init__(array, device)
        self.device = Device("cuda", device)

    def stride(self):
        return tuple(one // self.itemsize for one in self.strides)

    def is_neg(self):
        return False

    def is_conj(self):
        return False


@pytest.fixture
def torch(monkeypatch):
    """Stands for PyTorch, which need not be installed, on a GPU that need not be there."""
    stub = types.ModuleType("torch")
    stub.Tensor, stub.strided, stub.uint8, stub.float32 = Tensor, "strided", np.dtype("uint8"), np.dtype("float32")
    stub.nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    stub.is_grad_enabled = lambda: True
    stub.dtype = type("dtype", (), {"is_complex": True, "to_real": lambda self: stub.float32})
    stub.complex64 = stub.dtype()

    def empty(shape, dtype, device):
        if min(np.atleast_1d(shape), default=0) < 0:
            raise RuntimeError("negative")
        return Tensor(np.zeros(shape, dtype), device.index)

    stub.empty = empty
    stub.empty_strided = lambda shape, strides, dtype, device: empty(shape, dtype, device)
    monkeypatch.setitem(sys.modules, "torch", stub)
    return stub


@needs_cxx
def test_repeated_calls_go_the_short_way(on_gpus, functions, torch, monkeypatch):
    scaled = on_gpus.scaled
    x, mask = (Tensor(np.ones(5, "float32")) for _ in range(2))
    y = scaled(x, s=2, n=1)
    assert type(y) is Tensor and y.shape == (5,)
    scaled(x, mask, 2, 1, True, out=y)
    wide = Tensor(np.ones(7, "float32"))
    with monkeypatch.context() as patched:
        patched.setattr("tkc._kernel.Call", None)  # the long way
        assert scaled(wide, s=3, n=1).shape == (7,)
        assert scaled(x, mask=mask, n=4, s=0.5, square=True, out=y) is y
        assert scaled(x, mask, 0.5, 4, y=y, square=True) is y
    assert notes(functions) == "5 1 0 2 1 0;5 1 1 2 1 1;7 1 0 3 1 0;5 1 1 0.5 4 1;5 1 1 0.5 4 1;"
    with pytest.raises(tkc.Error, match="scaled: no specialisation"):
        scaled(x, s=2, n=7)
    with pytest.raises(tkc.Error, match="scaled: `n` is not an integer"):
        scaled(x, s=2, n=1.5)


@needs_cxx
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: setattr(x, "requires_grad", True), "scaled: `x` requires a gradient"),
        (lambda x: setattr(x, "is_neg", lambda: True), "scaled: `x` is a lazily negated view"),
        (lambda x: setattr(x, "device", Device("cpu", 0)), "scaled: `x` is not in the memory of a CUDA device"),
    ],
)
def test_the_short_way_is_only_for_what_it_sees_through(on_gpus, torch, change, message):
    x, y = (Tensor(np.ones(5, "float32")) for _ in range(2))
    on_gpus.scaled(x, s=2, n=1, out=y)
    change(x)
    with pytest.raises(tkc.Error, match=message):
        on_gpus.scaled(x, s=2, n=1, out=y)


@needs_cxx
def test_calls_that_are_no_repetition(on_gpus, torch):
    x, y = (Tensor(np.ones(5, "float32")) for _ in range(2))
    scaled = on_gpus.scaled
    scaled(x, s=2, n=1, out=y)
    cases = [
        (lambda: scaled(x, x=x, s=2, n=1, out=y), "scaled: `x` is given twice"),
        (lambda: scaled(x, n=1, out=y), "scaled: `s` is missing"),
        (lambda: scaled(s=2, n=1, out=y), "scaled: `x` is missing"),
        (lambda: scaled(None, s=2, n=1, out=y), "scaled: `x` is null"),
        (lambda: scaled(x, s="2", n=1, out=y, m=1), "scaled: it has no parameter `m`"),
        (lambda: scaled(x, s=2, n=1, out=y, device="cpu"), "scaled: `x` is on a GPU"),
        (lambda: scaled(x, s=2, n=1, out=[y, y]), "scaled: `out` has 2 tensors"),
    ]
    for call, message in cases:
        with pytest.raises(tkc.Error, match=message):
            call()
    with tkc.device("cpu"), pytest.raises(tkc.Error, match="scaled: `x` is on a GPU"):
        scaled(x, s=2, n=1, out=y)
