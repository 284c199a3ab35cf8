# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package of this repository, with the compiler that TKC_COMPILER names or that of build/dev. Where neither is there,
the package that is installed. The cache is one of the tests' own."""

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEV = ROOT / "build" / "dev" / "tkc" / "tkc"
if os.environ.get("TKC_COMPILER") or DEV.is_file():
    os.environ.setdefault("TKC_COMPILER", str(DEV))
    sys.path.insert(0, str(ROOT / "python"))
# Processes that tests start find what this one finds, however it was told.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))

import tkc  # noqa: E402
from tkc import _devices, _paths  # noqa: E402


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="needs an NVIDIA GPU")
    for item in items:
        if "gpu" in item.keywords and _devices.count() == 0:
            item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    if not os.environ.get("TKC_TEST_KEEP_CACHE"):
        os.environ["TKC_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TKC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def _on_cpu(request):
    """Tests mean the interpreter unless they are marked gpu, whatever the machine has."""
    if "gpu" in request.keywords:
        yield
        return
    with tkc.device("cpu"):
        yield


@pytest.fixture
def kernels():
    return _paths.library


def torch_device():
    """Where PyTorch's functions are patched: on the GPU if there is one, else on the CPU; TKC_TEST_DEVICE says which."""
    import torch

    return os.environ.get("TKC_TEST_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def operators(monkeypatch):
    """The names of the operators that were called, where PyTorch's functions are patched."""
    import torch

    import tkc.torch
    from tkc import _patch

    called = []
    own = _patch._call

    def noted(name, **arguments):
        result = own(name, **arguments)
        if result is not None:
            called.append(name)
        return result

    monkeypatch.setattr(_patch, "_call", noted)
    torch.manual_seed(3)
    with tkc.torch.patched(on_cpu=torch_device() == "cpu"):
        yield called


needs_nvcc = pytest.mark.skipif(
    not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="needs nvcc"
)
needs_cxx = pytest.mark.skipif(
    not shutil.which("c++") and not shutil.which("clang++-22"), reason="needs a C++ compiler"
)
