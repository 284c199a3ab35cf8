# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where models have a rotary embedding that kernels can take over.

PyTorch has no function for it. Models of the `transformers` kind have one of their own, `apply_rotary_pos_emb`, in the
Python module of their layers. The name does not say what it computes: some turn neighbours, and some turn halves.
"""

import inspect
import sys
import types
from typing import Any, Callable, Iterator, Optional

import torch

NAME = "apply_rotary_pos_emb"


def modules_of(model: Any) -> Iterator[types.ModuleType]:
    """The Python modules of the model's layers, and of their base classes, that have such a function."""
    classes = {base for layer in model.modules() for base in type(layer).__mro__}
    for module in {sys.modules.get(one.__module__) for one in classes}:
        if module is not None and isinstance(vars(module).get(NAME), types.FunctionType):
            yield module


def turns_halves(function: Callable[..., Any]) -> bool:
    """Whether it returns q * cos + rotate_half(q) * sin, and so for k, for tables whose halves are of any values.

    It is called with small tensors: with heads in dim 1, which has to be the default, and in dim 2.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    names = list(parameters)
    if any(parameters[name].default is not inspect.Parameter.empty for name in names[:4]):
        return False  # who calls it may leave them out
    if names[:4] != ["q", "k", "cos", "sin"] or not set(names[4:]) <= {"position_ids", "unsqueeze_dim"}:
        return False
    generator = torch.Generator("cpu").manual_seed(1)

    def some(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, device="cpu", dtype=torch.float64)

    q, k, cos, sin = some(2, 4, 3, 8), some(2, 2, 3, 8), some(2, 3, 8), some(2, 3, 8)
    wanted = [_turned(one, cos.unsqueeze(1), sin.unsqueeze(1)) for one in (q, k)]
    with torch.no_grad():
        for dtype, accuracy in ((torch.float32, 1e-5), (torch.bfloat16, 0.1), (torch.float16, 0.01)):
            for dim in (None, 2) if "unsqueeze_dim" in names else (None,):
                given = [one.transpose(1, 2) if dim == 2 else one for one in (q, k)]
                options = {} if dim is None else {"unsqueeze_dim": dim}
                try:
                    found = function(*[one.to(dtype) for one in (*given, cos, sin)], **options)
                except Exception:  # whatever a function of somebody else raises, it is not the one
                    return False
                if not isinstance(found, tuple) or len(found) != 2:
                    return False
                for one, other in zip(found, wanted):
                    if not _is_near(one, other.transpose(1, 2) if dim == 2 else other, dtype, accuracy):
                        return False
    return True


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


def _is_near(found: Any, wanted: Any, dtype: Any, accuracy: float) -> bool:
    if not isinstance(found, torch.Tensor) or found.dtype != dtype or found.shape != wanted.shape:
        return False
    return torch.allclose(found.double(), wanted, rtol=accuracy, atol=accuracy)


def heads_dim(others: Any, options: Any) -> Optional[int]:
    """Which dim of q and k has the heads; None where a call says more than that, or says it otherwise."""
    if others or any(name != "unsqueeze_dim" for name in options):
        return None
    dim = options.get("unsqueeze_dim", 1)
    return dim if dim == 1 or dim == 2 else None
