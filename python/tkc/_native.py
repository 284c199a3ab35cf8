# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The short way in C++, _calls.cpp: compiled for this Python where it is first needed, and kept in the cache.

It needs a C++ compiler, as nvcc does, and Python's headers. Where one is missing, calls take the method that
_repeated.py writes in Python, which does the same.
"""

import contextlib
import functools
import importlib.util
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any, Optional, Type

from . import _cache, _tool, _toolchain
from ._errors import Error

_SOURCE, *_INCLUDED = (Path(__file__).with_name(name) for name in ("_calls.cpp", "_pytorch.h", "_inside.h"))


def calls() -> Optional[Any]:
    """The type `Calls`, or None."""
    module = _module()
    return module and module.Calls


def call_as_base(of: Type[Any]) -> None:
    """Calls of this class take what those of its base take, where it has no `__call__` of its own and this can be."""
    module = _module()
    if module:
        module.call_as_base(of)


def call_directly(kernel: Any) -> None:
    """Python calls what this kernel calls, not what a partial function is called by, until it calls something else."""
    module = _module()
    if module:
        module.call_directly(kernel)


def prepare() -> threading.Thread:
    """Begins to compile it: a first call that waits for nvcc need not wait for this as well."""

    def make() -> None:
        with contextlib.suppress(Exception):  # who needs it tries again, and says what is wrong
            _make()

    thread = threading.Thread(target=make, name="tkc: calls")
    thread.start()
    return thread


def _make() -> Optional[Path]:
    headers = sysconfig.get_path("include")
    host = _toolchain.host_compiler()
    # A Python without its lock is none that _calls.cpp is written for.
    if not host or not Path(headers, "Python.h").is_file() or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    return _cache.make(_path(host), functools.partial(_compile, host, headers))


@functools.lru_cache(maxsize=None)
def _module() -> Optional[Any]:
    try:
        path = _make()
        return path and _load(path)
    except (Error, ImportError) as error:
        if _tool.is_verbose():
            _tool.say(f"calls go through Python alone: {error}")
        return None


def _path(host: str) -> Path:
    import tvm_ffi

    texts = [one.read_text(encoding="utf-8") for one in (_SOURCE, *_INCLUDED)]
    key = _cache.key_of("calls", *texts, host, sys.version, tvm_ffi.__version__)
    return _cache.path_of(key, sysconfig.get_config_var("EXT_SUFFIX"))


def _compile(host: str, headers: str, result: Path) -> None:
    includes = [word for one in (headers, *_toolchain.ffi_folders()) for word in ("-I", one)]
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-rtti", "-fno-plt"]
    _tool.run([host, *flags, *includes, str(_SOURCE), "-o", str(result)])


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("tkc._calls", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
