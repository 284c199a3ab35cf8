# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples run."""

import subprocess
import sys

from conftest import ROOT

from tkc import _devices


def test_norm_attention():
    program = ROOT / "examples" / "norm_attention.py"
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert said in ("on the CPU: right right\n", *(["on the GPU: right right\n"] if _devices.count() else []))
