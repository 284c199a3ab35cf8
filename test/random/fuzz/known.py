# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `./check` leaves out of random kernels, because tkc is known to do it wrong: {feature of the generator: reason}.

Each has an example, test/random/Inputs/known/FEATURE.tk, whose first line is a command. test/random/known.test fails where an example goes well: then the
entry is to be deleted, with its example. A search without `--avoid-known` leaves nothing out."""

OPEN = {
    "products-of-outer-loops": "operands that an outer loop loads are multiplied in an inner loop that may have no round: the plan is refused, exit 70",
}

avoided = set()


def allows(feature):
    """Whether kernels may have this: a feature that can be named in OPEN."""
    return feature not in avoided
