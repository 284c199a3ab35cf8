# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of .tk files as Python functions.

    import tkc
    k = tkc.load("attention.tk")
    o, lse = k.attn_fwd(q, k_, v, scale)

A call takes any DLPack tensors. On a GPU it compiles what it needs, once. On a machine without one, or where
`device="cpu"` asks for it, it runs on tkc's interpreter, which rounds exactly. See docs/python.md.
"""

__version__ = "0.1.0"
__all__ = ["Array", "Error", "Kernel", "Module", "array", "build", "device", "library", "load"]

# Where each name is defined: importing tkc must not wait for NumPy, tvm_ffi or subprocess.
_HOMES = {
    "Array": "_elements",
    "Error": "_errors",
    "Kernel": "_kernel",
    "Module": "_module",
    "array": "_elements",
    "build": "_module",
    "device": "_devices",
    "library": "_paths",
    "load": "_module",
}


def __getattr__(name):
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tkc' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
