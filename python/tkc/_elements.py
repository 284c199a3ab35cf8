# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types that NumPy lacks, as bits with a type."""

import functools
from typing import Any, Tuple

import numpy as np

from ._errors import Error

WIDTHS = {
    "f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "f8e8m0": 8,
    "f6e2m3": 6, "f6e3m2": 6, "f4e2m1": 4, "i64": 64, "i32": 32, "i8": 8, "u8": 8, "u4": 4, "i4": 4, "bool": 8,
}  # fmt: skip

# Those that NumPy has, each with its bits.
NATIVE = {
    "f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "i64": "int64", "i32": "int32",
    "i8": "int8", "u8": "uint8", "bool": "bool",
}  # fmt: skip

# Integers that share bytes, each with its least and its greatest number. Frameworks have bytes for two of them.
PAIRED = {"u4": (0, 15), "i4": (-8, 7)}

# Exponent and mantissa bits, and the largest code that is a finite number. OCP 8-bit and Microscaling formats.
_FORMATS = {
    "bf16": (8, 7, 0x7F7F),
    "f8e4m3": (4, 3, 0x7E),
    "f8e5m2": (5, 2, 0x7B),
    "f6e2m3": (2, 3, 0x1F),
    "f6e3m2": (3, 2, 0x1F),
    "f4e2m1": (2, 1, 0x7),
}


def bits_dtype(elem: str) -> "np.dtype[Any]":
    """The unsigned integers that hold an element's bits, or bytes where elements share them."""
    return np.dtype(f"u{max(WIDTHS[elem], 8) // 8}") if WIDTHS[elem] >= 8 else np.dtype("u1")


def stored_shape(elem: str, shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """Of the array that holds the bits: of a packed type the last dim is in bytes."""
    width = WIDTHS[elem]
    if width >= 8:
        return tuple(shape)
    if not shape or shape[-1] * width % 8:
        raise Error(f"rows of {elem} end with a byte; {tuple(shape)} do not")
    return (*shape[:-1], shape[-1] * width // 8)


@functools.lru_cache(maxsize=None)
def _values(elem: str) -> "np.ndarray[Any, Any]":
    """What every code of at most eight bits stands for."""
    codes = np.arange(1 << WIDTHS[elem])
    if elem == "f8e8m0":
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127))
    if elem in PAIRED:
        return np.where(codes > PAIRED[elem][1], codes - 16, codes)
    exponent_bits, mantissa_bits, last = _FORMATS[elem]
    bias = (1 << (exponent_bits - 1)) - 1
    magnitude = codes & ((1 << (exponent_bits + mantissa_bits)) - 1)
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    normal = np.ldexp(1 + np.ldexp(mantissa.astype(float), -mantissa_bits), exponent - bias)
    subnormal = np.ldexp(mantissa.astype(float), 1 - bias - mantissa_bits)
    value = np.where(exponent == 0, subnormal, normal)
    value[magnitude > last] = np.nan
    if elem == "f8e5m2":
        value[magnitude == last + 1] = np.inf
    return np.where(codes > magnitude, -value, value)


def _round(values: "np.ndarray[Any, Any]", elem: str) -> "np.ndarray[Any, Any]":
    """To the nearest that the type would have without an end to its exponents, ties to even."""
    exponent_bits, mantissa_bits, _ = _FORMATS[elem]
    _, exponent = np.frexp(values)
    step = np.maximum(exponent - 1, 2 - (1 << (exponent_bits - 1))) - mantissa_bits
    with np.errstate(invalid="ignore"):
        return np.ldexp(np.rint(np.ldexp(values, -step)), step)


def _unpack(packed: "np.ndarray[Any, Any]", width: int) -> "np.ndarray[Any, Any]":
    bits = np.unpackbits(packed, axis=-1, bitorder="little")
    codes = bits.reshape(*packed.shape[:-1], -1, width)
    return np.packbits(codes, axis=-1, bitorder="little")[..., 0]


def _pack(codes: "np.ndarray[Any, Any]", width: int) -> "np.ndarray[Any, Any]":
    bits = np.unpackbits(codes.astype("u1")[..., None], axis=-1, bitorder="little")[..., :width]
    return np.packbits(bits.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


def decode(bits: "np.ndarray[Any, Any]", elem: str) -> "np.ndarray[Any, Any]":
    if elem in NATIVE:
        return bits.view(NATIVE[elem])
    if elem == "bf16":
        return (bits.astype("u4") << 16).view("float32")
    codes = _unpack(bits, WIDTHS[elem]) if WIDTHS[elem] < 8 else bits
    return _values(elem)[codes].astype("int8" if elem in PAIRED else "float32")


def encode(values: Any, elem: str) -> "np.ndarray[Any, Any]":
    """Rounded to nearest, ties to even. As in .tk, types of at most eight bits take their largest number for what is
    beyond it, f8e8m0 rounds up, and integers of four bits cut off what is behind the point."""
    if elem in NATIVE:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(np.asarray(values).astype(NATIVE[elem])).view(bits_dtype(elem))
    with np.errstate(invalid="ignore"):
        exact = np.asarray(values, dtype="float64")
    stored_shape(elem, exact.shape)
    if elem == "f8e8m0":
        fraction, exponent = np.frexp(exact)
        code = np.clip(exponent - (fraction == 0.5) + 127, 0, 254)
        return np.where(np.isnan(exact), 255, np.where(exact > 0, code, 0)).astype("u1")
    if elem in PAIRED:
        whole = np.clip(np.trunc(np.nan_to_num(exact, posinf=np.inf, neginf=-np.inf)), *PAIRED[elem])
        return _pack(whole.astype("i1").view("u1") & 15, 4)
    rounded = _round(exact, elem)
    if elem == "bf16":
        with np.errstate(over="ignore"):
            code = (rounded.astype("float32").view("u4") >> 16).astype("u2")
        return np.where(np.isnan(exact), np.uint16(0x7FFF), code).astype("u2")
    _, _, last = _FORMATS[elem]
    table = _values(elem)[: last + 1]
    code = np.searchsorted(table, np.minimum(np.abs(rounded), table[-1]))
    sign = np.signbit(exact).astype(int) << (WIDTHS[elem] - 1)
    nan = (1 << (WIDTHS[elem] - 1)) - 1  # the largest number where there is no NaN
    codes = np.where(np.isnan(exact), nan, np.minimum(code, last) | sign).astype("u1")
    return _pack(codes, WIDTHS[elem]) if WIDTHS[elem] < 8 else codes


class Array:
    """A tensor on the CPU of an element type that NumPy need not have: `bits`, unsigned integers, and `type`.

    Of types of less than eight bits, whose elements share bytes, `bits` are bytes and its last dim is in bytes.
    """

    def __init__(self, bits: Any, type: str):
        if type not in WIDTHS:
            raise Error(f"no element type is called `{type}`; there are {', '.join(WIDTHS)}")
        bits = np.asarray(bits)
        if bits.dtype != bits_dtype(type):
            raise Error(f"bits of {type} are {bits_dtype(type)}, not {bits.dtype}")
        self.bits, self.type = bits, type

    @property
    def shape(self) -> Tuple[int, ...]:
        width = WIDTHS[self.type]
        if width >= 8:
            return self.bits.shape
        return (*self.bits.shape[:-1], self.bits.shape[-1] * 8 // width)

    def numpy(self) -> "np.ndarray[Any, Any]":
        """Its values, as float32 where NumPy lacks the type, integers of four bits as int8."""
        return decode(self.bits, self.type)

    def __repr__(self) -> str:
        return f"tkc.Array({self.type}{list(self.shape)})"


def array(values: Any, type: str) -> Array:
    """Values as an `Array`: rounded to nearest, ties to even, and what is beyond a type of at most eight bits becomes
    its largest number."""
    if type not in WIDTHS:
        raise Error(f"no element type is called `{type}`; there are {', '.join(WIDTHS)}")
    return Array(encode(values, type), type)
