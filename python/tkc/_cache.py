# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files by their content, shared by processes: written beside their place and renamed, one process at a time."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Callable, Iterator

from . import _paths
from ._errors import Error


def key_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]


def path_of(key: str, suffix: str) -> Path:
    return _paths.cache() / key[:2] / (key + suffix)


def write(path: Path, data: bytes) -> None:
    """Nobody ever reads half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise Error(f"cannot write to the cache: {error}; TKC_CACHE_DIR may name another folder") from None


@contextlib.contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Others that want the same file wait. Where the file system has no locks, the rename alone has to do."""
    import fcntl

    with open(path.with_name(path.name + ".lock"), "w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(path: Path, build: Callable[[Path], None]) -> Path:
    """`path`, which `build` writes to the place that it is given if it is not there yet."""
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(path):
            if not path.is_file():
                with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name + ".") as folder:
                    result = Path(folder) / path.name
                    build(result)
                    os.replace(result, path)
    except OSError as error:
        raise Error(f"cannot write to the cache: {error}; TKC_CACHE_DIR may name another folder") from None
    return path
