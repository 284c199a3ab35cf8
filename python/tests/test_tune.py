# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels are tuned by `tkc tune`, for which a script stands that finds the same schedule each time."""

import numpy as np
import pytest

import tkc
from tkc import _devices, _paths

TEXT = """
kernel scale(x: f32[N], out y: f32[N], s: f32 = 2, const twice: bool = false) {
  tune BN = 256;
  parallel i in tiles(N, BN) { y[i] = s * x[i]; if twice { y[i] = 2 * s * x[i]; } }
}
program both(x: f32[N], out y: f32[N]) { scale(x, y, s = 2); }
"""
TUNE = """#!/bin/sh
[ "$1" = tune ] || exec {compiler} "$@"
while [ $# -gt 0 ]; do
  case $1 in
    -o) echo "schedule scale for sm_90a {{ BN = 512; }}" > "$2"; shift ;;
    --size | --kernel | --budget | --candidates) echo "$1 $2" >> {log}; shift ;;
  esac
  shift
done
"""


@pytest.fixture
def log(tmp_path, fresh_cache, monkeypatch):
    program, log = tmp_path / "tkc", tmp_path / "log"
    program.write_text(TUNE.format(compiler=_paths.compiler(), log=log))
    program.chmod(0o755)
    monkeypatch.setattr(_paths, "compiler", lambda: str(program))
    monkeypatch.setattr(_devices, "count", lambda: 1)
    monkeypatch.setattr("tkc._toolchain.nvcc", lambda: type("Nvcc", (), {"program": "/nowhere/nvcc"}))
    return log


def test_later_calls_use_what_is_found(log):
    k, x = tkc.load(TEXT), np.ones(5, "float32")
    assert "BN = 256" in k.scale.source(x, arch="sm_90a")
    file = k.scale.tune(x, budget=7)
    assert log.read_text() == "--kernel scale\n--size N=5,twice=0\n--budget 7\n"
    assert file.read_text().startswith("schedule scale")
    assert "BN = 512" in k.scale.source(x, arch="sm_90a")
    assert "BN = 512" in tkc.load(TEXT).scale.source(x, arch="sm_90a")
    assert "BN = 256" in tkc.load(TEXT + "\n").scale.source(x, arch="sm_90a")  # another file


def test_all_sizes_are_tuned_for_together(log):
    k = tkc.load(TEXT)
    for size in (5, 7, 5):
        k.scale.tune(np.ones(size, "float32"), twice=True, candidates=3)
    sizes = ["--size N=5,twice=1", "--size N=7,twice=1"]
    calls = log.read_text().split("--kernel scale\n")[1:]
    assert [[line for line in call.splitlines() if "size" in line] for call in calls] == [sizes[:1], sizes, sizes]
    assert all("--candidates 3" in call for call in calls)


def test_a_call_before_is_forgotten(log):
    k, x = tkc.load(TEXT), np.ones(5, "float32")
    k.scale._functions["a call"] = ("its function", None)
    k.scale.tune(x)
    assert not k.scale._functions


def test_what_cannot_be_tuned(log, monkeypatch):
    k, x = tkc.load(TEXT), np.ones(5, "float32")
    with pytest.raises(tkc.Error, match="`both` is a program: tune the kernels that it launches"):
        k.both.tune(x)
    with pytest.raises(tkc.Error, match="scale: `x` has 2 dims, it needs 1"):
        k.scale.tune(np.ones((5, 5), "float32"))
    monkeypatch.setattr(_devices, "count", lambda: 0)
    with pytest.raises(tkc.Error, match="there is no GPU to tune for"):
        k.scale.tune(x)
    assert not log.exists()
