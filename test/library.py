# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the scripts of the tests find the files of the kernel library."""
import pathlib


def kernel_files(root):
    """Every .tk file below ROOT/kernels, whatever folder of a family it is in."""
    return sorted((pathlib.Path(root) / "kernels").rglob("*.tk"))
