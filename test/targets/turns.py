# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPU's turn it is with a kernel or a file, where not every GPU takes every one."""


def chosen(name, gpus):
    """One of `gpus`. The name alone decides which, so that what is added to the library changes no other's turn."""
    return gpus[number(name) % len(gpus)]


def number(name):
    """A number that depends on nothing but the name."""
    return sum(map(ord, name))
