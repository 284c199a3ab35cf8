# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of PyTorch: `torch.compile` and `torch.export` see through them, autograd differentiates them.

import tkc.torch
ops = tkc.torch.register(tkc.library / "attention.tk")
o, lse = ops.attn_fwd(q, k, v, scale, causal=True)     # torch.ops.tkc_attention.attn_fwd
o.sum().backward()                                     # by what the file says: `gradient attn_fwd = …;`

model = tkc.torch.patch(model)                         # PyTorch's functions by kernels of the library
"""

from ._operators import register
from ._patch import patch, patched, unpatch

__all__ = ["patch", "patched", "register", "unpatch"]
