# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel while it is made: parameters, statements, equations of its reference, the case, and what is in scope.

Every statement that gives a value a name gives the reference an equation. Its indices are the counters in scope (of the grid's
integers and of the loops around) and the axes of the value. A variable at the begin of a loop's round t is
`v[t] = if t == 0 then (what it was) else w[t - 1]`, where w is what the round has made of it; so any order of reads and
assignments has its reference."""
import dataclasses
import re

import constructs
from values import Value, combine, shape_text


# Of schedules: of a dim, and what it is in the first case.
CONDITIONS = ("{0} <= {1} / 2", "{0} % 8 == 0", "aligned and {0} >= {1}", "{0} - 1 > {1} or {0} * 2 < {1}", "not ({0} == {1}) and {0} + 1 > 4", "ceildiv({0}, 16) <= multiprocessors / 44")


@dataclasses.dataclass
class Counter:
    """An integer that a value may depend on: of the grid, or the number of a loop's round."""
    name: str
    range: str
    dim: str = ""       # of tensors that it indexes


@dataclasses.dataclass
class Variable:
    name: str           # as the kernel reads it; of a tensor in place its slice
    value: Value        # what it has now
    type: str
    stored: bool = False        # it is a tensor that is read and written in place
    summed: bool = False        # only `+=` writes it, nobody reads it until all loops are over
    terms: list = dataclasses.field(default_factory=list)


class Kernel:
    def __init__(self, choices, name, scale=1):
        self.choices, self.name = choices, name
        self.scale = scale      # of dims; a large kernel has many tiles, or long loops
        self.most_elements = choices.pick((1 << 21, 1 << 15)) if scale > 1 else 0
        self.params, self.outs, self.dims, self.tunes, self.where = [], [], {}, {}, []
        # Of the first case: what it says of each argument; of the others: the sizes that a dim may have, and what may be said instead.
        self.settings, self.others, self.varied, self.cases = {}, {}, {}, []
        self.types, self.lines, self.indent, self.equations = [], [], 2, {}
        self.counters, self.axes, self.variables, self.lets, self.scalars = [], [], [], [], []
        self.names, self.optional, self.outputs = 0, [], []
        self.base = "f32"       # in which it computes
        self.grid_axes, self.made = [], set()
        self.suits = ()         # keys of schedules that suit it, of which it may draw
        self.depth = 0
        self.loops = []         # the axes of the loops around, None for those that count
        self.whole = None       # the text, of a program
        self.functions = []     # of the file
        self.taken = []         # names that are words
        self.ragged = None

    def new(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def say(self, line):
        self.lines.append("  " * self.indent + line)

    # -- parameters

    def tensor(self, dims, type, inputs=None, optional=False):
        """A new input over these dims: its name."""
        name = constructs.users_name(self, "x")
        self.params.append((f"{name}: {type}[{', '.join(dims)}]" + (" = none" if optional else "")))
        if inputs:
            self.settings[name] = inputs
        return name

    def set(self, name, options):
        """What the case says of an argument, one of these; None leaves it out."""
        self.settings[name] = self.choices.pick(options)
        self.varied[name] = lambda k, dims: k.choices.pick(options)

    def integers(self, dims, lo, hi):
        return self.tensor(dims, self.choices.pick(("i32", "i32", "i32", "i64")), f"integers(lo = {lo}, hi = {hi})")

    # -- equations

    def index_text(self, value, counters=None):
        names = [counter.name for counter in (self.counters if counters is None else counters)]
        return names + [axis.name for axis in value.axes()]

    def binders(self, value, counters=None):
        bound = [f"{counter.name} in {counter.range}" for counter in (self.counters if counters is None else counters)]
        return bound + [f"{axis.name} in 0..{axis.dim}" for axis in value.axes()]

    def equation(self, prefix, value, element=None, counters=None):
        """A name for the value in the reference: the value by this name."""
        name = self.new(prefix)
        binders, indices = self.binders(value, counters), self.index_text(value, counters)
        head = f"{name}[{', '.join(binders)}]" if binders else f"{name}[u_ in 0..1]"
        self.equations[name] = f"{head} = {element or value.element};"
        return dataclasses.replace(value, element=f"{name}[{', '.join(indices) or '0'}]")

    def let(self, value):
        """`let` of the value."""
        name = constructs.users_name(self, "l")
        self.say(f"let {name} = {value.tile};")
        named = dataclasses.replace(self.equation("e", value), tile=name)
        self.lets.append(named)
        return named

    def equation_of(self, value):
        """The value, with an equation for what it is."""
        return self.equation("h", value)

    # -- shapes

    def tie(self, value, rows, cols):
        """The value with its whole shape, ending with its tiles."""
        zeros = []
        if rows and (value.rows is None or not value.ended) and rows.kind != "whole":
            zeros.append(rows.col)
        if cols and (value.cols is None or not value.ended) and cols.kind != "whole":
            zeros.append(cols.row)
        text = value.tile
        lacks = (rows and not value.rows) or (cols and not value.cols)
        if zeros:
            text = f"({text} + {self.base}(0 * ({' + '.join(zeros)})))"
        if lacks and any(axis and axis.kind == "whole" for axis in (rows, cols)):
            text = f"({text} + {self.zeros(rows, cols)})"
        return dataclasses.replace(value, tile=text, rows=rows, cols=cols, ended=True, type=value.type if text == value.tile else self.base)

    def tie_integer(self, value, rows, cols):
        """The same of integers."""
        parts = [rows.col] * (value.rows is None or not value.ended) + [cols.row] * (value.cols is None or not value.ended)
        text = f"({value.tile} + 0 * ({' + '.join(parts)}))" if parts else value.tile
        return dataclasses.replace(value, tile=text, rows=rows, cols=cols, ended=True)

    def zeros(self, rows, cols):
        zeros = f"zeros({shape_text(rows, cols)})"
        return zeros if self.base == "f32" else f"{self.base}({zeros})"

    def shaped(self, value, rows, cols):
        """The value with its whole shape."""
        if (rows is None or value.rows) and (cols is None or value.cols):
            return value
        return dataclasses.replace(value, tile=f"({value.tile} + {self.zeros(rows, cols)})", rows=rows, cols=cols, ended=False, type=self.base)

    def cast(self, value, type):
        """The value in another float type."""
        if value.type == type:
            return value
        if type == self.base:
            return dataclasses.replace(value, tile=f"{type}({value.tile})", type=type)
        bound = {"f8e4m3": 400.0, "f16": 6e4}.get(type)
        if bound and value.size > bound:
            value = combine("({0} * 0.001)", value, size=value.size * 1e-3)
        return dataclasses.replace(value, tile=f"{type}({value.tile})", element=f"{type}({value.element})", type=type, exact=False)

    # -- schedules

    def conditions(self):
        """What a schedule may ask of a call."""
        if self.whole:
            return []
        known = {text.split()[0] for text in self.where}
        asked = [text.format(dim, size) for dim, size in self.dims.items() if dim not in known for text in CONDITIONS]
        types = [re.sub(r"(\w+): \{(\w+),.*", r"\1 == \2", type) for type in self.types]
        begun = [f"alignment({param.split(':')[0]}) < 32" for param in self.params if "[" in param]
        return ["aligned", "aligned", *asked, *types, *begun]

    # -- text

    def text(self):
        if self.whole:
            return "\n".join([self.whole, *self.case_texts()]) + "\n"
        # What only tensors have that may be left out is known where the kernel is compiled for it, or something else has to say it.
        always = {symbol for param in self.params + self.outs if not param.endswith(" = none")
                  for dims in re.findall(r"\[(.*?)\]", param) for symbol in dims.split(", ")}
        compiled = {text.partition(" in ")[0] for text in self.where}
        optional = {symbol for param in self.params if param.endswith(" = none") for symbol in re.findall(r"\b[A-Z]\w*", param.partition("[")[2])}
        missing = [dim for dim in self.dims if dim not in always and not (dim in compiled and dim in optional)]
        params = self.params + ([f"dims: u8[{', '.join(missing)}]"] if missing else [])
        # Those with defaults come last.
        params = [param for param in params if " = " not in param] + self.outs + [param for param in params if " = " in param]
        types = f"<{', '.join(self.types)}>" if self.types else ""
        where = f" where {', '.join(self.where)}" if self.where else ""
        tunes = [f"  tune {', '.join(f'{name} = {size}' for name, size in self.tunes.items())};"] if self.tunes else []
        kernel = [*self.functions, f"kernel {self.name}{types}({', '.join(params)}){where} {{", *tunes, *self.lines, "}"]
        reference = [f"reference {self.name} {{", *(f"  {text}" for text in self.reachable()), "}"]
        return "\n".join([*kernel, *reference, *self.case_texts()]) + "\n"

    def all_cases(self):
        return [(self.dims, self.settings), *self.cases]

    def case_texts(self):
        said = [" ".join(f"{name} = {value};" for name, value in [*dims.items(), *settings.items()] if value is not None)
                for dims, settings in self.all_cases()]
        return [f"case {self.name} {{ {text} }}" for text in said]

    def is_left_out(self, dim, settings):
        """Whether no tensor of a case has the dim: it is then the first of its choices, as in the first case."""
        tensors = [param.split(":")[0] for param in self.params if re.search(rf"\[(.*\b)?{dim}\b", param)]
        return not self.whole and all(settings.get(name) == "none" for name in tensors) and not any(re.search(rf"\b{dim}\b", param) for param in self.outs)

    def another_case(self):
        """The same kernel in other sizes, with other arguments."""
        dims = {name: self.choices.pick(self.others.get(name, (size,))) for name, size in self.dims.items()}
        settings = {name: self.varied[name](self, dims) if name in self.varied else value for name, value in self.settings.items()}
        dims |= {name: self.dims[name] for name in dims if self.is_left_out(name, settings)}
        if (dims, settings) not in self.all_cases():
            self.cases.append((dims, settings))

    def reachable(self):
        """The equations that outputs ask for, in their order."""
        wanted, todo = set(), list(self.outputs)
        while todo:
            for name in re.findall(r"\b(?:[a-z]+\d+|of_row)\b", todo.pop()):
                if name in self.equations and name not in wanted:
                    wanted.add(name)
                    todo.append(self.equations[name].partition("] = ")[2])
        return [text for name, text in self.equations.items() if name in wanted] + self.outputs
