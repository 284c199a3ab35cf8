# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The short way of calls like one that was made before: tensors of PyTorch on a GPU, of the same types and constants.

What it leaves out, the launcher checks again: ranks, dims, devices, strides, overlap. It checks what only Python sees.
"""

import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _devices
from ._signature import Signature

_Open = object()


class Repeated:
    """Of one kernel."""

    def __init__(self, signature: Signature):
        parameters = signature.parameters
        self._places = {one.name: at for at, one in enumerate(parameters)}
        self._inputs = [at for at, one in enumerate(parameters) if not one.is_output]
        self._outputs = [at for at, one in enumerate(parameters) if one.is_output]
        self._tensors = [at for at, one in enumerate(parameters) if one.is_tensor]
        self._consts = [at for at, one in enumerate(parameters) if one.is_const]
        self._floats = [
            at
            for at, one in enumerate(parameters)
            if not one.is_tensor and not one.is_const and one.type not in ("i64", "i32", "i8", "u8", "bool")
        ]
        #: Where a dim that has choices stands: it is a part of what is compiled.
        self._chosen = [
            (at, dim)
            for at, one in enumerate(parameters)
            for dim, bind in enumerate(one.binds)
            if bind is not None and bind[0] in signature.choices and not one.is_output
        ]
        self._defaults = [_Open if one.is_tensor or one.default is None else one.default for one in parameters]
        for at in self._inputs:
            if parameters[at].is_optional:
                self._defaults[at] = None
        self._functions: Dict[Any, Tuple[Any, Sequence[Any]]] = {}
        self._shapes: Optional[Callable[[List[Any]], Sequence[Tuple[int, ...]]]] = None
        try:
            self._shapes = eval("lambda v: " + signature.text_of_shapes())
        except KeyError:  # a symbol that no input says
            pass

    def _values(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Optional[List[Any]]:
        """In the order of the parameters; nothing where the call is not an ordinary one."""
        if len(args) > len(self._inputs):
            return None
        values = self._defaults.copy()
        for at, value in zip(self._inputs, args):
            values[at] = value
        given = self._inputs[: len(args)]
        for name, value in kwargs.items():
            if name in self._places:
                if self._places[name] in given:
                    return None
                values[self._places[name]] = value
            elif name != "out" or len(self._outputs) != 1 or type(value) in (tuple, list, dict):
                return None
            elif value is not None:
                values[self._outputs[0]] = value
        return values

    def _key(self, torch: Any, values: List[Any]) -> Any:
        """What decides which function runs; nothing where the long way has to look at the call."""
        kinds, key = (torch.Tensor, torch.nn.Parameter), []
        has_gradient = torch.is_grad_enabled()
        for at in self._tensors:
            value = values[at]
            if value is None or value is _Open:
                key.append(value is None)
                continue
            if type(value) not in kinds or value.is_neg() or value.is_conj() or (has_gradient and value.requires_grad):
                return None
            key.append(value.dtype)
            key.append(value.device)
        for at, dim in self._chosen:
            value = values[at]
            if value is not None:
                shape = value.shape
                if dim >= len(shape):
                    return None
                key.append(shape[dim])
        for at in self._consts:
            value = values[at]
            if type(value) not in (int, bool):
                return None
            key.append(value)
        for at in self._floats:
            if type(values[at]) not in (int, float):
                return None
        return tuple(key)

    def find(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Optional[Tuple[Any, List[Any], Any]]:
        """The function, its arguments and what the call returns, with outputs allocated."""
        torch = sys.modules.get("torch")
        if torch is None or not self._functions or _devices.asked() == "cpu":
            return None
        values = self._values(args, kwargs)
        key = None if values is None else self._key(torch, values)
        found = self._functions.get(key) if key is not None else None
        if values is None or found is None:
            return None
        function, dtypes = found
        outputs = self._outputs
        if any(values[at] is _Open for at in outputs):
            like = values[self._tensors[0]]
            try:
                shapes = self._shapes(values) if self._shapes else None
            except (IndexError, AttributeError, ZeroDivisionError):
                return None
            if shapes is None or like is None or like is _Open:
                return None
            try:
                for at, shape, dtype in zip(outputs, shapes, dtypes):
                    if values[at] is _Open:
                        values[at] = torch.empty(shape, dtype=dtype, device=like.device)
            except RuntimeError:  # a dim is negative: the long way says which
                return None
        results = [values[at] for at in outputs if values[at] is not None]
        return function, values, results[0] if len(results) == 1 else tuple(results) if results else None

    def remember(self, args: Sequence[Any], kwargs: Dict[str, Any], function: Any, dtypes: Sequence[Any]) -> None:
        """After a call went the long way. `dtypes` are those that its outputs have, or would have."""
        torch = sys.modules.get("torch")
        values = self._values(args, kwargs) if torch is not None else None
        key = None if values is None else self._key(torch, values)
        if key is not None:
            self._functions[key] = (function, dtypes)
