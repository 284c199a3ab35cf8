# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of any framework, seen alike."""

import sys
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from ._elements import NATIVE, PAIRED, WIDTHS, Array, bits_dtype, stored_shape
from ._errors import Error

# By what NumPy, ml_dtypes, CuPy and JAX call them; PyTorch's names are these behind "torch.".
ELEMS = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int8": "i8", "uint8": "u8", "bool": "bool", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn_x2": "f4e2m1",
}  # fmt: skip
_NAMES = {elem: name for name, elem in ELEMS.items()}
_NAMES["tf32"] = "float32"


def name_of(elem: str) -> str:
    """What the frameworks call an element type."""
    if elem not in _NAMES:
        raise Error(f"no framework has {elem}")
    return _NAMES[elem]


class View(NamedTuple):
    """A tensor argument."""

    value: Any
    framework: str  #: "torch", "numpy", "array", "other"
    elem: str
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]  #: in elements; None: row-major
    gpu: Optional[int]  #: None: on the CPU


def view_of(value: Any, name: str) -> View:
    """Refuses what is no tensor, and what a kernel would silently take for another one."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value, name)
    if isinstance(value, Array):
        return View(value, "array", value.type, tuple(value.shape), _strides_of_array(value), None)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return View(value, "numpy", _elem(value.dtype, name), value.shape, _in_elements(value, name), None)
    if not hasattr(value, "__dlpack__") or not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise Error(f"`{name}` is not a tensor")
    kind, index = value.__dlpack_device__()
    if int(kind) not in (1, 2, 3, 13):
        raise Error(f"`{name}` is on a device that is neither a CPU nor a GPU of CUDA")
    strides = getattr(value, "strides", None)
    if strides is not None and hasattr(value, "itemsize"):
        strides = _in_elements(value, name)
    return View(value, "other", _elem(value.dtype, name), tuple(value.shape), strides,
                int(index) if int(kind) == 2 else None)  # fmt: skip


def seen_as(view: View, elem: str) -> View:
    """Bytes, where a kernel has integers of four bits, as two of these each."""
    if elem not in PAIRED or view.elem != "u8" or not view.shape:
        return view
    strides = view.strides and (*(stride * 2 for stride in view.strides[:-1]), view.strides[-1])
    return view._replace(elem=elem, shape=(*view.shape[:-1], view.shape[-1] * 2), strides=strides)


def torch_elements(value: Any, name: str, wanted: str = "") -> Tuple[str, Tuple[int, ...]]:
    """The element type and the dims in elements of a tensor of PyTorch, whose dims may be symbolic. Bytes are pairs
    where integers of four bits are wanted."""
    elem, shape = _elem(value.dtype, name), tuple(value.shape)
    if elem == "u8" and wanted in PAIRED:
        elem = wanted
    if shape and (elem == "f4e2m1" or elem in PAIRED):
        shape = (*shape[:-1], shape[-1] * 2)
    return elem, shape


def torch_type(elem: str, name: str) -> Any:
    """PyTorch's dtype of an element type, bytes for two integers of four bits, of the tensor `name`."""
    dtype = getattr(sys.modules["torch"], "uint8" if elem in PAIRED else _NAMES.get(elem, "?"), None)
    if dtype is None:
        raise Error(f"PyTorch has no {elem}: pass `{name}`")
    return dtype


def _of_torch(torch: Any, value: Any, name: str) -> View:
    if value.requires_grad and torch.is_grad_enabled():
        raise Error(f"`{name}` requires a gradient, and there is none: detach it, or call under torch.no_grad()")
    if value.is_conj():
        raise Error(f"`{name}` is a lazily conjugated view: call resolve_conj()")
    if value.is_neg():
        raise Error(f"`{name}` is a lazily negated view: call resolve_neg()")
    if value.layout is not torch.strided:
        raise Error(f"`{name}` is {value.layout}, it must be strided")
    elem, shape = torch_elements(value, name)
    strides = value.stride()
    if elem == "f4e2m1":
        strides = tuple(stride * 2 for stride in strides[:-1]) + tuple(strides[-1:])
    if value.device.type not in ("cpu", "cuda"):
        raise Error(f"`{name}` is on {value.device}, which is neither a CPU nor a GPU of CUDA")
    return View(value, "torch", elem, shape, strides, value.device.index if value.device.type == "cuda" else None)


def lazily_negated(torch: Any) -> Set[str]:
    """The element types that views which PyTorch negates lazily may have: imaginary parts of its complex numbers."""
    complex_types = [one for one in vars(torch).values() if isinstance(one, torch.dtype) and one.is_complex]
    return {_elem(one.to_real(), "imag") for one in complex_types}


def examples(torch: Any) -> List[Tuple[Any, int, bool, bool, int, bool]]:
    """Tensors, where each has its implementation, whether PyTorch negates it lazily, whether it requires a gradient,
    where its storage is, and whether it is a lazy copy. What asks PyTorch past its Python is tried on them."""
    dense = torch.zeros(2, 3, dtype=torch.float32, device="cpu")
    negated = torch.complex(dense, dense).conj().imag
    required = torch.zeros(2, 3, dtype=torch.float32, device="cpu", requires_grad=True)
    some = [dense, dense[:, 1:], dense[0].bfloat16(), negated, required, required.detach()]
    some += [torch.nn.Parameter(one, is_required) for one in (dense, negated) for is_required in (False, True)]
    some += [dense.to(one).t() for one in (torch.float16, torch.int32, torch.uint8)]
    some += [dense[:0], dense[1, 1], dense.bfloat16().view(1, 2, 1, 3, 1, 1)[:, 1:]]
    if hasattr(torch, "_lazy_clone") and hasattr(torch._C, "_is_cow_tensor"):
        some.append(torch._lazy_clone(dense.clone()))
    return [(one, one._cdata, one.is_neg(), one.requires_grad, *_storage(torch, one)) for one in some]


def _storage(torch: Any, value: Any) -> Tuple[int, bool]:
    """Where a tensor has its storage, and whether this is a lazy copy. A transformation's tensors have none, and of
    earlier PyTorch this is not known."""
    try:
        return value.untyped_storage()._cdata, torch._C._is_cow_tensor(value)
    except (AttributeError, NotImplementedError, RuntimeError):
        return 0, False


_elems: Dict[Any, str] = {}  #: by a framework's dtype, whose name takes longer to ask for


def _elem(dtype: Any, name: str) -> str:
    elem = _elems.get(dtype)
    if elem is None:
        word = str(dtype).rsplit(".", 1)[-1]
        elem = _elems[dtype] = ELEMS.get(word, "")
    if not elem:
        raise Error(f"`{name}` is {str(dtype).rsplit('.', 1)[-1]}, which no kernel takes")
    return elem


def _in_elements(value: Any, name: str) -> Tuple[int, ...]:
    size = value.itemsize if hasattr(value, "itemsize") else value.dtype.itemsize
    if any(stride % size for stride in value.strides):
        raise Error(f"strides of `{name}` are no whole elements")
    return tuple(stride // size for stride in value.strides)


def _strides_of_array(value: Array) -> Tuple[int, ...]:
    size, width = value.bits.itemsize, WIDTHS[value.type]
    strides = [stride // size * (8 // width if width == 4 else 1) for stride in value.bits.strides]
    if width == 6:
        strides = [stride * 8 // 6 for stride in value.bits.strides]
    if width < 8 and strides:
        strides[-1] = 1 if value.bits.strides[-1] == 1 else value.bits.strides[-1]
    return tuple(strides)


def bits_of(view: View) -> Any:
    """A NumPy array of the tensor's bits that shares its memory, of a tensor on the CPU."""
    import numpy

    if view.framework == "array":
        return view.value.bits
    if view.framework == "torch":
        torch = sys.modules["torch"]
        sizes = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
        width = max(WIDTHS[view.elem], 8)
        return view.value.detach().view(sizes[width]).numpy().view(bits_dtype(view.elem))
    value = view.value if view.framework == "numpy" else numpy.from_dlpack(view.value)
    if value.dtype == bool:
        return value.view("u1")
    return value.view(bits_dtype(view.elem))


def allocate(like: Optional[View], elem: str, shape: Tuple[int, ...], name: str) -> Any:
    """An uninitialised tensor of the framework and on the device of another one."""
    if like is not None and like.framework == "torch":
        torch = sys.modules["torch"]
        dtype = torch_type(elem, name)
        if WIDTHS[elem] == 4:
            shape = stored_shape(elem, shape)
        return torch.empty(shape, dtype=dtype, device=like.value.device)
    if like is not None and like.framework == "other":
        if type(like.value).__module__.split(".")[0] == "cupy" and elem in NATIVE:
            return sys.modules["cupy"].empty(shape, dtype=NATIVE[elem])
        raise Error(f"`{name}` cannot be allocated as {type(like.value).__module__} does: pass it")
    import numpy

    if elem in NATIVE:
        return numpy.empty(shape, dtype=NATIVE[elem])
    extension = sys.modules.get("ml_dtypes")
    if like is not None and like.framework == "numpy" and extension is not None and WIDTHS[elem] >= 8:
        return numpy.empty(shape, dtype=getattr(extension, _NAMES[elem]))
    return Array(numpy.empty(stored_shape(elem, shape), dtype=bits_dtype(elem)), elem)


def empty(elem: str, shape: Tuple[int, ...]) -> View:
    """On the CPU, of nobody."""
    import numpy

    bits = numpy.empty(stored_shape(elem, shape), dtype=bits_dtype(elem))
    return View(Array(bits, elem), "array", elem, shape, None, None)
