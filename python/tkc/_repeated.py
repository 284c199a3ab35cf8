# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The short way of calls like one that was made before: tensors of PyTorch on a GPU, of the same types and constants.

It is a function that is written for the kernel. What it leaves out, the launcher checks again: ranks, dims, types,
devices, strides, overlap. It checks what only Python sees. What it does not take, and what the launcher refuses, goes
the long way, which finds another function or the words for what is wrong.
"""

import keyword
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _devices
from ._signature import Parameter, Signature

#: What a call returns that has to go the long way.
LONG_WAY = object()


class _Open:
    """Of a parameter that a call does not pass."""


class Repeated:
    """Of one kernel."""

    def __init__(self, signature: Signature):
        self._signature = signature
        self._functions: Dict[Any, Tuple[Any, Sequence[Any]]] = {}
        #: Like the kernel itself; there once a call was remembered.
        self.call: Optional[Callable[..., Any]] = None

    def remember(self, values: Mapping[str, Any], function: Any, dtypes: Sequence[Any]) -> None:
        """After a call went the long way: its arguments by name, and the types that its outputs have, or would have."""
        if self.call is None:
            made = _Text(self._signature, with_device=_devices.count() > 1)
            if not made.is_possible:
                return
            self._key, self.call = made.compile(sys.modules["torch"], self._functions)
        self._functions[self._key(values)] = (function, dtypes)


class _Text:
    """Of the function. A parameter is called as in the kernel, everything else begins with `__tkc_`."""

    def __init__(self, signature: Signature, with_device: bool):
        self._signature = signature
        names = [one.name for one in signature.parameters]
        self.is_possible = not any(keyword.iskeyword(name) or name.startswith("__tkc_") for name in names)
        self._has_out = bool(signature.outputs) and "out" not in names
        self._key = self._parts_of_key(with_device)

    def _parts_of_key(self, with_device: bool) -> List[str]:
        """What decides which function runs: types, dims that have choices, the GPU, what is left out, constants."""
        signature, parts = self._signature, []
        inputs = [one for one in signature.inputs if one.is_tensor]
        for name in signature.types:
            parts += self._first([(one, "dtype") for one in inputs if one.type == name])
        for name in signature.choices:
            binds = [(one, dim) for one in inputs for dim, bind in enumerate(one.binds) if bind and bind[0] == name]
            parts += self._first([(one, f"shape[{dim}]") for one, dim in binds])
        if with_device:
            parts += self._first([(one, "device") for one in inputs])
        parts += [f"{one.name} is None" for one in inputs if one.is_optional]
        return parts + [one.name for one in signature.parameters if one.is_const]

    @staticmethod
    def _first(members: Sequence[Tuple[Parameter, str]]) -> List[str]:
        """Of the first tensor that is always there, with which the launcher compares the others; else of all."""
        always = [f"{one.name}.{member}" for one, member in members if not one.is_optional]
        return always[:1] or [f"{one.name} is not None and {one.name}.{member}" for one, member in members]

    def _outputs(self) -> List[str]:
        """The outputs that `out=` or keywords bring; the others are allocated."""
        outputs, lines = self._signature.outputs, []
        names = [one.name for one in outputs]
        if self._has_out:
            are_open = " and ".join(f"{name} is __tkc_open" for name in names)
            if len(names) > 1:
                are_open += " and __tkc_type(out) is __tkc_tuple"
            lines += [
                "if out is not None:",
                f"  if not ({are_open}): return __tkc_long_way",
                f"  {', '.join(names)} = out",
            ]
        tensors = [one.name for one in self._signature.inputs if one.is_tensor]
        try:
            shapes = self._signature.texts_of_shapes()
        except KeyError:  # a symbol that no input says
            shapes = []
        for at, one in enumerate(outputs):
            made = "return __tkc_long_way"
            if shapes and tensors:
                like = f"dtype=__tkc_dtypes[{at}], device={tensors[0]}.device"
                made = f"{one.name} = __tkc_empty({shapes[at]}, {like})"
            lines += [
                f"if {one.name} is __tkc_open: {made}",
                f"elif {self._is_unusual(one)}: return __tkc_long_way",
            ]
        return lines

    @staticmethod
    def _is_unusual(parameter: Parameter) -> str:
        """Whether it is no tensor, or not the one that its memory shows, or one whose gradient is asked for. Only
        complex numbers, which no kernel takes, are conjugated lazily."""
        name = parameter.name
        text = (
            f"(__tkc_type({name}) is not __tkc_tensor and __tkc_type({name}) is not __tkc_parameter) or {name}.is_neg()"
            f" or (__tkc_gradients and {name}.requires_grad)"
        )
        return f"({name} is not None and ({text}))" if parameter.is_optional else f"({text})"

    def _lines(self) -> List[str]:
        names = [one.name for one in self._signature.parameters]
        results = [one.name for one in self._signature.outputs]
        lines = ['if __tkc_asked() == "cpu": return __tkc_long_way', "__tkc_gradients = __tkc_has_gradients()"]
        for one in self._signature.inputs:
            if one.is_tensor:
                lines.append(f"if {self._is_unusual(one)}: return __tkc_long_way")
        lines.append(f"__tkc_function, __tkc_dtypes = __tkc_functions[{self._text_of_key()}]")
        lines += self._outputs()
        lines.append(f"__tkc_function({', '.join(names)})")
        if any(one.is_optional for one in self._signature.outputs):
            results = ["__tkc_present(" + ", ".join(results) + ")"]
        lines.append(f"return {', '.join(results) or None}")
        return lines

    def _text_of_key(self) -> str:
        return self._key[0] if len(self._key) == 1 else f"({''.join(one + ', ' for one in self._key)})"

    def _parameters(self, names: Dict[str, Any]) -> str:
        """As the kernel has them. What has no default is then refused: it is no tensor, and no number."""
        words = []
        for one in self._signature.inputs:
            default = None if one.is_optional else _Open
            if not one.is_tensor and one.default is not None:
                default = float(one.default) if isinstance(one.default, str) else one.default
            names[f"__tkc_default_{one.name}"] = default
            words.append(f"{one.name}=__tkc_default_{one.name}")
        outputs = [f"{one.name}=__tkc_open" for one in self._signature.outputs]
        if outputs:
            words += ["*", *outputs]
        if self._has_out:
            words.append("out=None")
        return ", ".join(words)

    def compile(
        self, torch: Any, functions: Dict[Any, Any]
    ) -> Tuple[Callable[[Mapping[str, Any]], Any], Callable[..., Any]]:
        """The key of a call's arguments by name, and the function."""
        names: Dict[str, Any] = {
            "__tkc_open": _Open, "__tkc_long_way": LONG_WAY, "__tkc_functions": functions, "__tkc_empty": torch.empty,
            "__tkc_tensor": torch.Tensor, "__tkc_parameter": torch.nn.Parameter, "__tkc_asked": _devices.asked,
            "__tkc_has_gradients": torch.is_grad_enabled, "__tkc_present": _present, "__tkc_type": type,
            "__tkc_tuple": tuple,
        }  # fmt: skip
        parameters = self._parameters(names)
        body = "".join(f"  {line}\n" for line in self._lines())
        exec(f"def __tkc_call({parameters}):\n{body}", names)
        key = compile(self._text_of_key(), "<key>", "eval")
        return (lambda values: eval(key, {}, dict(values))), names["__tkc_call"]


def _present(*outputs: Any) -> Any:
    results = tuple(one for one in outputs if one is not None)
    return results if len(results) > 1 else results[0] if results else None
