# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as functions of JAX, which `jit` compiles and `grad` differentiates as the file says.

import tkc.jax
attention = tkc.jax.function(tkc.load(tkc.library / "attention.tk").attn_fwd)
o, lse = jax.jit(lambda q, k, v: attention(q, k, v, 0.125, causal=True))(q, k, v)
"""

import ctypes
import itertools
from typing import Any, Callable, Dict, Mapping, Sequence, Tuple

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np
import tvm_ffi
from jax.custom_derivatives import SymbolicZero

from . import _tensors
from ._call import bind_arguments, check_number
from ._elements import Array, bits_dtype
from ._errors import Error
from ._kernel import Kernel
from ._signature import Argument, Gradient, evaluate

__all__ = ["function"]


def function(kernel: Kernel) -> Callable[..., Any]:
    """A kernel or program as a function of JAX's arrays.

    It takes the parameters in order, without the outputs, and returns the tensors that the kernel writes: new arrays,
    one or a tuple, in the order of the declaration. An `inout` tensor is among them, and the array that was passed
    stays as it was. Numbers are Python's, known when the function is traced; `NAME=None` leaves an optional tensor out.

    Arrays on a GPU run there, those on the CPU on the interpreter. What the kernel does not take is a `tkc.Error` when
    traced, or what JAX makes of one when it runs. The file's gradients are used; an input that wants a gradient that
    nothing computes, or an output whose gradient nothing takes, is an error.
    """
    return _Function(kernel)


class _Function:
    def __init__(self, kernel: Kernel):
        self.kernel, self.signature = kernel, kernel.signature
        self.__name__, self.__doc__ = kernel.__name__, kernel.__doc__
        self.written = [one for one in self.signature.tensors if one.mode != "in"]
        self._traced: Dict[Any, Callable[..., Tuple[Any, ...]]] = {}
        self._backward: Dict[Tuple[str, str], "_Function"] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = bind_arguments(self.signature, args, kwargs)
        for one in self.signature.outputs:
            if one.name in given:
                raise self._fail(f"`{one.name}` is an output, which is a new array")
        numbers, tensors = {}, {}
        for parameter in self.signature.inputs:
            value = given.get(parameter.name)
            if not parameter.is_tensor:
                numbers[parameter.name] = check_number(self.signature, parameter, given)
            elif value is not None:
                tensors[parameter.name] = jnp.asarray(value)
            elif not parameter.is_optional:
                raise self._fail(f"`{parameter.name}` is missing")
        results = self._function(tuple(tensors), numbers)(*tensors.values())
        return results[0] if len(results) == 1 else results

    def _fail(self, text: str) -> Error:
        return Error(f"{self.signature.name}: {text}")

    def _function(self, names: Tuple[str, ...], numbers: Mapping[str, Any]) -> Callable[..., Tuple[Any, ...]]:
        """Of the tensors that a call has, in order; what else it has is fixed."""
        key = (names, tuple(numbers.items()))
        found = self._traced.get(key)
        if found is None:
            found = _Traced(self, names, dict(numbers)).function
            self._traced[key] = found
        return found

    def values(self, tensors: Mapping[str, Any], numbers: Mapping[str, Any]) -> Dict[str, Any]:
        """Dims, types and constants of a call by their names. Refuses ranks, types and dims that do not agree."""
        types = {name: _elem(value, name) for name, value in tensors.items()}
        shapes = {name: value.shape for name, value in tensors.items()}
        for one in self.signature.inputs:
            if one.name in shapes and len(shapes[one.name]) != len(one.dims):
                raise self._fail(f"`{one.name}` has {len(shapes[one.name])} dims, it needs {len(one.dims)}")
        values = self.signature.values_of(shapes, types, numbers)
        for one in self.signature.inputs:
            if one.name not in shapes:
                continue
            wanted = _stored(values.get(one.type, one.type))
            if types[one.name] != wanted:
                raise self._fail(f"`{one.name}` is {types[one.name]}, it must be {wanted}")
            for dim, (text, size) in enumerate(zip(one.dims, shapes[one.name])):
                if evaluate(text, values) != size:
                    words = f"`{one.shape[dim]}` is {evaluate(text, values)} here"
                    raise self._fail(f"dim {dim} of `{one.name}` is {size}, but {words}")
        return values

    def backward(self, gradient: Gradient) -> "_Function":
        """What computes a gradient. It is made once, as each function registers targets of its own."""
        key = (gradient.file, gradient.backward)
        if key not in self._backward:
            self._backward[key] = _Function(self.kernel.backward(gradient))
        return self._backward[key]


def _elem(value: Any, name: str) -> str:
    elem = _tensors.ELEMS.get(str(value.dtype))
    if elem is None:
        raise Error(f"`{name}` is {value.dtype}, which no kernel takes")
    return elem


def _stored(elem: str) -> str:
    return "f32" if elem == "tf32" else elem


def _dtype(elem: str, name: str) -> Any:
    dtype = jnp.dtype(_tensors.name_of(elem))
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise Error(f"`{name}` is {elem}, which JAX has with jax_enable_x64 only")
    return dtype


_numbers = itertools.count()


class _Traced:
    """Calls with the same numbers, and the same tensors left out."""

    def __init__(self, function: _Function, names: Tuple[str, ...], numbers: Dict[str, Any]):
        self._of, self._names, self._numbers = function, names, numbers
        self._target = f"tkc_{function.signature.name}_{next(_numbers)}"
        for platform, call in (("cpu", self._on_cpu), ("gpu", self._on_gpu)):
            jax_tvm_ffi.register_ffi_target(
                self._target, tvm_ffi.convert(call), ["args", "rets"], platform=platform, pass_owned_tensor=True
            )
        self.function: Callable[..., Tuple[Any, ...]] = self._forward
        if function.signature.gradients:
            self.function = jax.custom_vjp(self._forward)
            self.function.defvjp(self._remember, self._backward, symbolic_zeros=True)  # type: ignore[attr-defined]

    # ---- forward ---------------------------------------------------------------------------------------------------

    def _forward(self, *tensors: Any) -> Tuple[Any, ...]:
        values = self._of.values(dict(zip(self._names, tensors)), self._numbers)
        results, aliases = [], {}
        for at, one in enumerate(self._of.written):
            elem = _stored(values.get(one.type, one.type))
            shape = tuple(evaluate(dim, values) for dim in one.dims)
            results.append(jax.ShapeDtypeStruct(shape, _dtype(elem, one.name)))
            if one.mode == "inout":
                aliases[self._names.index(one.name)] = at
        call = jax.ffi.ffi_call(self._target, results, input_output_aliases=aliases, vmap_method="sequential")
        return tuple(call(*tensors))

    def _arguments(self, tensors: Sequence[Any]) -> Dict[str, Any]:
        """By name. An `inout` tensor is the result: XLA has copied what was passed, unless nobody needs it."""
        named = dict(zip(self._names, tensors))
        named.update(zip([one.name for one in self._of.written], tensors[len(self._names) :]))
        return {**named, **self._numbers}

    def _on_gpu(self, *tensors: Any) -> None:
        self._of.kernel(**self._arguments(tensors))

    def _on_cpu(self, *tensors: Any) -> None:
        self._of.kernel(**self._arguments([_in_memory(one) for one in tensors]), device="cpu")

    # ---- backward --------------------------------------------------------------------------------------------------

    def _gradient(self, tensors: Mapping[str, Any]) -> Gradient:
        found = self._of.signature.gradient(self._of.values(tensors, self._numbers))
        if found is None:
            raise self._of._fail("the file declares no gradient of such a call")
        return found

    def _remember(self, *tensors: Any) -> Tuple[Any, Any]:
        named = {name: one.value for name, one in zip(self._names, tensors)}
        computed = {one.value for one in self._gradient(named).arguments if one.is_gradient}
        for name, one in zip(self._names, tensors):
            if one.perturbed and name not in computed:
                raise self._of._fail(
                    f"the gradient of `{name}` is wanted, and there is none: call jax.lax.stop_gradient"
                )
        results = self._forward(*named.values())
        return results, (tuple(named.values()), results)

    def _backward(self, kept: Any, upstream: Sequence[Any]) -> Tuple[Any, ...]:
        tensors = dict(zip(self._names, kept[0]))
        gradient = self._gradient(tensors)
        results = {one.name: value for one, value in zip(self._of.written, kept[1])}
        brought = {one.name: value for one, value in zip(self._of.written, upstream)}
        taken = {one.value for one in gradient.arguments if one.is_gradient}
        for name, value in brought.items():
            if name not in taken and not isinstance(value, SymbolicZero):
                raise self._of._fail(f"the gradient of `{name}` is wanted, and nothing takes it")
        values = {**self._numbers, **tensors, **results}
        found = _gradients(self._of.backward(gradient), gradient.arguments, values, brought)
        return tuple(found[name].astype(value.dtype) if name in found else None for name, value in tensors.items())


def _gradients(
    backward: _Function, arguments: Sequence[Argument], values: Mapping[str, Any], brought: Mapping[str, Any]
) -> Dict[str, Any]:
    """The backward kernel, called as a gradient says: its results by the inputs that they are gradients of."""
    modes = {one.name: one for one in backward.signature.parameters}
    given: Dict[str, Any] = {}
    for one in arguments:
        parameter = modes[one.parameter]
        if parameter.mode == "inout":
            elem = _stored(parameter.type) if parameter.type not in backward.signature.types else ""
            dtype = _dtype(elem, one.parameter) if elem else values[one.value].dtype
            given[one.parameter] = jnp.zeros(values[one.value].shape, dtype)
        elif parameter.mode == "in":
            value = brought[one.value] if one.is_gradient else values.get(one.value)
            if isinstance(value, SymbolicZero):
                value = jnp.zeros(value.aval.shape, value.aval.dtype)
            given[one.parameter] = value
    results = backward(**given)
    results = results if isinstance(results, tuple) else (results,)
    named = {one.name: value for one, value in zip(backward.written, results)}
    return {one.value: named[one.parameter] for one in arguments if one.parameter in named}


def _in_memory(tensor: Any) -> Array:
    """A tensor of the CPU as bits that share its memory; NumPy has not all of its types."""
    elem = _elem(tensor, "?")
    dtype = bits_dtype(elem)
    shape = tuple(tensor.shape)
    count = int(np.prod(shape, dtype="int64"))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data_ptr()) if count else b""
    return Array(np.frombuffer(memory, dtype=dtype).reshape(shape), elem)
