# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where calls run, and which GPUs there are."""

import contextlib
import contextvars
import ctypes
import functools
from typing import Iterator, Optional, Tuple

from ._errors import Error

#: What `device` says here, or None.
asked_here: "contextvars.ContextVar[Optional[str]]" = contextvars.ContextVar("tkc_device", default=None)


def check(name: Optional[str]) -> Optional[str]:
    if name not in (None, "cpu", "cuda"):
        raise Error(f'device={name!r}: it may be "cpu", the interpreter, or "cuda"')
    return name


@contextlib.contextmanager
def device(name: str) -> Iterator[None]:
    """`with tkc.device("cpu"):` runs the calls in it on the interpreter."""
    token = asked_here.set(check(name))
    try:
        yield
    finally:
        asked_here.reset(token)


asked = asked_here.get


@functools.lru_cache(maxsize=None)
def _driver() -> Optional[ctypes.CDLL]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return driver if driver.cuInit(0) == 0 else None
    except OSError:
        return None


@functools.lru_cache(maxsize=None)
def count() -> int:
    """How many GPUs CUDA has; 0 where there is no driver."""
    driver, number = _driver(), ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(number)) != 0:
        return 0
    return number.value


@functools.lru_cache(maxsize=None)
def capability(index: int) -> Tuple[int, int]:
    driver, handle = _driver(), ctypes.c_int(0)
    if driver is None or driver.cuDeviceGet(ctypes.byref(handle), index) != 0:
        raise Error(f"there is no GPU {index}")
    values = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        value = ctypes.c_int(0)
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle) != 0:
            raise Error(f"GPU {index} does not say what it is")
        values.append(value.value)
    return values[0], values[1]
