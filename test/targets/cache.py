# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results by the content of what went in: a JSON file each, named by a hash."""
import hashlib
import json
import os
import pathlib
import tempfile


def digest(*parts):
    """Of strings, bytes and files (pathlib.Path); where one ends and the next begins counts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()


def digest_folder(folder, leaving_out=()):
    """Of every file under it, by name and content, but those of some names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in leaving_out)
    return digest(*(part for path in files for part in (str(path.relative_to(folder)), path)))


class Interrupted(Exception):
    """Raised by a computation whose program a signal ended: what stands for its result is told once, and not kept."""

    def __init__(self, result):
        super().__init__(result)
        self.result = result


class Cache:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.began_empty = not any(self.folder.glob("*.json"))

    def remembered(self, key, compute):
        """The result of `compute()`, which is JSON, from this run or an earlier one; and whether it was an earlier one.
        Neither None is kept nor what was interrupted."""
        path = self.folder / f"{key}.json"
        if path.exists():
            return json.loads(path.read_text()), True
        try:
            result = compute()
        except Interrupted as interrupted:
            return interrupted.result, False
        self.keep(key, result)
        return result, False

    def keep(self, key, result):
        if result is None:
            return
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w") as file:
            json.dump(result, file)
        os.replace(name, self.folder / f"{key}.json")


def default_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("TKC_CACHE") or os.path.join(base, "tkc")
