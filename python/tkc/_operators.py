# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of PyTorch. `tkc.torch` has what users call."""

import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from . import _devices, _tensors
from ._elements import WIDTHS
from ._errors import Error
from ._kernel import Kernel
from ._module import Module, load
from ._signature import Gradient, Parameter, Signature, evaluate

_SCALARS = {"bool": "bool", "i64": "int", "i32": "int", "i8": "int", "u8": "int"}


def register(source: Union[str, "os.PathLike[str]", Module], name: Optional[str] = None) -> Any:
    """Makes operators of a .tk file's kernels and programs: `torch.ops.tkc_NAME.KERNEL`. Returns `torch.ops.tkc_NAME`.

    `source` is what `tkc.load` takes, or what it returned. `name` is the file's, without `.tk`, if not said; a text
    needs one. What computes gradients is an operator of the same namespace, also where another file declares it.
    Registering the same contents again changes nothing; other contents under the same name are a `tkc.Error`.

    An operator takes the kernel's parameters in order, without the outputs, and returns the outputs: new, dense tensors
    of the declared shapes, optional ones too. `inout` tensors are changed in place, which PyTorch is told. Tensors are
    taken with their strides. Those on a GPU run there, those on the CPU on the interpreter.
    """
    if isinstance(source, (str, os.PathLike)):
        is_text = isinstance(source, str) and ("\n" in source or "{" in source)
        if is_text and name is None:
            raise Error("operators of a text need a name: register(text, name=...)")
        name = name or Path(source).stem
        source = load(source)
    elif name is None:
        name = Path(source.file).stem
    namespace = "tkc_" + re.sub(r"\W", "_", name)
    known = _namespaces.get(namespace)
    if known is None:
        _namespaces[namespace] = _Namespace(namespace, source)
    elif known.module.contents != source.contents:
        raise Error(f"torch.ops.{namespace} has the operators of `{known.module.file}`: give these another name")
    return getattr(torch.ops, namespace)


class _Namespace:
    """The operators of one file, which live as long as the process."""

    def __init__(self, name: str, module: Module):
        self.name, self.module = name, module
        self._library = torch.library.Library(name, "DEF")
        self._operators: Dict[str, "_Operator"] = {}
        for kernel in module:
            self.operator(kernel)

    def operator(self, kernel: Kernel) -> "_Operator":
        found = self._operators.get(kernel.signature.name)
        if found is None:
            found = self._operators[kernel.signature.name] = _Operator(self, kernel, self._library)
        return found


_namespaces: Dict[str, _Namespace] = {}


def _schema(signature: Signature) -> str:
    """As `torch.library` writes it. Defaults are left to those behind the last parameter that has none."""
    words: List[str] = []
    may_have_default = True
    for one in reversed(signature.inputs):
        default = _default_of(one)
        may_have_default &= default is not None
        words.insert(0, f"{_type_of(signature, one)} {one.name}" + (f"={default}" if may_have_default else ""))
    results = ", ".join("Tensor" for _ in signature.outputs)
    return f"{signature.name}({', '.join(words)}) -> " + (results if len(signature.outputs) == 1 else f"({results})")


def _type_of(signature: Signature, parameter: Parameter) -> str:
    if parameter.is_tensor:
        mark = f"({_letter(signature, parameter)}!)" if parameter.mode == "inout" else ""
        return f"Tensor{mark}" + ("?" if parameter.is_optional else "")
    types = signature.types.get(parameter.type, [parameter.type])
    return "float" if any(one not in _SCALARS for one in types) else _SCALARS[types[0]]


def _letter(signature: Signature, parameter: Parameter) -> str:
    changed = [one.name for one in signature.inputs if one.mode == "inout"]
    return f"a{changed.index(parameter.name)}"


def _default_of(parameter: Parameter) -> Optional[str]:
    if parameter.is_tensor:
        return "None" if parameter.is_optional else None
    if parameter.default is None or isinstance(parameter.default, str):
        return None  # schemas have no infinities
    return str(bool(parameter.default)) if parameter.type == "bool" else repr(parameter.default)


class _Operator:
    """Of one kernel: what PyTorch calls to run it, to know its results' shapes, and to differentiate it."""

    def __init__(self, namespace: _Namespace, kernel: Kernel, library: Any):
        self._namespace, self.kernel = namespace, kernel
        self.signature = kernel.signature
        name = self.signature.name
        tags = [torch.Tag.needs_exact_strides] if hasattr(torch.Tag, "needs_exact_strides") else []
        library.define(_schema(self.signature), tags=tags)
        library.impl(name, self._on_gpu, "CUDA")
        library.impl(name, self._on_cpu, "CPU")
        self.op = getattr(getattr(torch.ops, namespace.name), name).default
        torch.library.register_fake(f"{namespace.name}::{name}", self._fake, lib=library)
        if self.signature.gradients:
            torch.library.register_autograd(
                f"{namespace.name}::{name}", self._backward, setup_context=self._remember, lib=library
            )
            for gradient in self.signature.gradients:
                namespace.operator(kernel.backward(gradient))
        else:
            library.impl(name, self._without_gradient, "Autograd", with_keyset=False)

    # ---- forward ---------------------------------------------------------------------------------------------------

    def _on_gpu(self, *args: Any) -> Any:
        return self.kernel(*args)

    def _on_cpu(self, *args: Any) -> Any:
        with _devices.device("cpu"):
            return self._on_gpu(*args)

    def _fake(self, *args: Any) -> Any:
        """Tensors like the results, whose elements nobody knows."""
        named = self._by_name(args)
        values = self._values(named)
        like = next(one for one in named.values() if isinstance(one, torch.Tensor))
        results = tuple(self._empty(one, values, like) for one in self.signature.outputs)
        return results[0] if len(results) == 1 else results or None

    @staticmethod
    def _empty(parameter: Parameter, values: Mapping[str, Any], like: Any) -> Any:
        elem = values.get(parameter.type, parameter.type)
        shape = tuple(evaluate(dim, values) for dim in parameter.dims)
        if WIDTHS[elem] == 4:
            shape = (*shape[:-1], shape[-1] // 2)
        return like.new_empty(shape, dtype=_tensors.torch_type(elem, parameter.name))

    def _by_name(self, args: Sequence[Any]) -> Dict[str, Any]:
        """The arguments, with those that the dispatcher leaves out because they are the defaults."""
        inputs = self.signature.inputs
        named = {one.name: one.default for one in inputs}
        named.update({one.name: value for one, value in zip(inputs, args)})
        return named

    def _values(self, named: Mapping[str, Any]) -> Dict[str, Any]:
        """Dims, which may be symbolic, types and constants of a call by their names."""
        shapes, types = {}, {}
        for parameter in self.signature.inputs:
            value = named[parameter.name]
            if not parameter.is_tensor or value is None:
                continue
            types[parameter.name], shapes[parameter.name] = _tensors.torch_elements(
                value, parameter.name, parameter.type
            )
            if len(shapes[parameter.name]) != len(parameter.dims):
                words = f"`{parameter.name}` has {value.dim()} dims, it needs {len(parameter.dims)}"
                raise Error(f"{self.signature.name}: {words}")
        return self.signature.values_of(shapes, types, named)

    # ---- backward --------------------------------------------------------------------------------------------------

    def _without_gradient(self, *args: Any) -> Any:
        for parameter, value in zip(self.signature.inputs, args):
            if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
                raise self._has_none(parameter.name)
        with torch._C._AutoDispatchBelowAutograd():
            return self.op(*args)

    def _has_none(self, name: str) -> Error:
        hint = "detach it, or call under torch.no_grad()"
        return Error(f"{self.signature.name}: `{name}` requires a gradient, and there is none: {hint}")

    def _remember(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """What the backward pass needs, and which one it is."""
        named = self._by_name(inputs)
        gradient = self.signature.gradient(self._values(named))
        computed = {one.value for one in gradient.arguments if one.is_gradient} if gradient else set()
        for parameter, is_needed in zip(self.signature.inputs, ctx.needs_input_grad):
            if is_needed and parameter.name not in computed:
                raise self._has_none(parameter.name)
        assert gradient
        outputs = [output] if isinstance(output, torch.Tensor) else output
        results = {one.name: value for one, value in zip(self.signature.outputs, outputs)}
        ctx.set_materialize_grads(False)  # most outputs are kept for this pass alone: no zeros for them
        # Of what nothing takes the gradient, autograd would lose it without a word.
        ctx.mark_non_differentiable(*[value for name, value in results.items() if name not in computed])
        named.update(results)
        kept = [one.value for one in gradient.arguments if not one.is_gradient]
        tensors = [name for name in kept if isinstance(named[name], torch.Tensor)]
        ctx.save_for_backward(*[named[name] for name in tensors])
        ctx.tkc = (gradient, tensors, {name: named[name] for name in kept if name not in tensors})
        ctx.tkc_shapes = {
            name: (value.shape, value.dtype) for name, value in named.items() if isinstance(value, torch.Tensor)
        }

    def _backward(self, ctx: Any, *upstream: Any) -> Tuple[Any, ...]:
        gradient, tensors, values = ctx.tkc
        values = {**values, **dict(zip(tensors, ctx.saved_tensors))}
        brought = {one.name: value for one, value in zip(self.signature.outputs, upstream)}
        operator = self._namespace.operator(self.kernel.backward(gradient))
        found = operator.gradients(gradient, values, brought, ctx.tkc_shapes)
        return tuple(
            found[one.name].to(ctx.tkc_shapes[one.name][1]) if is_needed else None
            for one, is_needed in zip(self.signature.inputs, ctx.needs_input_grad)
        )

    def gradients(
        self, gradient: Gradient, values: Mapping[str, Any], brought: Mapping[str, Any], shapes: Mapping[str, Any]
    ) -> Dict[str, Any]:
        """This operator called as a gradient of another one says: its results by the inputs of that one."""
        of = {one.parameter: one for one in gradient.arguments}
        like = next(one for one in brought.values() if one is not None)
        named: Dict[str, Any] = {}
        for parameter in self.signature.inputs:
            one = of.get(parameter.name)
            if one is None:
                named[parameter.name] = parameter.default
            elif parameter.mode == "inout":
                shape, dtype = shapes[one.value]
                if parameter.type not in self.signature.types:  # f32 perhaps, of a narrower input
                    dtype = _tensors.torch_type(parameter.type, parameter.name)
                named[parameter.name] = like.new_zeros(shape, dtype=dtype)
            elif one.is_gradient:
                shape, dtype = shapes[one.value]
                value = brought[one.value]
                named[parameter.name] = like.new_zeros(shape, dtype=dtype) if value is None else _with_dense_rows(value)
            else:
                named[parameter.name] = values[one.value]
        results = self.op(*named.values())
        results = (results,) if isinstance(results, torch.Tensor) else results or ()
        named.update({one.name: value for one, value in zip(self.signature.outputs, results)})
        return {
            one.value: named[one.parameter]
            for one in gradient.arguments
            if one.is_gradient and one.value not in brought
        }


def _with_dense_rows(value: Any) -> Any:
    """Gradients of sums are expanded scalars, whose last dim has stride 0."""
    return value if value.dim() == 0 or value.stride(-1) == 1 else value.contiguous()
