# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tkc --emit=signatures` says of a kernel, and what follows for a call."""

import math
import operator
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

Dim = Union[int, str, List[Any]]

# Of the JSON; docs/cli.md has its fields.
VERSION = 1


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """Quotients and remainders floor; a divisor of 0 gives 0, as in emitted launchers."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        return values[dim]
    operation, left, right = dim[0], evaluate(dim[1], values), evaluate(dim[2], values)
    if operation in "/%" and right == 0:
        return 0 if operation == "/" else left
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left // right,
        "%": lambda: left % right,
    }[operation]()


def _text(dim: Dim, bound: Mapping[str, str]) -> str:
    """As an expression of Python, whose quotients floor as well; a divisor of 0 is an error there."""
    if isinstance(dim, int):
        return str(dim)
    if isinstance(dim, str):
        return bound[dim]
    operation = "//" if dim[0] == "/" else dim[0]
    return f"({_text(dim[1], bound)} {operation} {_text(dim[2], bound)})"


def _offset(dim: Dim) -> Optional[Tuple[str, int]]:
    """`symbol` or `symbol` plus a number: such a dim says what the symbol is."""
    if isinstance(dim, str):
        return dim, 0
    if isinstance(dim, list) and dim[0] in "+-" and isinstance(dim[1], str) and isinstance(dim[2], int):
        return dim[1], dim[2] if dim[0] == "+" else -dim[2]
    if isinstance(dim, list) and dim[0] == "+" and isinstance(dim[1], int) and isinstance(dim[2], str):
        return dim[2], dim[1]
    return None


class Parameter:
    """One of a kernel."""

    def __init__(self, fields: Mapping[str, Any]):
        self.name: str = fields["name"]
        self.type: str = fields["type"]
        self.is_tensor: bool = fields["kind"] == "tensor"
        self.is_const: bool = fields["kind"] == "const"
        self.mode: str = fields.get("mode", "in")
        self.is_optional: bool = fields.get("optional", False)
        self.dims: List[Dim] = fields.get("dims", [])
        self.shape: List[str] = fields.get("shape", [])
        self.default = fields.get("default")
        self.choices: List[int] = fields.get("choices", [])
        self.binds = [_offset(dim) for dim in self.dims]

    @property
    def is_output(self) -> bool:
        return self.mode == "out"

    def __str__(self) -> str:
        if self.is_tensor:
            text = f"{self.name}: {self.type}[{', '.join(self.shape)}]"
            text += " = none" if self.is_optional else ""
            return text if self.mode == "in" else f"{self.mode} {text}"
        default = self.default
        if default is not None and self.type == "bool":
            default = "true" if default else "false"
        text = f"{self.name}: {self.type}" + ("" if default is None else f" = {default}")
        return "const " + text if self.is_const else text


class Argument(NamedTuple):
    """Of a gradient: what a parameter of the backward kernel gets."""

    parameter: str
    value: str  #: a parameter of the forward kernel
    is_gradient: bool  #: its gradient: of an output what comes in, of an input what is computed


class Gradient:
    """A call of a kernel or program that computes gradients of another one, as the file declares it."""

    def __init__(self, fields: Mapping[str, Any]):
        self.backward: str = fields["backward"]
        self.file: str = fields["file"]
        self.when = fields.get("when")
        self.arguments = [
            Argument(one["parameter"], one.get("gradient", one.get("value")), "gradient" in one)
            for one in fields["arguments"]
        ]

    def serves(self, values: Mapping[str, Any]) -> bool:
        """Whether its condition holds, of dims, constants and type parameters by name."""
        return self.when is None or bool(_holds(self.when, values))


def _holds(tree: Any, values: Mapping[str, Any]) -> Any:
    """The value of a condition. A name that has none is that of an element type."""
    if isinstance(tree, str):
        return values.get(tree, tree)
    if not isinstance(tree, list):
        return tree
    operation, *operands = tree
    if operation in ("and", "or"):
        left = bool(_holds(operands[0], values))
        return bool(_holds(operands[1], values)) if left == (operation == "and") else left
    numbers = [_holds(one, values) for one in operands]
    if len(numbers) == 1:
        return not numbers[0] if operation == "not" else -numbers[0]
    if operation in "+-*/%":
        return evaluate([operation, "left", "right"], {"left": numbers[0], "right": numbers[1]})
    return _COMPARISONS[operation](*numbers)


_COMPARISONS: Dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Signature:
    """A kernel's or a program's."""

    def __init__(self, fields: Mapping[str, Any]):
        self.name: str = fields["name"]
        self.entry: str = fields["entry"]
        self.is_program: bool = fields["kind"] == "program"
        self.doc: str = fields["doc"]
        self.has_reference: bool = fields["hasReference"]
        self.types: Dict[str, List[str]] = fields["types"]
        self.symbols: List[str] = fields["symbols"]
        self.choices: Dict[str, List[int]] = fields["choices"]
        self.parameters = [Parameter(one) for one in fields["parameters"]]
        self.gradients = [Gradient(one) for one in fields["gradients"]]
        self.specializations: List[Dict[str, Any]] = fields["specializations"]
        self.inputs = [one for one in self.parameters if not one.is_output]
        self.outputs = [one for one in self.parameters if one.is_output]
        self.tensors = [one for one in self.parameters if one.is_tensor]

    def __str__(self) -> str:
        types = ", ".join(f"{name}: {{{', '.join(of)}}}" for name, of in self.types.items())
        parameters = ", ".join(map(str, self.parameters))
        return f"{self.name}{f'<{types}>' if types else ''}({parameters})"

    def bind_symbols(self, shapes: Mapping[str, Sequence[int]]) -> Dict[str, int]:
        """By the first tensor that is always there, else by the first that the call has; what none says is a choice's
        first, or 0. The launcher does the same."""
        values: Dict[str, int] = {}
        for may_be_left_out in (False, True):
            for parameter in self.tensors:
                shape = shapes.get(parameter.name)
                if shape is None or parameter.is_optional != may_be_left_out:
                    continue
                for bind, size in zip(parameter.binds, shape):
                    if bind is not None:
                        values.setdefault(bind[0], size - bind[1])
        for symbol in self.symbols:
            values.setdefault(symbol, self.choices.get(symbol, [0])[0])
        return values

    def bind_types(self, types: Mapping[str, str]) -> Dict[str, str]:
        """The same of type parameters."""
        values: Dict[str, str] = {}
        for may_be_left_out in (False, True):
            for parameter in self.tensors:
                if (
                    parameter.type in self.types
                    and parameter.is_optional == may_be_left_out
                    and parameter.name in types
                ):
                    values.setdefault(parameter.type, types[parameter.name])
        for name, choices in self.types.items():
            found = values.setdefault(name, choices[0])
            if found == "f32" and "f32" not in choices and "tf32" in choices:
                values[name] = "tf32"  # stored as f32
        return values

    def values_of(
        self, shapes: Mapping[str, Sequence[int]], types: Mapping[str, str], numbers: Mapping[str, Any]
    ) -> Dict[str, Any]:
        """Dims, types and constants of a call by their names. `shapes` and `types` are those of its tensors; `numbers`
        has its constants, where they are not the defaults."""
        constants = {one.name: int(numbers.get(one.name, one.default)) for one in self.parameters if one.is_const}
        return {**self.bind_symbols(shapes), **self.bind_types(types), **constants}

    def sources(self) -> Dict[str, Tuple[Parameter, int, int]]:
        """Of each symbol that an input says the tensor, the dim, and what to take away from it. They are what
        bind_symbols() takes where no tensor is left out."""
        found: Dict[str, Tuple[Parameter, int, int]] = {}
        for may_be_left_out in (False, True):
            for parameter in self.inputs:
                if parameter.is_optional == may_be_left_out:
                    for dim, bind in enumerate(parameter.binds):
                        if bind is not None:
                            found.setdefault(bind[0], (parameter, dim, bind[1]))
        return found

    def texts_of_shapes(self) -> List[List[str]]:
        """Of each output expressions for its dims, from the parameters by their names. They fail where a tensor that
        they need is left out."""
        bound = {one.name: one.name for one in self.parameters if one.is_const}
        for symbol, (parameter, dim, offset) in self.sources().items():
            bound[symbol] = f"({parameter.name}.shape[{dim}]{f' - {offset}' if offset else ''})"
        return [[_text(dim, bound) for dim in one.dims] for one in self.outputs]

    def simple_shapes(self) -> Optional[List[List[Tuple[Optional[Parameter], int, int]]]]:
        """Of each output for each dim a tensor, its dim, and what to add; of a number no tensor. None: some dim is
        neither."""
        sources, shapes = self.sources(), []
        for output in self.outputs:
            shape: List[Tuple[Optional[Parameter], int, int]] = []
            for dim, bind in zip(output.dims, output.binds):
                if isinstance(dim, int):
                    shape.append((None, 0, dim))
                elif bind is not None and bind[0] in sources:
                    parameter, at, offset = sources[bind[0]]
                    shape.append((parameter, at, bind[1] - offset))
                else:
                    return None
            shapes.append(shape)
        return shapes

    def gradient(self, values: Mapping[str, Any]) -> Optional[Gradient]:
        """The first that serves calls with these dims, constants and types by name; None: there is none."""
        return next((one for one in self.gradients if one.serves(values)), None)

    def has(self, types: Mapping[str, str], constants: Mapping[str, int]) -> bool:
        """Whether these are compiled."""
        return any(one["types"] == types and one["constants"] == constants for one in self.specializations)


def number(value: float) -> Union[float, str]:
    """As JSON has it, which knows no infinity."""
    return value if math.isfinite(value) else str(value)
