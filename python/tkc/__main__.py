# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m tkc` and the command `tkc`: the compiler itself."""

import os
import sys


def main() -> None:
    from . import _paths
    from ._errors import Error

    try:
        program = _paths.compiler()
    except Error as error:
        sys.exit(f"tkc: error: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
