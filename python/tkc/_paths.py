# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the compiler, the runtime's headers and the cache are."""

import functools
import os
import shutil
from pathlib import Path
from typing import Optional

from ._errors import Error

_PACKAGE = Path(__file__).resolve().parent


@functools.lru_cache(maxsize=None)
def compiler() -> str:
    """`tkc`: what TKC_COMPILER names, else the package's own, else the first in PATH."""
    named = os.environ.get("TKC_COMPILER")
    if named:
        found = shutil.which(named)
        if not found:
            raise Error(f"TKC_COMPILER names `{named}`, which is no program")
        return found
    own = _PACKAGE / "bin" / "tkc"
    # The package's command of the same name in PATH would only lead back to here.
    found = str(own) if own.is_file() else None
    if not found:
        raise Error("this installation of tkc has no compiler; TKC_COMPILER may name one")
    return found


@functools.lru_cache(maxsize=None)
def identity() -> str:
    """Tells one compiler from another, without reading it."""
    from . import __version__

    status = os.stat(compiler())
    return f"{__version__} {status.st_size} {status.st_mtime_ns}"


@functools.lru_cache(maxsize=None)
def headers() -> Path:
    """The folder that emitted files are compiled with: the package's own, or the repository's."""
    for folder in (_PACKAGE / "include", _PACKAGE.parent.parent / "runtime" / "include"):
        if (folder / "tk" / "host" / "ffi.h").is_file():
            return folder
    raise Error("this installation of tkc has no runtime headers")


def _library() -> Path:
    own = _PACKAGE / "kernels"
    return own if own.is_dir() else _PACKAGE.parent.parent / "kernels"


#: The folder of the kernels that come with tkc: `tkc.load(tkc.library / "attention.tk")`.
library = _library()


def cache() -> Path:
    """What TKC_CACHE_DIR names, else `tkc` among the user's caches."""
    named = os.environ.get("TKC_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tkc"


def search(name: str, folder: Optional[str]) -> Optional[str]:
    """The program `name` in a folder that may not be there."""
    return shutil.which(os.path.join(folder, name)) if folder else None
