# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one exception of this package."""


class Error(Exception):
    """A call that a kernel cannot take, a file that does not compile, or a tool that is missing.

    The message names the argument, in the launcher's words, or is what the compiler said.
    """
