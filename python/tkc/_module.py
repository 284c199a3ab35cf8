# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A .tk file as a module object."""

import functools
import hashlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _cache, _devices, _native, _paths, _progress, _tool, _toolchain
from ._errors import Error
from ._kernel import Kernel
from ._signature import VERSION, Signature

if TYPE_CHECKING:
    from ._interpreter import Interpreter

_Path = Union[str, "os.PathLike[str]"]


def load(source: _Path, schedules: Sequence[_Path] = ()) -> "Module":
    """The kernels and programs of a .tk file, as attributes; `source` is its path, or the text itself if that has more
    than one line or a brace; text can import nothing. `schedules` are .tks files, tried before those of the file."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        path = _cache.path_of(_cache.key_of("text", source), "") / "string.tk"
        if not path.is_file():
            _cache.write(path, source.encode())
        source = path
    return Module(str(source), [str(one) for one in schedules])


def build(source: _Path, out: _Path, arch: Optional[str] = None, schedules: Sequence[_Path] = ()) -> None:
    """Writes a shared object with every kernel and program of a file, for one GPU or several (`"sm_80,sm_90a"`; the
    first GPU of this machine if not said). It needs neither tkc nor nvcc: `tvm_ffi.load_module(out).gemm(a, b, c)`,
    with outputs among the arguments and None for what is left out."""
    module = load(source, schedules)
    out = Path(out)
    made = module.shared([], arch or _arch_of_this_machine())
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.write_bytes(made.read_bytes())
    os.replace(temporary, out)


def _arch_of_this_machine() -> str:
    if not _devices.count():
        raise Error('there is no GPU to compile for: say which, as in arch="sm_90a"')
    return _toolchain.arch_for(_devices.capability(0))


def _digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


class Module:
    """What `load` returns. `module.NAME` is a `Kernel`; so is `module["NAME"]`."""

    def __init__(self, file: str, schedules: List[str]):
        self._file, self._schedules = file, schedules
        self._contents: Dict[str, str] = {}
        self._kernels: Dict[str, Kernel] = {}
        self._imported: Dict[str, Module] = {}
        everything = self._read()
        self._contents = everything["contents"]
        self._lock = threading.Lock()
        self._kernels = {
            fields["name"]: Kernel(self, Signature(fields)) for fields in everything["signatures"]["entries"]
        }
        # Attributes proper are found sooner than by __getattr__. What a module has itself is not hidden.
        own = {*dir(Module), *vars(self)}
        vars(self).update({name: one for name, one in self._kernels.items() if name not in own})

    def _read(self) -> Dict[str, Any]:
        """The signatures, from the cache where no file has changed."""
        try:
            text = Path(self._file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read `{self._file}`: {getattr(error, 'strerror', None) or error}") from None
        key = _cache.key_of("signatures", _paths.identity(), os.path.abspath(self._file), text, *self._schedules)
        path = _cache.path_of(key, ".json")
        try:
            known: Dict[str, Any] = json.loads(path.read_bytes())
            if all(_digest(file) == digest for file, digest in known["contents"].items()):
                return known
        except (OSError, ValueError, KeyError):
            pass
        signatures = json.loads(self.run(["--emit=signatures"]))
        if signatures["version"] != VERSION:
            raise Error(f"the compiler writes signatures of version {signatures['version']}, not {VERSION}")
        files = [os.path.abspath(one) for one in signatures["files"]]
        for gradient in (one for entry in signatures["entries"] for one in entry["gradients"]):
            gradient["file"] = os.path.abspath(gradient["file"])
        result = {"signatures": signatures, "contents": {one: _digest(one) for one in files}}
        _cache.write(path, json.dumps(result).encode())
        return result

    @property
    def file(self) -> str:
        """Its path."""
        return self._file

    @property
    def contents(self) -> Dict[str, str]:
        """A digest of each file that was read, by its path."""
        return self._contents

    def run(self, options: List[str], *command: str) -> str:
        """What tkc says of the file."""
        return _tool.tkc([*command, self._file, *options, *self._schedule_options()])

    def _schedule_options(self) -> List[str]:
        return [word for file in (*self._tuned(), *self._schedules) for word in ("--schedules", file)]

    # ---- tuning ----------------------------------------------------------------------------------------------------

    def tuned_file(self, kernel: str) -> Path:
        """Where `tune` writes the schedules of a kernel: in the cache, by what the module is made of."""
        key = _cache.key_of("tuned", kernel, *self._contents.values(), *map(_digest, self._schedules))
        return _cache.path_of(key, ".tks")

    def _tuned(self) -> List[str]:
        return [str(file) for file in map(self.tuned_file, self._kernels) if file.is_file()]

    def tune(self, kernel: str, size: str, options: List[str]) -> Path:
        """Searches for schedules of all sizes that the kernel was tuned for, this one among them."""
        result = self.tuned_file(kernel)
        result.parent.mkdir(parents=True, exist_ok=True)
        log = result.with_suffix(".sizes")
        sizes = log.read_text().split() if log.is_file() else []
        sizes += [] if size in sizes else [size]
        nvcc = os.path.dirname(_toolchain.nvcc().program)
        given = [word for one in sizes for word in ("--size", one)]
        given += [word for file in self._schedules for word in ("--schedules", file)]
        _tool.run(
            [_paths.compiler(), "tune", self._file, "-o", str(result), "--kernel", kernel, *given, *options],
            environment={**os.environ, "PATH": os.pathsep.join([nvcc, os.environ.get("PATH", "")])},
            is_shown=True,
        )
        _cache.write(log, "\n".join(sizes).encode())
        for one in self:
            one.forget()
        return result

    @functools.cached_property
    def interpreter(self) -> "Interpreter":
        from ._interpreter import Interpreter

        return Interpreter(self._file)

    def imported(self, file: str) -> "Module":
        """The module of a file that this one imports, or of its own. Schedules of `load` are for this file alone."""
        if file == os.path.abspath(self._file):
            return self
        with self._lock:
            if file not in self._imported:
                self._imported[file] = Module(file, [])
            return self._imported[file]

    # ---- kernels ---------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Kernel:
        return self._kernels[name]

    def __getattr__(self, name: str) -> Kernel:
        kernels: Dict[str, Kernel] = self.__dict__.get("_kernels", {})
        if name in kernels:
            return kernels[name]
        raise AttributeError(f"`{self.__dict__.get('_file')}` has no kernel `{name}`; it has {', '.join(kernels)}")

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._kernels})

    def __repr__(self) -> str:
        return f"<tkc module {self._file}: {', '.join(self._kernels)}>"

    # ---- shared objects --------------------------------------------------------------------------------------------

    def _options(self, signature: Signature, types: Mapping[str, str], constants: Mapping[str, int]) -> List[str]:
        """One specialisation of a kernel; of a program with what it launches."""
        options = ["--kernel", signature.name]
        for name, value in sorted({**types, **constants}.items()):  # in one order, by which the cache knows it
            options += ["--set", f"{name}={value}"]
        return options

    def shared(self, options: List[str], arch: str, at_once: int = 1, is_called: bool = False) -> Path:
        """A shared object of what the options choose, compiled if nobody has yet, as one of so many; a call may wait
        for it."""
        options = [*options, *self._schedule_options()]
        key = _cache.key_of(
            "shared", _paths.identity(), arch, *options, *_toolchain.extra_flags(), *self._contents.values(),
            *map(_digest, (*self._tuned(), *self._schedules)),
        )  # fmt: skip

        def compile_it(result: Path) -> None:
            self._check_unchanged()
            if is_called and "torch" in sys.modules:
                _native.prepare()
            _toolchain.compile_shared(self._file, options, arch, result, _progress.processors() // at_once)
            self._check_unchanged()

        return _cache.make(_cache.path_of(key, ".so"), compile_it)

    def _check_unchanged(self) -> None:
        for file, digest in self._contents.items():
            if _digest(file) != digest:
                raise Error(f"`{file}` has changed since it was loaded: load it again")

    def compiled(self, signature: Signature, types: Mapping[str, str], constants: Mapping[str, int], arch: str) -> Any:
        """The module of tvm_ffi that has the kernel's function."""
        path = self.shared(self._options(signature, types, constants), arch, is_called=True)
        import tvm_ffi

        with self._lock:
            return tvm_ffi.load_module(str(path))

    def compile(self, arch: Optional[str] = None) -> None:
        """Compiles every specialisation of every kernel and program now, on all processors, rather than at first calls.
        A terminal shows how far it is."""
        self.compile_some([(kernel, one) for kernel in self for one in kernel.signature.specializations], arch)

    def compile_some(self, wanted: Sequence[Tuple[Kernel, Mapping[str, Any]]], arch: Optional[str]) -> None:
        """Compiles these specialisations of these kernels."""
        arch = arch or _arch_of_this_machine()
        tasks: Dict[Tuple[str, ...], str] = {}
        for kernel, one in wanted:
            options = self._options(kernel.signature, one["types"], one["constants"])
            tasks[tuple(options)] = kernel.signature.name
        _progress.run_all(
            [(name, functools.partial(self.shared, list(options), arch, len(tasks))) for options, name in tasks.items()]
        )
