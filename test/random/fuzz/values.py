# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values as a kernel says them on tiles and its reference on elements, and the axes that they lie along."""
import dataclasses

NARROW = ("bf16", "f16", "f8e4m3", "f8e5m2")
INTEGER = ("i32", "i8", "u8", "bool")


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of tiles: of the grid, of a loop, or a dim that is known when compiling."""
    name: str       # the index of its elements, and of its tiles
    dim: str        # the dim that it runs along
    extent: int     # of the case
    size: int       # elements of a tile
    size_text: str
    tile: str       # how it stands in a slice: its name, or `:`
    range: str      # of the elements of one tile, or of all where it is whole, or of the grid
    kind: str       # `grid`, `loop`, `whole`
    end: str = None     # where its last tile ends, as the reference says it; empty where it cannot, None for the dim

    @property
    def col(self):
        return f"{self.name}.col" if self.kind != "whole" else f"iota({self.size_text}, 1)"

    @property
    def row(self):
        return f"{self.name}.row" if self.kind != "whole" else f"iota(1, {self.size_text})"


@dataclasses.dataclass
class Value:
    tile: str
    element: str
    rows: Axis = None
    cols: Axis = None
    type: str = "f32"
    size: float = 4.0           # about how large it gets
    exact: bool = False         # both sides have it without rounding
    ended: bool = False         # its axes end where its tiles end

    def axes(self):
        return tuple(axis for axis in (self.rows, self.cols) if axis)


def shape_text(rows, cols):
    return f"{rows.size_text if rows else 1}, {cols.size_text if cols else 1}"


def combine(form, *parts, size, type="f32", exact=False):
    """An operation on elements; `form` is the same for both sides, or (of tiles, of elements)."""
    of_tiles, of_elements = form if isinstance(form, tuple) else (form, form)
    rows = next((part.rows for part in parts if part.rows), None)
    cols = next((part.cols for part in parts if part.cols), None)
    # What ends meets what is full, and ends.
    ended = all(any(axis in (part.rows, part.cols) and part.ended for part in parts) for axis in (rows, cols) if axis)
    return Value(of_tiles.format(*(part.tile for part in parts)), of_elements.format(*(part.element for part in parts)), rows, cols, type,
                 size, exact, ended)
