# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel, built around the compiler that is there, has all that a call needs."""

import os
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

from tkc import _paths

PROGRAM = """
import numpy as np
import tkc
assert tkc.__file__.startswith({folder!r})
k = tkc.load(tkc.library / "norms.tk").rms_norm
x, weight = (tkc.array(np.random.default_rng(i).normal(size=shape), "f16").numpy() for i, shape in enumerate([(3, 1024), 1024]))
y = k(x, weight, device="cpu")
values, tolerances = k.reference(x, weight, tolerance=True)
assert (abs(y - values) <= tolerances).all()
exact = x / np.sqrt((x.astype("f8") ** 2).mean(1, keepdims=True) + 1e-6) * weight
assert abs(values - exact).max() < 1e-9
from tkc import _paths
assert (_paths.headers() / "tk" / "tiles.h").is_file()
print("ran")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("wheel")
    named = folder / "tkc-of-another-name"  # in the wheel it is called tkc
    named.symlink_to(_paths.compiler())
    environment = {**os.environ, "TKC_BINARY": str(named), "SKBUILD_BUILD_DIR": str(folder / "build")}
    command = [
        sys.executable,
        "-m",
        "pip",
        "-q",
        "wheel",
        str(ROOT),
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
    ]
    subprocess.run(command, check=True, env=environment)
    (file,) = folder.glob("*.whl")
    return file


def test_its_name_and_files(wheel):
    assert wheel.name.startswith("tkc_compiler-") and "-py3-none-linux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "bin/tkc",
        "py.typed",
        "__init__.pyi",
        "include/tk/host/ffi.h",
        "kernels/gemm.tk",
        "kernels/extra/strided.tk",
    ):
        assert "tkc/" + name in names
    assert not [name for name in names if "tests" in name]


def test_it_runs_by_itself(wheel, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--no-index", "--target", tmp_path / "here", wheel],
        check=True,
    )
    environment = {key: value for key, value in os.environ.items() if key != "TKC_COMPILER"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "here"), environment["PYTHONPATH"]])
    program = PROGRAM.format(folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "ran\n", done.stderr
    command = subprocess.run(
        [sys.executable, "-m", "tkc", "--version"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert command.stdout.startswith("tkc ")
