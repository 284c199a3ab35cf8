# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the scripts of the tests tell nvcc which GPU to compile for."""


def gencode(arch, code="sm"):
    """nvcc's options for a GPU of NVIDIA, such as sm_90a: machine code, or with code="compute" PTX alone."""
    number = arch.removeprefix("sm_")
    return ["-gencode", f"arch=compute_{number},code={code}_{number}"]
