# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the arguments of a Python call to those of a kernel."""

import operator
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _tensors
from ._errors import Error
from ._signature import Parameter, Signature, evaluate
from ._tensors import View

_MISSING = object()


class Call:
    """A call's arguments by name, outputs that it does not pass left open."""

    def __init__(self, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any):
        self.signature = signature
        self.values = bind_arguments(signature, args, kwargs)
        self._take_outputs(out)
        self.views: Dict[str, View] = {}
        self.numbers: Dict[str, Any] = {}
        for parameter in signature.parameters:
            value = self.values.get(parameter.name, _MISSING)
            if parameter.is_tensor:
                self._take_tensor(parameter, value)
            else:
                self.numbers[parameter.name] = check_number(signature, parameter, self.values)

    def fail(self, text: str) -> Error:
        return Error(f"{self.signature.name}: {text}")

    def _take_outputs(self, out: Any) -> None:
        """`out=` is a tensor, a sequence of them in the order of the outputs, or a dict."""
        outputs = [one for one in self.signature.outputs if one.name not in self.values]
        if out is None:
            return
        if not isinstance(out, (tuple, list, dict)):
            out = (out,)
        if not isinstance(out, dict):
            if len(out) != len(outputs):
                raise self.fail(f"`out` has {len(out)} tensors, there are {len(outputs)} outputs")
            out = {one.name: value for one, value in zip(outputs, out)}
        for name, value in out.items():
            if name not in [one.name for one in outputs]:
                raise self.fail(f"`out` has `{name}`, which is no output that is open")
            self.values[name] = value

    def _take_tensor(self, parameter: Parameter, value: Any) -> None:
        if value is _MISSING and parameter.is_output:
            return  # it is allocated
        if value is None or value is _MISSING:
            if not parameter.is_optional:
                raise self.fail(f"`{parameter.name}` is {'missing' if value is _MISSING else 'null'}")
            self.values[parameter.name] = None
            return
        try:
            view = _tensors.seen_as(_tensors.view_of(value, parameter.name), parameter.type)
        except Error as error:
            raise self.fail(str(error)) from None
        if len(view.shape) != len(parameter.dims):
            raise self.fail(f"`{parameter.name}` has {len(view.shape)} dims, it needs {len(parameter.dims)}")
        self.views[parameter.name] = view

    def bind(self) -> Tuple[Dict[str, int], Dict[str, str]]:
        """Values of symbols and of type parameters."""
        shapes = {name: view.shape for name, view in self.views.items()}
        types = {name: view.elem for name, view in self.views.items()}
        return self.signature.bind_symbols(shapes), self.signature.bind_types(types)

    def constants(self, symbols: Mapping[str, int]) -> Dict[str, int]:
        """What is fixed when a specialisation is compiled, besides types."""
        values = {name: symbols[name] for name in self.signature.choices}
        for parameter in self.signature.parameters:
            if parameter.is_const:
                values[parameter.name] = self.numbers[parameter.name]
        return values

    def allocate(self, symbols: Mapping[str, int], types: Mapping[str, str]) -> None:
        """The outputs that are open, like the first tensor."""
        like = next(iter(self.views.values()), None)
        for parameter in self.signature.outputs:
            if parameter.name in self.values:
                continue
            shape = self.shape_of(parameter, symbols)
            elem = types.get(parameter.type, parameter.type)
            try:
                value = _tensors.allocate(like, "f32" if elem == "tf32" else elem, shape, parameter.name)
            except Error as error:
                raise self.fail(str(error)) from None
            self.values[parameter.name] = value
            self.views[parameter.name] = _tensors.seen_as(_tensors.view_of(value, parameter.name), parameter.type)

    def shape_of(self, parameter: Parameter, symbols: Mapping[str, int]) -> Tuple[int, ...]:
        values = {**symbols, **self.constants(symbols)}
        shape = tuple(evaluate(dim, values) for dim in parameter.dims)
        if min(shape, default=0) < 0:
            raise self.fail(f"`{parameter.name}` would have dims {list(shape)}")
        return shape

    def result(self) -> Any:
        """What the call returns: its outputs, those that were passed among them."""
        outputs = [self.values[one.name] for one in self.signature.outputs if self.values.get(one.name) is not None]
        return outputs[0] if len(outputs) == 1 else tuple(outputs) if outputs else None

    def check_memory(self) -> None:
        """What the launcher refuses of tensors in a GPU's memory, of those on the CPU."""
        bits: Dict[str, Any] = {}
        for parameter in self.signature.tensors:
            view = self.views.get(parameter.name)
            if view is None:
                continue
            if 0 not in view.shape:
                self._check_strides(parameter, view)
            bits[parameter.name] = _tensors.bits_of(view)
        self._check_overlap(bits)

    def _check_strides(self, parameter: Parameter, view: View) -> None:
        strides = view.strides or ()
        if strides and strides[-1] != 1 and view.shape[-1] > 1:
            raise self.fail(f"the last dim of `{parameter.name}` has stride {strides[-1]}, it must be contiguous")
        for dim, (size, stride) in enumerate(zip(view.shape, strides)):
            if parameter.mode != "in" and size > 1 and stride == 0:
                raise self.fail(f"`{parameter.name}` is written, and its elements along dim {dim} are one in memory")

    def _check_overlap(self, bits: Mapping[str, Any]) -> None:
        import numpy

        too_hard = getattr(numpy, "exceptions", numpy).TooHardError
        written = [one.name for one in self.signature.tensors if one.mode != "in" and one.name in bits]
        for at, name in enumerate(written):
            for other in bits:
                if other in written[: at + 1]:
                    continue
                if not numpy.may_share_memory(bits[name], bits[other]):
                    continue
                try:
                    shares = numpy.shares_memory(bits[name], bits[other], max_work=100000)
                except too_hard:
                    shares = True
                if shares:
                    raise self.fail(f"`{name}` is written and overlaps `{other}`")


def check_number(signature: Signature, parameter: Parameter, values: Mapping[str, Any]) -> Any:
    """Of a scalar or a constant the number that a call has, or the default."""
    value = values.get(parameter.name, parameter.default)
    if value is None:
        raise Error(f"{signature.name}: `{parameter.name}` is missing")
    is_float = parameter.type in signature.types or parameter.type.startswith(("f", "bf", "tf"))
    try:
        if parameter.type == "bool":
            return int(bool(value))
        result = float(value) if is_float else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        what = "a number" if is_float else "an integer"
        raise Error(f"{signature.name}: `{parameter.name}` is not {what}") from None
    bits = 64 if parameter.type == "i64" else 32
    if not is_float and not -(1 << (bits - 1)) <= result < 1 << (bits - 1):
        raise Error(f"{signature.name}: `{parameter.name}` is {result}, which has more than {bits} bits")
    return result


def bind_arguments(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Positional arguments are the parameters in order, outputs left out."""
    positional = signature.inputs
    if len(args) > len(positional):
        names: List[str] = [one.name for one in positional]
        raise Error(
            f"{signature.name}: it takes {len(names)} arguments ({', '.join(names)}), this call has {len(args)}"
        )
    values = {one.name: value for one, value in zip(positional, args)}
    known = {one.name for one in signature.parameters}
    for name, value in kwargs.items():
        if name not in known:
            import difflib

            near: Optional[str] = next(iter(difflib.get_close_matches(name, known, 1)), None)
            hint = f"; did you mean `{near}`?" if near else ""
            raise Error(f"{signature.name}: it has no parameter `{name}`{hint}")
        if name in values:
            raise given_twice(signature, name)
        values[name] = value
    return values


def given_twice(signature: Signature, name: str) -> Error:
    """By its position and by its name."""
    return Error(f"{signature.name}: `{name}` is given twice")
