# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The short way of calls like one that was made before: tensors of PyTorch on a GPU, of the same types and constants.

What it leaves out, the launcher checks again: ranks, dims, types, devices, strides, overlap. It checks what only Python
sees. What it does not take, and what the launcher refuses, goes the long way, which finds another function or the words
for what is wrong.

It is a method that is written for the kernel, and where it can be compiled (_native.py), an object in C++ before it,
which takes what calls usually are.
"""

import keyword
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from . import _devices, _native, _tensors
from ._call import given_twice
from ._signature import Parameter, Signature


class Open:
    """Of a parameter that a call does not pass."""


class LongWay(Exception):
    """Of a call that has to go it."""


class Part(NamedTuple):
    """One of what decides which function runs."""

    what: str  #: "type", "dim" or "gpu" of a tensor, whether it is "none", or a constant's "value"
    parameter: Parameter
    dim: int = 0

    def __str__(self) -> str:
        """As an expression of Python."""
        name = self.parameter.name
        if self.what == "value":
            return name
        if self.what == "none":
            return f"{name} is None"
        member = {"type": "dtype", "dim": f"shape[{self.dim}]", "gpu": "device"}[self.what]
        return f"{name} is not None and {name}.{member}" if self.parameter.is_optional else f"{name}.{member}"


def _parts_of_key(signature: Signature) -> List[Part]:
    """Types, dims that have choices, the GPU where there are several, what is left out, constants."""
    parts: List[Part] = []
    inputs = [one for one in signature.inputs if one.is_tensor]
    for name in signature.types:
        parts += _first([Part("type", one) for one in inputs if one.type == name])
    for name in signature.choices:
        parts += _first(
            [Part("dim", one, dim) for one in inputs for dim, bind in enumerate(one.binds) if bind and bind[0] == name]
        )
    if _devices.count() > 1:
        parts += _first([Part("gpu", one) for one in inputs])
    parts += [Part("none", one) for one in inputs if one.is_optional]
    return parts + [Part("value", one) for one in signature.parameters if one.is_const]


def _first(parts: List[Part]) -> List[Part]:
    """Of the first tensor that is always there, with which the launcher compares the others; else of all."""
    return [one for one in parts if not one.parameter.is_optional][:1] or parts


class Repeated:
    """Of one kernel."""

    def __init__(self, signature: Signature, long_way: Callable[..., Any]):
        self._signature, self._long_way = signature, long_way
        self._functions: Dict[Any, Tuple[Any, Sequence[Any]]] = {}
        self._native: Any = None
        #: What serves a call; there once one was remembered.
        self.method: Optional[Callable[..., Any]] = None

    def remember(self, values: Mapping[str, Any], function: Any, dtypes: List[Any]) -> None:
        """After a call went the long way: its arguments by name, and the types that its outputs have, or would have."""
        if self.method is None:
            torch = sys.modules["torch"]
            made = _Text(self._signature, _tensors.lazily_negated(torch))
            if not made.is_possible:
                return
            self._key, self.method = made.compile(torch, self._functions, self._long_way)
            self._native = made.native(torch, self.method)
            self.method = self._native or self.method
        self._functions[self._key(values)] = (function, dtypes)
        if self._native is not None:
            ordered = tuple(values.get(one.name) for one in (*self._signature.inputs, *self._signature.outputs))
            self._native.remember(ordered, function, function.__chandle__(), dtypes)


class _Text:
    """Of the method. A parameter is called as in the kernel, everything else begins with `__tkc_`.

    Each input has two names, one for its position and its own, so that any call can be told from any other: nothing is
    left to Python to refuse. An output that is used is called `__tkc_NAME`, as NAME is what the call passes.
    """

    def __init__(self, signature: Signature, lazily_negated: Set[str]):
        self._signature = signature
        names = [one.name for one in signature.parameters]
        self.is_possible = not any(keyword.iskeyword(name) or name.startswith("__tkc_") for name in names)
        self._ordered = (*signature.inputs, *signature.outputs)
        self._names = [one.name for one in self._ordered]
        self._has_out = bool(signature.outputs) and "out" not in names
        if self._has_out:
            self._names.append("out")
        self._lazily_negated = lazily_negated
        self._key = _parts_of_key(signature)

    def _used(self, parameter: Parameter) -> str:
        return f"__tkc_{parameter.name}" if parameter.is_output else parameter.name

    def _inputs(self) -> List[str]:
        """Each by its name, whichever way the call passes it."""
        lines = []
        for at, one in enumerate(self._signature.inputs):
            default = "" if one.default is None and not one.is_optional else f"__tkc_default_{one.name}"
            other = f"__tkc_at_{at} if __tkc_at_{at} is not __tkc_open else {default}" if default else f"__tkc_at_{at}"
            lines += [
                f"if {one.name} is __tkc_open: {one.name} = {other}",
                f"elif __tkc_at_{at} is not __tkc_open: raise __tkc_twice({one.name!r})",
            ]
        return lines

    def _outputs(self) -> List[str]:
        """The outputs that `out=` or keywords bring; the others are allocated."""
        outputs, lines = self._signature.outputs, []
        names = [one.name for one in outputs]
        used = [self._used(one) for one in outputs]
        if self._has_out:
            are_open = " and ".join(f"{name} is __tkc_open" for name in names)
            if len(names) > 1:
                are_open += " and __tkc_type(out) is __tkc_tuple"
            lines += [
                "if out is not __tkc_open and out is not None:",
                f"  if not ({are_open}): raise __tkc_long_way",
                f"  {', '.join(used)} = out",
                "else:",
                f"  {', '.join(used)} = {', '.join(names)}",
            ]
        elif outputs:
            lines.append(f"{', '.join(used)} = {', '.join(names)}")
        tensors = [one.name for one in self._signature.inputs if one.is_tensor]
        try:
            shapes = self._signature.texts_of_shapes()
        except KeyError:  # a symbol that no input says
            shapes = []
        for at, one in enumerate(outputs):
            lines.append(f"if {used[at]} is __tkc_open:")
            if shapes and tensors:
                like = f"dtype=__tkc_dtypes[{at}], device={tensors[0]}.device"
                lines += ["  " + line for line in self._allocated(used[at], shapes[at], like)]
            else:
                lines.append("  raise __tkc_long_way")
            lines.append(f"elif {self._is_unusual(one)}: raise __tkc_long_way")
        return lines

    @staticmethod
    def _allocated(name: str, shape: Sequence[str], like: str) -> List[str]:
        """A dense tensor. PyTorch takes half the time for one whose strides it is told."""
        dims = [f"__tkc_dim_{at}" for at in range(len(shape))]
        strides = [" * ".join(f"({dim} or 1)" for dim in dims[at + 1 :]) or "1" for at in range(len(shape))]
        sizes, steps = ("(" + "".join(one + ", " for one in of) + ")" for of in (dims, strides))
        return [
            *(f"{dim} = {text}" for dim, text in zip(dims, shape)),
            f"{name} = __tkc_empty({sizes}, {steps}, {like})",
        ]

    def _is_unusual(self, parameter: Parameter) -> str:
        """Whether it is no tensor, or not the one that its memory shows, or one whose gradient is asked for. Only
        complex numbers, which no kernel takes, are conjugated lazily."""
        name = self._used(parameter)
        text = f"(__tkc_type({name}) is not __tkc_tensor and __tkc_type({name}) is not __tkc_parameter)"
        if self._may_be_negated(parameter):
            text += f" or {name}.is_neg()"
        text += f" or (__tkc_gradients and {name}.requires_grad)"
        return f"({name} is not None and ({text}))" if parameter.is_optional else f"({text})"

    def _may_be_negated(self, parameter: Parameter) -> bool:
        types_of = self._signature.types.get(parameter.type, [parameter.type])
        return bool(self._lazily_negated.intersection(types_of))

    def _checked(self) -> List[str]:
        """The call, or LongWay, or whatever goes wrong."""
        lines = ['if __tkc_asked() == "cpu": raise __tkc_long_way', "__tkc_gradients = __tkc_has_gradients()"]
        for one in self._signature.inputs:
            if one.is_tensor:
                lines.append(f"if {self._is_unusual(one)}: raise __tkc_long_way")
        lines.append(f"__tkc_function, __tkc_dtypes = __tkc_functions[{self._text_of_key()}]")
        lines += self._outputs()
        lines.append(f"__tkc_function({', '.join(map(self._used, self._signature.parameters))})")
        results = [self._used(one) for one in self._signature.outputs]
        if any(one.is_optional for one in self._signature.outputs):
            results = ["__tkc_present(" + ", ".join(results) + ")"]
        lines.append(f"return {', '.join(results) or None}")
        return lines

    def _lines(self) -> List[str]:
        at = "".join(f"__tkc_at_{index}=__tkc_open, " for index in range(len(self._signature.inputs)))
        named = "".join(f"{name}=__tkc_open, " for name in self._names)
        # Where more arguments have positions than there are, they come before what is passed by name.
        more = at.replace("=__tkc_open", "") + "__tkc_more, " + ", ".join(self._names)
        by_name = ", ".join(f"{name!r}: {name}" for name in self._names)
        return [
            f"def __tkc_method({at}__tkc_more=__tkc_open, /, {named}**__tkc_options):",
            f"  if __tkc_more is not __tkc_open: return __tkc_call(*__tkc_given({more}), **__tkc_options)",
            *("  " + line for line in self._inputs()),
            "  if not __tkc_options:",
            "    try:",
            *("      " + line for line in self._checked()),
            "    except __tkc_exception: pass",
            f"  return __tkc_call(**__tkc_passed({{{by_name}}}, __tkc_options))",
        ]

    def _text_of_key(self) -> str:
        return str(self._key[0]) if len(self._key) == 1 else f"({''.join(f'{one}, ' for one in self._key)})"

    def compile(
        self, torch: Any, functions: Dict[Any, Any], long_way: Callable[..., Any]
    ) -> Tuple[Callable[[Mapping[str, Any]], Any], Callable[..., Any]]:
        """The key of a call's arguments by name, and the method."""
        names: Dict[str, Any] = {
            "__tkc_open": Open, "__tkc_long_way": LongWay, "__tkc_functions": functions,
            "__tkc_empty": torch.empty_strided, "__tkc_tensor": torch.Tensor, "__tkc_parameter": torch.nn.Parameter,
            "__tkc_asked": _devices.asked, "__tkc_has_gradients": torch.is_grad_enabled,
            "__tkc_present": _present, "__tkc_type": type,
            "__tkc_tuple": tuple, "__tkc_exception": Exception, "__tkc_given": _given, "__tkc_passed": _passed,
            "__tkc_call": long_way,
            "__tkc_twice": lambda name: given_twice(self._signature, name),
        }  # fmt: skip
        for one in self._signature.inputs:
            names[f"__tkc_default_{one.name}"] = _default(one)
        exec("\n".join(self._lines()), names)
        key = compile(self._text_of_key(), "<key>", "eval")
        return (lambda values: eval(key, {}, dict(values))), names["__tkc_method"]

    def native(self, torch: Any, long_way: Callable[..., Any]) -> Any:
        """The object in C++, or None. Dims of outputs that are more than a symbol and a number are left to Python."""
        calls = _native.calls()
        # Without DLPack's functions for C, which came with PyTorch 2.10, tensors cannot be looked at.
        if calls is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__") or len(self._ordered) > 32:
            return None
        at = {one.name: index for index, one in enumerate(self._ordered)}
        position = {one.name: index for index, one in enumerate(self._signature.parameters)}
        parameters = [
            (
                one.name, ... if one.default is None and not one.is_optional else _default(one), one.is_tensor,
                one.is_optional, self._may_be_negated(one), position[one.name],
            )
            for one in self._ordered
        ]  # fmt: skip
        key = [(part.what[0], at[part.parameter.name], part.dim) for part in self._key]
        shapes = [
            [(-1 if one is None else at[one.name], dim, offset) for one, dim, offset in shape]
            for shape in self._signature.simple_shapes() or []
        ]
        out = "out" if self._has_out else None
        examples = _tensors.examples(torch)
        return calls(
            torch, examples, _devices.asked_here, long_way, len(self._signature.inputs), parameters, key, shapes, out
        )


def _default(parameter: Parameter) -> Any:
    return float(parameter.default) if isinstance(parameter.default, str) else parameter.default


def _given(*values: Any) -> Tuple[Any, ...]:
    return tuple(one for one in values if one is not Open)


def _passed(given: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """A call's arguments by name."""
    return {**{name: value for name, value in given.items() if value is not Open}, **options}


def _present(*outputs: Any) -> Any:
    results = tuple(one for one in outputs if one is not None)
    return results if len(results) > 1 else results[0] if results else None
