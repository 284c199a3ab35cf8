# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvcc, and from a kernel's source to a shared object."""

import functools
import glob
import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from . import _parts, _paths, _tool
from ._errors import Error


class Nvcc:
    """The compiler, with what it has to be told."""

    def __init__(self, program: str, flags: Sequence[str] = ()):
        self.program, self.flags = program, list(flags)


def _nvcc_of_pip() -> Optional[Nvcc]:
    """Of the packages nvidia-cuda-nvcc and nvidia-cuda-runtime, CUDA 13's and 12's."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for root in spec.submodule_search_locations or [] if spec else []:
        for program in sorted(glob.glob(os.path.join(root, "*", "bin", "nvcc")), reverse=True):
            home = Path(program).parent.parent
            runtime = home if (home / "include" / "cuda_runtime_api.h").is_file() else Path(root) / "cuda_runtime"
            libraries = runtime / "lib64" if (runtime / "lib64").is_dir() else runtime / "lib"
            return Nvcc(program, ["-I", str(runtime / "include"), "-L", str(libraries)])
    return None


@functools.lru_cache(maxsize=None)
def nvcc() -> Nvcc:
    """What TKC_NVCC names, else the first in PATH, in CUDA_HOME, among pip's packages, where CUDA is usually."""
    named = os.environ.get("TKC_NVCC")
    if named:
        program = shutil.which(named)
        if not program:
            raise Error(f"TKC_NVCC names `{named}`, which is no program")
        return _with_host(Nvcc(program))
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    program = shutil.which("nvcc") or next(filter(None, (_paths.search("bin/nvcc", home) for home in homes)), None)
    found = Nvcc(program) if program else _nvcc_of_pip()
    usual = _paths.search("nvcc", "/usr/local/cuda/bin")
    if not found and usual:
        found = Nvcc(usual)
    if not found:
        raise Error(
            "a GPU needs nvcc, and there is none: TKC_NVCC, PATH, CUDA_HOME and pip's nvidia-cuda-nvcc were looked at. "
            "pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-crt, all of one minor version"
        )
    return _with_host(found)


def host_compiler() -> Optional[str]:
    """The C++ compiler that is asked for, else the first of the system's."""
    asked = (os.environ.get("NVCC_CCBIN") or os.environ.get("CXX") or "").split()
    return next(filter(shutil.which, [*asked[:1], "g++", "clang++", "c++"]), None)


def _with_host(found: Nvcc) -> Nvcc:
    """nvcc calls a C++ compiler of the system, by itself g++."""
    host = host_compiler()
    if host is None:
        raise Error(
            "nvcc needs a C++ compiler, and there is none: install the package g++ (Debian, Ubuntu) or gcc-c++ (Fedora)"
        )
    return found if host == "g++" else Nvcc(found.program, [*found.flags, "-ccbin", host])


@functools.lru_cache(maxsize=None)
def _names_of_gpus() -> List[str]:
    return [one["name"] for one in json.loads(_tool.tkc(["arch", "--json"])) if one["compiles"] and not one["amd"]]


def _capability_of(name: str) -> Tuple[int, int]:
    digits = "".join(filter(str.isdigit, name))
    return int(digits[:-1]), int(digits[-1])


@functools.lru_cache(maxsize=None)
def arch_for(capability: Tuple[int, int]) -> str:
    """The most capable code that a GPU runs. Code with a letter is for one compute capability alone."""
    names = [
        name
        for name in _names_of_gpus()
        if (_capability_of(name) == capability if name[-1].isalpha() else _capability_of(name) <= capability)
    ]
    if not names:
        raise Error(f"no code of tkc runs on a GPU of compute capability {capability[0]}.{capability[1]}")
    return max(names, key=_capability_of)


def _targets(arch: str) -> List[str]:
    flags = []
    for name in arch.split(","):
        number = name[len("sm_") :]
        # Code without a letter also runs on later GPUs, for which the driver compiles it.
        codes = f"sm_{number}" if number[-1].isalpha() else f"[sm_{number},compute_{number}]"
        flags += ["-gencode", f"arch=compute_{number},code={codes}"]
    return flags


@functools.lru_cache(maxsize=None)
def ffi_folders() -> List[str]:
    """Where the headers of apache-tvm-ffi and of DLPack are."""
    from tvm_ffi import libinfo

    return [libinfo.find_include_path(), libinfo.find_dlpack_include_path()]


def compile_shared(file: str, options: Sequence[str], arch: str, result: Path, processors: int) -> None:
    """A shared object of the kernels of a file that `options` choose; nvcc may use so many processors."""
    from concurrent.futures import ThreadPoolExecutor

    compiler = nvcc()
    includes = [str(_paths.headers()), str(Path(file).resolve().parent), *ffi_folders()]
    stem = str(result.with_suffix(""))
    emitted, functions = stem + ".cu", stem + ".ffi.cpp"
    shared = [file, *options, "--arch", arch]
    command = [
        compiler.program, "-std=c++20", "-O3", "-Xcompiler", "-fPIC,-fvisibility=hidden",
        *_targets(arch), *compiler.flags, *extra_flags(),
        *(word for one in includes for word in ("-I", one)),
    ]  # fmt: skip

    def compile_part(number: int, text: str) -> str:
        source, compiled = (f"{stem}.{number}{suffix}" for suffix in (".cu", ".o"))
        Path(source).write_text(text, encoding="utf-8")
        _tool.run([*command, "-c", source, "-o", compiled])
        return compiled

    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(_tool.tkc, [*shared, "-o", emitted]),
            pool.submit(_tool.tkc, [*shared, "--emit=ffi", "-o", functions]),
        ]
        for one in both:
            one.result()
    parts = _parts.split(Path(emitted).read_text(encoding="utf-8"), processors)
    if len(parts) == 1:
        compiled, alone = [emitted], ["--split-compile=0", f"--threads={max(processors, 1)}"]  # GPUs at the same time
    else:
        # The launchers' part beside those of kernels; one after the other where others are compiled at the same time.
        with ThreadPoolExecutor(len(parts) if processors > 1 else 1) as pool:
            compiled, alone = list(pool.map(compile_part, range(len(parts)), parts)), []
    _tool.run([*command, *alone, "-shared", *compiled, functions, "-o", str(result)])


def extra_flags() -> List[str]:
    import shlex

    return shlex.split(os.environ.get("TKC_NVCC_FLAGS", ""))
