# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The short way of calls like one that was made before: tensors of PyTorch on a GPU, of the same types and constants.

It is a method that is written for the kernel. What it leaves out, the launcher checks again: ranks, dims, types,
devices, strides, overlap. It checks what only Python sees. What it does not take, and what the launcher refuses, goes
the long way, which finds another function or the words for what is wrong.
"""

import keyword
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from . import _devices, _tensors
from ._call import given_twice
from ._signature import Parameter, Signature


class Open:
    """Of a parameter that a call does not pass."""


class LongWay(Exception):
    """Of a call that has to go it."""


class Repeated:
    """Of one kernel."""

    def __init__(self, signature: Signature):
        self._signature = signature
        self._functions: Dict[Any, Tuple[Any, Sequence[Any]]] = {}
        #: `__call__` of the kernel, whose `_call` goes the long way; there once a call was remembered.
        self.method: Optional[Callable[..., Any]] = None

    def remember(self, values: Mapping[str, Any], function: Any, dtypes: Sequence[Any]) -> None:
        """After a call went the long way: its arguments by name, and the types that its outputs have, or would have."""
        if self.method is None:
            torch = sys.modules["torch"]
            made = _Text(self._signature, _devices.count() > 1, _tensors.lazily_negated(torch))
            if not made.is_possible:
                return
            self._key, self.method = made.compile(torch, self._functions)
        self._functions[self._key(values)] = (function, dtypes)


class _Text:
    """Of the method. A parameter is called as in the kernel, everything else begins with `__tkc_`.

    Each input has two names, one for its position and its own, so that any call can be told from any other: nothing is
    left to Python to refuse. An output that is used is called `__tkc_NAME`, as NAME is what the call passes.
    """

    def __init__(self, signature: Signature, with_device: bool, lazily_negated: Set[str]):
        self._signature = signature
        names = [one.name for one in signature.parameters]
        self.is_possible = not any(keyword.iskeyword(name) or name.startswith("__tkc_") for name in names)
        self._names = [one.name for one in (*signature.inputs, *signature.outputs)]
        self._has_out = bool(signature.outputs) and "out" not in names
        if self._has_out:
            self._names.append("out")
        self._lazily_negated = lazily_negated
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
        if self._lazily_negated.intersection(self._signature.types.get(parameter.type, [parameter.type])):
            text += f" or {name}.is_neg()"
        text += f" or (__tkc_gradients and {name}.requires_grad)"
        return f"({name} is not None and ({text}))" if parameter.is_optional else f"({text})"

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
            f"def __tkc_method(__tkc_kernel, {at}__tkc_more=__tkc_open, /, {named}**__tkc_options):",
            f"  if __tkc_more is not __tkc_open: return __tkc_kernel._call(__tkc_given({more}), __tkc_options)",
            *("  " + line for line in self._inputs()),
            "  if not __tkc_options:",
            "    try:",
            *("      " + line for line in self._checked()),
            "    except __tkc_exception: pass",
            f"  return __tkc_kernel._call((), __tkc_passed({{{by_name}}}, __tkc_options))",
        ]

    def _text_of_key(self) -> str:
        return self._key[0] if len(self._key) == 1 else f"({''.join(one + ', ' for one in self._key)})"

    def compile(
        self, torch: Any, functions: Dict[Any, Any]
    ) -> Tuple[Callable[[Mapping[str, Any]], Any], Callable[..., Any]]:
        """The key of a call's arguments by name, and the method."""
        names: Dict[str, Any] = {
            "__tkc_open": Open, "__tkc_long_way": LongWay, "__tkc_functions": functions, "__tkc_empty": torch.empty_strided,
            "__tkc_tensor": torch.Tensor, "__tkc_parameter": torch.nn.Parameter, "__tkc_asked": _devices.asked,
            "__tkc_has_gradients": torch.is_grad_enabled, "__tkc_present": _present, "__tkc_type": type,
            "__tkc_tuple": tuple, "__tkc_exception": Exception, "__tkc_given": _given, "__tkc_passed": _passed,
            "__tkc_twice": lambda name: given_twice(self._signature, name),
        }  # fmt: skip
        for one in self._signature.inputs:
            default = float(one.default) if isinstance(one.default, str) else one.default
            names[f"__tkc_default_{one.name}"] = default
        exec("\n".join(self._lines()), names)
        key = compile(self._text_of_key(), "<key>", "eval")
        return (lambda values: eval(key, {}, dict(values))), names["__tkc_method"]


def _given(*values: Any) -> Tuple[Any, ...]:
    return tuple(one for one in values if one is not Open)


def _passed(given: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """A call's arguments by name."""
    return {**{name: value for name, value in given.items() if value is not Open}, **options}


def _present(*outputs: Any) -> Any:
    results = tuple(one for one in outputs if one is not None)
    return results if len(results) > 1 else results[0] if results else None
