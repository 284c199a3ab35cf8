# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of `torch.nn.functional` by kernels of the library, where these take the call.

The rotary embedding that models have themselves is replaced, too.

A replacement asks before it runs: types, dims, strides, whether a gradient is wanted. What a kernel does not take goes
to PyTorch's own function.
"""

import contextlib
import functools
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import torch
import torch.nn.functional as F

from . import _paths, _rotary, _tensors
from ._module import load
from ._operators import register
from ._signature import Signature, evaluate

#: PyTorch's own functions.
_OWN: Dict[str, Callable[..., Any]] = {
    name: getattr(F, name) for name in ("scaled_dot_product_attention", "rms_norm", "layer_norm", "cross_entropy")
}
_FILES = [_paths.library / name for name in ("attention.tk", "norms.tk", "cross_entropy.tk", "gemm.tk")]
_FILES.append(Path(__file__).with_suffix(".tk"))

#: Of Python modules with a rotary embedding that is replaced: their own function, and the replacement.
_embeddings: Dict[ModuleType, Tuple[Callable[..., Any], Callable[..., Any]]] = {}

#: A table that is never written to, which torch.compile would take for another one then.
_elems = {getattr(torch, name): elem for name, elem in _tensors.ELEMS.items() if hasattr(torch, name)}

#: Whose tensors are taken.
_devices = {"cuda"}

#: Signatures of the library's kernels and their operators by name, once something is patched. Not the kernels
#: themselves: torch.compile sees nothing of a `functools.partial` but what it calls.
_operators: Dict[str, Tuple[Signature, Any]] = {}


def _load() -> None:
    if not _operators:
        for file in _FILES:
            module = load(file)
            operators = register(module, name=file.stem.lstrip("_"))
            _operators.update(
                {one.signature.name: (one.signature, getattr(operators, one.signature.name)) for one in module}
            )


def _call(name: str, **arguments: Any) -> Optional[Tuple[Any, ...]]:
    """What the operator returns, as a tuple; None where it does not take the call."""
    signature, operator = _operators[name]
    if not _takes(signature, arguments):
        return None
    result = operator(**arguments)
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def _takes(signature: Signature, arguments: Dict[str, Any]) -> bool:
    """Whether a specialisation is for these tensors, and a gradient for those that want one."""
    shapes: Dict[str, Any] = {}
    types: Dict[str, str] = {}
    for parameter in signature.inputs:
        value = arguments.get(parameter.name)
        if not parameter.is_tensor or value is None:
            continue
        if value.dim() != len(parameter.dims) or not _is_plain(value):
            return False
        types[parameter.name] = _elems.get(value.dtype, "")
        shapes[parameter.name] = value.shape
    values = signature.values_of(shapes, types, arguments)
    fixed = [*signature.choices, *(one.name for one in signature.parameters if one.is_const)]
    for parameter in signature.inputs:
        if parameter.name not in shapes:
            continue
        if types[parameter.name] != values.get(parameter.type, parameter.type):
            return False
        if any(evaluate(dim, values) != size for dim, size in zip(parameter.dims, shapes[parameter.name])):
            return False
    if not signature.has({name: values[name] for name in signature.types}, {name: values[name] for name in fixed}):
        return False
    wanted = [name for name in shapes if arguments[name].requires_grad and torch.is_grad_enabled()]
    gradient = signature.gradient(values)
    computed = [one.value for one in gradient.arguments if one.is_gradient] if gradient else []
    return all(name in computed for name in wanted)


def _is_plain(value: Any) -> bool:
    """A tensor itself, of one device, with elements, whose last dim is contiguous."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
        return False
    has_dense_rows = value.stride(-1) == 1 or value.shape[-1] == 1
    return value.device.type in _devices and 0 not in value.shape and has_dense_rows


def _is_cast(value: Any) -> bool:
    """Whether PyTorch would compute norms and losses of it in f32, and return that."""
    return torch.is_autocast_enabled(value.device.type)


# ---- the functions -------------------------------------------------------------------------------------------------


def _scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """PyTorch lines the first query up with the first key, the kernel the last one with the last."""
    if attn_mask is None and dropout_p == 0 and query.dim() == key.dim() == 4:
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        has_own_heads = query.shape[1] == key.shape[1]
        is_meant = (has_own_heads or (enable_gqa and query.shape[1] % key.shape[1] == 0)) and factor > 0
        if is_meant and (not is_causal or query.shape[2] == key.shape[2]):
            result = _call("attn_fwd", q=query, k=key, v=value, scale=factor, causal=is_causal)
            if result is not None:
                return result[0]
    return _OWN["scaled_dot_product_attention"](
        query,
        key,
        value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def _rows(value: Any, normalized_shape: Any, *others: Any) -> Optional[Any]:
    """A tensor as rows, where it is normalised along its last dim; None where it is not, or something is missing."""
    if len(normalized_shape) != 1 or value.dim() < 1 or value.shape[-1] != normalized_shape[0]:
        return None
    if any(one is None for one in others) or not value.is_contiguous() or _is_cast(value):
        return None
    return value.view(-1, value.shape[-1])


def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Optional[float] = None) -> Any:
    rows = _rows(input, normalized_shape, weight, eps)
    if rows is not None:
        for name in ("rms_norm", "rms_norm_any"):
            result = _call(name, x=rows, weight=weight, eps=eps)
            if result is not None:
                return result[0].view(input.shape)
    return _OWN["rms_norm"](input, normalized_shape, weight, eps)


def _layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    rows = _rows(input, normalized_shape, weight, bias)
    if rows is not None:
        for name in ("layer_norm", "layer_norm_any"):
            result = _call(name, x=rows, weight=weight, bias=bias, eps=eps)
            if result is not None:
                return result[0].view(input.shape)
    return _OWN["layer_norm"](input, normalized_shape, weight, bias, eps)


def _cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The kernel ignores targets below 0, and PyTorch those of one number; others below 0 are errors there."""
    is_plain = weight is None and size_average is None and reduce is None and label_smoothing == 0
    if (
        is_plain
        and not _is_cast(input)
        and reduction in ("mean", "sum", "none")
        and input.dim() == 2
        and target.dim() == 1
    ):
        wanted = target if ignore_index < 0 else torch.where(target == ignore_index, -1, target)
        result = _call("cross_entropy", logits=input, target=wanted)
        if result is not None:
            loss = result[0]
            if reduction == "sum":
                loss = loss.sum()
            elif reduction == "mean":
                loss = loss.sum() / (wanted >= 0).sum()
            return loss.to(input.dtype)
    return _OWN["cross_entropy"](
        input, target, weight=weight, size_average=size_average, ignore_index=ignore_index, reduce=reduce,
        reduction=reduction, label_smoothing=label_smoothing,
    )  # fmt: skip


def _rotary_embedding(own: Callable[..., Any]) -> Callable[..., Any]:
    """What replaces a model's function, which `_rotary.turns_halves`."""

    @functools.wraps(own)
    def apply_rotary_pos_emb(q: Any, k: Any, cos: Any, sin: Any, *others: Any, **options: Any) -> Any:
        dim = _rotary.heads_dim(others, options)
        if dim is not None and q.dim() == k.dim() == 4:
            turned_q = _turn(q, cos, sin, dim)
            turned_k = None if turned_q is None else _turn(k, cos, sin, dim)
            if turned_k is not None:
                return turned_q, turned_k
        return own(q, k, cos, sin, *others, **options)

    return apply_rotary_pos_emb


def _turn(x: Any, cos: Any, sin: Any, dim: int) -> Optional[Any]:
    """By the kernel that writes its result in the order of x, as PyTorch does. One x for many tables is PyTorch's."""
    if cos.dim() != 3 or cos.shape[0] not in (1, x.shape[0]):
        return None
    tokens_are_rows = x.stride(dim) >= x.stride(3 - dim)
    is_as_called = (dim == 1) == tokens_are_rows
    rows = x if is_as_called else x.transpose(1, 2)
    name = "rotary_heads" if tokens_are_rows else "rotary_tokens"
    result = _call(name, x=rows, cosine=cos, sine=sin)
    if result is None:
        return None
    return result[0] if is_as_called else result[0].transpose(1, 2)


def _replace_embedding(module: ModuleType) -> None:
    own: Any = vars(module).get(_rotary.NAME)
    own = next((one for one, replacement in _embeddings.values() if replacement is own), own)  # imported when patched
    if module not in _embeddings and _rotary.turns_halves(own):
        _embeddings[module] = (own, _rotary_embedding(own))
        setattr(module, _rotary.NAME, _embeddings[module][1])


def _restore_embedding(module: ModuleType) -> None:
    """Unless somebody has put something else there."""
    own, replacement = _embeddings.pop(module)
    if vars(module).get(_rotary.NAME) is replacement:
        setattr(module, _rotary.NAME, own)


class _LinearWithActivation(torch.nn.Linear):
    """A linear layer that computes the activation behind it, too. Its parameters are those of the layer that it was."""

    tkc_kernel: str
    tkc_activation: Callable[[Any], Any]

    def forward(self, input: Any) -> Any:
        if input.is_contiguous():
            rows = input.view(-1, self.in_features)
            result = _call(self.tkc_kernel, x=rows, w=self.weight, bias=self.bias)
            if result is not None:
                return result[0].view(*input.shape[:-1], self.out_features)
        return self.tkc_activation(super().forward(input))


def _kernel_of(activation: Any) -> Optional[str]:
    if isinstance(activation, torch.nn.GELU) and activation.approximate == "none":
        return "linear_gelu"
    return "linear_silu" if isinstance(activation, torch.nn.SiLU) else None


def _fuse(model: Any) -> None:
    """Linear layers with the activation that follows in a `Sequential`. Names of parameters stay."""
    for sequence in [one for one in model.modules() if type(one) is torch.nn.Sequential]:
        for at in range(len(sequence) - 1):
            layer, activation = sequence[at], sequence[at + 1]
            name = _kernel_of(activation)
            if type(layer) is torch.nn.Linear and layer.bias is not None and name is not None:
                layer.__class__ = _LinearWithActivation
                layer.tkc_kernel, layer.tkc_activation = name, activation.forward
                sequence[at + 1] = torch.nn.Identity()


_REPLACEMENTS: Dict[str, Callable[..., Any]] = {
    "scaled_dot_product_attention": _scaled_dot_product_attention,
    "rms_norm": _rms_norm,
    "layer_norm": _layer_norm,
    "cross_entropy": _cross_entropy,
}


def patch(model: Any = None, on_cpu: bool = False) -> Any:
    """From here on functions of `torch.nn.functional` run the library's kernels where these take the call.

    The functions are scaled_dot_product_attention, rms_norm, layer_norm and cross_entropy, which layers of `torch.nn`
    call. Of a model, linear layers of a `Sequential` become one with a GELU or SiLU that follows. The function
    `apply_rotary_pos_emb` of the Python modules of its layers is replaced, if it turns halves. Returns `model`.

    A call goes to PyTorch's own function where no kernel takes it: with types, masks, dropout or row lengths that no
    kernel has, where a gradient is wanted that no file declares, and on the CPU. With `on_cpu=True` tensors on the CPU
    are taken, too: the interpreter is slow, and for tests. `patch` is for the whole process; `patched` is for a while.
    """
    _devices.update(["cpu"] if on_cpu else [])
    _load()
    for name, replacement in _REPLACEMENTS.items():
        setattr(F, name, replacement)
    if model is not None:
        _fuse(model)
        for module in _rotary.modules_of(model):
            _replace_embedding(module)
    return model


def unpatch() -> None:
    """PyTorch's and models' own functions again. Layers that became one stay so, and compute the same."""
    _devices.discard("cpu")
    for module in list(_embeddings):
        _restore_embedding(module)
    for name, own in _OWN.items():
        setattr(F, name, own)


@contextlib.contextmanager
def patched(on_cpu: bool = False) -> Iterator[None]:
    """`with tkc.torch.patched():` is `patch()` for the calls in it, of all threads."""
    before, devices = {name: getattr(F, name) for name in _OWN}, set(_devices)
    embeddings = list(_embeddings)
    patch(on_cpu=on_cpu)
    try:
        yield
    finally:
        _devices.intersection_update(devices)
        for name, function in before.items():
            setattr(F, name, function)
        for module in [one for one in _embeddings if one not in embeddings]:
            _restore_embedding(module)
        for module in embeddings:
            _replace_embedding(module)
