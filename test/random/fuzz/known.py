# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `./check` leaves out of random kernels, because tkc is known to do it wrong: {feature of the generator, or key: reason}.

Each has an example, test/random/Inputs/known/FEATURE.tk, whose first line is a command. test/random/known.test fails where an example goes well: then the
entry is to be deleted, with its example. A search without `--avoid-known` leaves nothing out."""

OPEN = {}

avoided = set()


def allows(feature):
    """Whether kernels may have this: a feature, or a key of schedules, that can be named in OPEN."""
    return feature not in avoided
